from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.errors import EdgewattWarning, FormatError
from edgewatt.formats.onnxruntime_profile import layer_runs, read_profile

_ODD = 'a"b\\c\n'


def event(name: str, start_us: int, duration_us: int, category: str = "Node", **args: object) -> dict[str, Any]:
    return {
        "cat": category, "pid": 1, "tid": 1, "dur": duration_us, "ts": start_us, "ph": "X", "name": name, "args": args
    }  # fmt: skip


def inference(begin: int, layers: list[str], duration: int = 10) -> list[dict[str, Any]]:
    """An inference of layers that follow each other, as the runtime writes it: the whole when it is done."""
    events = []
    for index, layer in enumerate(layers):
        start = begin + 2 + index * duration
        events += [
            event(f"{layer}_fence_before", start, 0),
            event(f"{layer}_kernel_time", start, duration + index, op_name="Conv", provider="CPUExecutionProvider"),
        ]
    return [*events, event("model_run", begin, 5 + (len(layers) + 1) * duration, "Session")]


def as_written(events: list[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(one) for one in events) + "\n]\n"


def is_whole(line: str) -> bool:
    try:
        json.loads(line.rstrip(","))
    except ValueError:
        return False
    return True


@pytest.fixture
def profile_path(tmp_path: Path) -> Path:
    return tmp_path / "profile.json"


_TWO = [event("session_initialization", 0, 90, "Session"), *inference(100, [_ODD, "b"]), *inference(200, [_ODD, "b"])]


def test_layers_of_every_inference(profile_path: Path) -> None:
    profile_path.write_text(as_written(_TWO))
    runs = layer_runs(read_profile(profile_path), profile_path)
    assert runs.names == (_ODD, "b")
    assert (runs.operations, runs.providers) == (("Conv", "Conv"), ("CPUExecutionProvider",) * 2)
    assert runs.start_us.tolist() == [[102, 112], [202, 212]]
    assert runs.duration_us.tolist() == [[10, 11], [10, 11]]
    latencies = runs.latencies(1_000_000)
    assert [values.tolist() for values in latencies.latency_ms] == [[0.01, 0.01], [0.011, 0.011]]
    assert latencies.end_us is not None
    assert [ends.tolist() for ends in latencies.end_us] == [[1_000_112, 1_000_212], [1_000_123, 1_000_223]]
    assert runs.latencies(None).end_us is None


def test_inferences_to_warm_up_are_left_out(profile_path: Path) -> None:
    profile_path.write_text(as_written(_TWO))
    profile = read_profile(profile_path)
    assert layer_runs(profile, profile_path, skip=1).start_us.tolist() == [[202, 212]]
    with pytest.raises(FormatError, match="holds 2 whole inferences and 2 are to be left out"):
        layer_runs(profile, profile_path, skip=2)


def test_a_layer_that_runs_twice_is_told_apart(profile_path: Path) -> None:
    profile_path.write_text(as_written(inference(0, ["a", "b", "a"]) + inference(100, ["a", "b", "a"])))
    runs = layer_runs(read_profile(profile_path), profile_path)
    assert runs.names == ("a", "b", "a (2)")
    assert runs.start_us.tolist() == [[2, 12, 22], [102, 112, 122]]


@settings(deadline=None)
@given(st.data())
def test_a_killed_run_gives_the_inferences_that_were_ended(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    inferences = data.draw(st.integers(1, 4))
    events = [one for number in range(inferences) for one in inference(100 * number, ["a", "b"])]
    whole = as_written(events)
    length = data.draw(st.integers(0, len(whole.rstrip()) - 1))
    path.write_text(whole[:length])
    ended = sum(is_whole(line) for line in whole[:length].split("\n") if '"model_run"' in line)
    if not ended:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgewattWarning)
            with pytest.raises(FormatError):
                layer_runs(read_profile(path, may_be_cut=True), path)
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        runs = layer_runs(read_profile(path, may_be_cut=True), path)
    assert "the profile was cut short at line" in str(told[0].message)
    assert runs.start_us.tolist() == [[100 * number + 2, 100 * number + 12] for number in range(ended)]
    with pytest.raises(FormatError, match="profile cannot be read"):
        read_profile(path)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([event("session_initialization", 0, 9, "Session")], "holds no layer"),
        (inference(0, ["a"])[:-1], "no inference was run to its end"),
        (inference(0, ["a", "b"]) + inference(100, ["a"]), "'b' was not run once in each of 2 inferences"),
        (inference(0, ["a", "b"]) + inference(10, ["a", "b"]), "inferences ran at the same time"),
    ],
)
def test_profiles_without_fixed_layers_are_refused(
    profile_path: Path, events: list[dict[str, Any]], message: str
) -> None:
    profile_path.write_text(as_written(events))
    with pytest.raises(FormatError, match=message):
        layer_runs(read_profile(profile_path), profile_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("[]", "not a profile of ONNX Runtime"),
        ("{}", "not a profile of ONNX Runtime"),
        ('[{"ph": "X", "name": "a", "cat": "gpu"}]', "It looks like a Chrome or Perfetto trace"),
        ('{"traceEvents": []}', "It looks like a Chrome or Perfetto trace"),
        ('[{"count": 3}, {"name": "a", "averageMs": 1}]', "It looks like a profile of trtexec"),
        (as_written([event("a_kernel_time", 1, 2) | {"ts": "x"}]), r"event 1 \('a_kernel_time'\): ts is 'x'"),
        (as_written([event("a_kernel_time", 1, -2)]), "dur is -2"),
    ],
)
def test_broken_files_and_look_alikes(profile_path: Path, text: str, message: str) -> None:
    profile_path.write_text(text)
    with pytest.raises(FormatError, match=message) as error:
        read_profile(profile_path)
    assert str(profile_path) in str(error.value)


def test_names_that_older_versions_did_not_escape_are_read_as_they_are(profile_path: Path) -> None:
    """The layout of version 1.17."""
    lines = []
    for begin in (100, 200):
        lines += [
            f'{{"cat" : "Node","pid" :1,"tid" :1,"dur" :7,"ts" :{begin + 1},"ph" : "X","name" :"a"b\\c_kernel_time",'
            '"args" : {"op_name" : "Relu","provider" : "P"}}',
            f'{{"cat" : "Session","pid" :1,"tid" :1,"dur" :9,"ts" :{begin},"ph" : "X","name" :"model_run",'
            '"args" : {}}',
        ]
    whole = "[\n" + ",\n".join(lines) + "\n]\n"
    profile_path.write_text(whole)
    runs = layer_runs(read_profile(profile_path), profile_path)
    assert (runs.names, runs.operations) == (('a"b\\c',), ("Relu",))
    assert runs.start_us.tolist() == [[101], [201]]
    profile_path.write_text(whole[:-20])
    with pytest.raises(FormatError, match="not valid JSON at line 5"):
        read_profile(profile_path)
    with pytest.warns(EdgewattWarning, match="cut short at line 5; 3 events"):
        profile = read_profile(profile_path, may_be_cut=True)
    with pytest.warns(EdgewattWarning, match="1 layer is left out: the inference was not ended"):
        assert layer_runs(profile, profile_path).start_us.tolist() == [[101]]


def test_what_the_runtime_really_writes(profile_path: Path) -> None:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Relu", ["x"], ["y"], name='a"b\\c'), helper.make_node("Exp", ["y"], ["z"], name="e")]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ("x", "z")]
    model = helper.make_model(
        helper.make_graph(nodes, "g", value[:1], value[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(profile_path.with_suffix(""))
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for _ in range(3):
        session.run(None, {"x": np.ones((1, 4), np.float32)})
    written = Path(session.end_profiling())
    runs = layer_runs(read_profile(written), written, skip=1)
    assert runs.names == ('a"b\\c', "e")
    assert (runs.operations, runs.providers[0]) == (("Relu", "Exp"), "CPUExecutionProvider")
    assert runs.start_us.shape == (2, 2)
    assert (runs.start_us[:, 1] >= runs.start_us[:, 0] + runs.duration_us[:, 0]).all()
