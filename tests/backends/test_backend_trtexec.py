from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, load
from small_networks import save, small_network

from edgewatt.backends import trtexec as module
from edgewatt.backends.base import LoadSettings
from edgewatt.backends.network import find_network
from edgewatt.backends.trtexec import TrtexecBackend, TrtexecNetwork
from edgewatt.backends.trtexec_files import read_layer_info, read_profile, read_times
from edgewatt.errors import EdgewattError, FormatError

_ODD = 'the "odd\\ one, "timeMs" : 1'


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    script = tmp_path / "bin" / "trtexec"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / "fake_trtexec.py"} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("FAKE_TRTEXEC", str(tmp_path))
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    return str(script)


def _calls(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]


def _load(tmp_path: Path, precision: str = "float16") -> TrtexecNetwork:
    network = find_network(save(small_network(), tmp_path))
    loaded = TrtexecBackend().load(network, LoadSettings(precision))
    assert isinstance(loaded, TrtexecNetwork)
    return loaded


@pytest.mark.usefixtures("program")
def test_a_network_is_built_profiled_and_run(tmp_path: Path) -> None:
    began = time.monotonic_ns()
    with _load(tmp_path) as loaded:
        facts = loaded.facts
        assert facts.profiled == ("conv", _ODD)
        assert facts.bindings == ("x", "y")
        assert (facts.input_shape, facts.precision) == ((1, 3, 16, 16), "float16")
        assert facts.versions == {"tensorrt": "10.4.0"}
        assert facts.means_only
        means = loaded.mean_latency_ms()
        assert means is not None
        assert means.tolist() == [0.3, 0.1]
        (cycles,) = loaded.run(50, lambda: False)
    ended = time.monotonic_ns()
    assert cycles.latency_ms.shape == (50, 0)
    np.testing.assert_array_equal(cycles.end_ns - cycles.start_ns, 1_500_000)
    np.testing.assert_array_equal(np.diff(cycles.start_ns), 2_000_000)
    # The last inference ends where trtexec says that it is done, a third of a second before it has ended itself.
    assert began < cycles.end_ns[-1] < ended - 300_000_000
    build, profile, run = _calls(tmp_path)[1:]
    assert {"--fp16", "--profilingVerbosity=detailed", "--maxAuxStreams=0", "--skipInference"} <= set(build)
    assert any(part.startswith("--exportProfile=") for part in profile)
    assert not any(part.startswith(("--exportProfile=", "--dumpProfile")) for part in run)
    assert {"--iterations=50", "--duration=0"} <= set(run)


@pytest.mark.usefixtures("program")
def test_older_versions_are_given_the_options_that_they_have(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    with _load(tmp_path) as loaded:
        assert len(list(loaded.run(5, lambda: False))) == 1
    build = _calls(tmp_path)[1]
    assert {"--nvtxMode=verbose", "--buildOnly", "--fp16"} <= set(build)
    assert not any(part.startswith(("--maxAuxStreams", "--skipInference")) for part in build)


@pytest.mark.usefixtures("program")
def test_from_11_on_the_network_itself_is_made_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "strongly_typed").touch()
    built: list[int] = []
    original = TrtexecNetwork._trtexec

    def keep(self: TrtexecNetwork, *options: str, **kwargs: object) -> int | None:
        sources = [part.partition("=")[2] for part in options if part.startswith("--onnx=")]
        built.extend(load(path).graph.input[0].type.tensor_type.elem_type for path in sources)
        return original(self, *options, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(TrtexecNetwork, "_trtexec", keep)
    with _load(tmp_path):
        pass
    assert built == [TensorProto.FLOAT16]
    assert "--fp16" not in _calls(tmp_path)[1]
    with pytest.raises(EdgewattError, match="cannot build a network in bfloat16"):
        _load(tmp_path, "bfloat16")


@pytest.mark.usefixtures("program")
def test_a_stop_ends_trtexec_at_once(tmp_path: Path) -> None:
    with _load(tmp_path) as loaded:
        (tmp_path / "slow").touch()
        began = time.monotonic()
        assert list(loaded.run(50, lambda: time.monotonic() > began + 0.3)) == []
        assert time.monotonic() - began < 10


@pytest.mark.usefixtures("program")
def test_its_own_error_is_told(tmp_path: Path) -> None:
    (tmp_path / "fail").touch()
    with pytest.raises(EdgewattError, match=r"failed with status 1: .*Error\[1\]: no device"):
        _load(tmp_path)


def test_a_missing_program_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "_JETPACK", str(tmp_path / "trtexec"))
    problem = TrtexecBackend().problem()
    assert problem is not None
    assert "libnvinfer-bin" in problem.fix


@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        ("rtx3060_trtexec/resnet18", 21071),
        ("rtx3060_trtexec/alexnet", 14590),
        ("a100_trtexec/resnet18_fp16", 1),
        ("a100_trtexec/mobilenet_int8", 6610),
    ],
)
def test_real_profiles_are_those_of_their_engines(data_dir: Path, name: str, cycles: int) -> None:
    path = data_dir / "engines" / f"{name}.profile.json"
    profile = read_profile(path)
    info = read_layer_info(data_dir / "engines" / f"{name}.graph.json")
    assert list(profile.names) == info.names
    assert profile.cycles == cycles
    entries = json.loads(path.read_text())[1:]  # these files' names hold nothing that breaks JSON
    assert profile.mean_ms.tolist() == [entry["averageMs"] for entry in entries]


def test_profiles_without_medians_are_read(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text('[{ "count" : 3 }, { "name" : "a", "timeMs" : 3, "averageMs" : 1e-3, "percentage" : 100 }]')
    assert read_profile(path).mean_ms.tolist() == [1e-3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("[]", "not a profile"),
        ('[{ "count" : 3 }]', "not a profile"),
        ('[{ "count" : 3 }, { "name" : "a", "timeMs" : 3, "averageMs" : 1, "percentage" : 9 }, { "na', "truncated"),
        ('[{ "count" : 3 }, { "name" : "a", "timeMs" : 3, "averageMs" : --, "percentage" : 9 }]', "not a number"),
    ],
)
def test_broken_profiles_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "profile.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        read_profile(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "holds no inference"),
        ('[{"startComputeMs": 2, "endComputeMs": 1}]', "ends before it starts"),
        ('[{"startComputeMs": 2}]', "not the times"),
        ('[{"startComputeMs": 2, "endComputeMs": "x"}]', "not the times"),
        ("7", "not the times"),
    ],
)
def test_broken_times_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "times.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        read_times(path)


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec", "8.6.1"),
        ("&&&& RUNNING TensorRT.trtexec [TensorRT v100400] # trtexec", "10.4.0"),
        ("[I] TensorRT version: 10.3.0", "10.3.0"),
    ],
)
def test_versions_are_read_from_what_it_prints(line: str, version: str) -> None:
    match = module._VERSION.search(line)
    assert match is not None
    assert module._version(match) == version
