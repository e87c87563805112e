from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from edgewatt.backends.network import find_network
from edgewatt.backends.onnxruntime import OnnxRuntimeBackend
from edgewatt.backends.simulated import SimulatedBackend
from edgewatt.dataset.run import build_dataset
from edgewatt.errors import EdgewattError, EdgewattWarning
from edgewatt.formats.engine_info import EngineInfo, write_engine_info
from edgewatt.formats.isolated import read_plan, read_visits
from edgewatt.formats.layer_power import read_layer_power
from edgewatt.formats.mapping_info import read_mapping_info
from edgewatt.formats.run_info import read_run_info
from edgewatt.isolation.evaluate import evaluate
from edgewatt.isolation.isolated_run import IsolatedRun
from edgewatt.isolation.job import network_job
from edgewatt.isolation.record import IsolationOptions, record_isolated
from edgewatt.isolation.simulated_rig import SimulatedRig, Warming
from edgewatt.mapping.run import map_recordings
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.engine import engine_entry
from edgewatt.networks.layer import LayerKind
from edgewatt.results.recording import is_recording
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.roofline import layer_truth

FAKE_TRTEXEC = Path(__file__).parents[1] / "backends" / "fake_trtexec.py"
QUICK = IsolationOptions(rounds=2, seconds=0.02, pause_s=0.02)


@pytest.fixture(scope="module")
def squeezenet(tmp_path_factory: pytest.TempPathFactory) -> IsolatedRun:
    return record_isolated("squeezenet1_1", tmp_path_factory.mktemp("raw"), backend="simulated")


def test_layers_on_the_simulated_board_are_what_they_truly_are(squeezenet: IsolatedRun) -> None:
    runtime_s, above_idle_w = layer_truth(network_layers("squeezenet1_1"), ORIN_NANO)
    power = np.array([row.power_above_idle_w for row in squeezenet.layers]) / above_idle_w - 1
    runtime = np.array([row.runtime_ms for row in squeezenet.layers]) / 1e3 / runtime_s - 1
    assert np.abs(power).mean() < 0.015
    assert np.abs(runtime).mean() < 0.01
    assert squeezenet.sums.energy_closure == pytest.approx(0.0, abs=0.03)
    assert squeezenet.sums.runtime_ratio == pytest.approx(1.0, abs=0.01)
    assert (squeezenet.left_out, squeezenet.interrupted) == ({}, None)
    assert squeezenet.result.idle_power_w == pytest.approx(ORIN_NANO.idle_power_w, rel=0.01)


def test_each_layer_is_visited_in_every_round_in_another_order(squeezenet: IsolatedRun) -> None:
    visits = [visit for visit in read_visits(squeezenet.folder) if visit.kind == "loop"]
    orders = [[visit.subject for visit in visits if visit.round == number] for number in (1, 2, 3)]
    keys = {subject.key for subject in squeezenet.plan.subjects}
    assert all(set(order) == keys and len(order) == len(keys) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    assert len({layer.subject for layer in squeezenet.plan.layers}) < len(squeezenet.plan.layers), "some are the same"
    # At least a second of settled time, and what a sensor with a value every 6.6 ms may have shown in it.
    assert all(visit.end_us - visit.start_us > 950_000 for visit in visits)
    assert all(20 <= visit.values <= (visit.end_us - visit.start_us) / 1e6 / 6.2e-3 for visit in visits)


def test_the_board_s_warming_is_told_from_the_layers(tmp_path: Path) -> None:
    """Warm, the board draws 0.15 W more for each watt above idle; idle power that rises is taken off round by round."""
    rig = SimulatedRig(warming=Warming(0.15, time_constant_s=10.0))
    run = record_isolated("lenet", tmp_path, backend="simulated", rig=rig)
    _, above_idle_w = layer_truth(network_layers("lenet"), ORIN_NANO)
    power = np.array([row.power_above_idle_w for row in run.layers]) / above_idle_w - 1
    assert (run.result.idle_change_w or 0.0) > 0.02, "it did warm"
    assert np.abs(power).mean() < 0.03


def test_it_is_mapped_and_becomes_training_tables(squeezenet: IsolatedRun, tmp_path: Path) -> None:
    assert not is_recording(squeezenet.folder), "nothing in it was measured in place"
    batch = map_recordings(squeezenet.folder.parent, tmp_path / "pre")
    (mapped,) = batch.done
    assert (mapped.model, mapped.info.method) == ("squeezenet1_1@isolated", "isolated")
    folder = tmp_path / "pre" / "squeezenet1_1@isolated"
    assert read_layer_power(folder / "layer_power.csv") == squeezenet.layers
    info = read_mapping_info(folder / "mapping.json")
    assert info.energy_closure == pytest.approx(squeezenet.sums.energy_closure)
    assert info.settings["rounds"] == 3
    assert info.run["backend"] == "simulated"
    (tables,) = build_dataset(tmp_path / "pre", tmp_path / "training").done
    assert tables.left_out == []
    convolutional = tables.tables[LayerKind.CONVOLUTIONAL]
    assert convolutional["method"].unique().to_list() == ["isolated"]
    assert convolutional.height == 26
    assert (convolutional["samples"] >= 60).all()


class _Stopping(SimulatedRig):
    """A board whose user asks to stop after some loops."""

    def __init__(self, loops: int, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.left = loops

    def loop(self, *arguments: object) -> object:  # type: ignore[override]
        self.left -= 1
        return super().loop(*arguments)  # type: ignore[arg-type]

    def stopped(self) -> str | None:
        return "SIGINT" if self.left <= 0 else None


def test_an_interrupted_recording_is_gone_on_with(tmp_path: Path) -> None:
    with pytest.warns(EdgewattWarning, match="interrupted"):
        first = record_isolated("lenet", tmp_path, backend="simulated", rig=_Stopping(11))
    assert first.interrupted == "stopped by SIGINT"
    assert read_run_info(first.folder / "run.json").interrupted
    before = read_visits(first.folder)
    assert 0 < sum(visit.kind == "loop" for visit in before) <= 11, "a loop that gave too little is made again"
    mapped = map_recordings(tmp_path, tmp_path / "pre").done[0]
    assert any("rounds" in warning for warning in mapped.info.warnings)
    second = record_isolated("lenet", tmp_path, backend="simulated", rig=SimulatedRig(seed=1))
    after = read_visits(first.folder)
    assert after[: len(before)] == before, "what was measured is kept"
    loops = [(visit.round, visit.subject) for visit in after if visit.kind == "loop"]
    assert len(loops) == len(set(loops)) == 3 * len(second.plan.subjects)
    assert {visit.sitting for visit in after} == {1, 2}
    assert second.interrupted is None


def test_a_complete_recording_is_not_measured_again_unless_asked(tmp_path: Path) -> None:
    def again(**options: object) -> IsolatedRun:
        chosen = IsolationOptions(**{"rounds": 1, "seconds": 0.2, **options})  # type: ignore[arg-type]
        return record_isolated("lenet", tmp_path, backend="simulated", options=chosen)

    again()
    with pytest.raises(EdgewattError, match="already"):
        again()
    with pytest.raises(EdgewattError, match=r"made with --seconds 0\.2, not 0\.5"):
        again(seconds=0.5, rounds=2)
    assert [value.number for value in again(rounds=2).result.subjects["network"].rounds] == [1, 2]


def test_layers_can_be_told_apart_by_their_names() -> None:
    found = {}
    for share in (True, False):
        job = network_job(find_network("resnet18"), "resnet18", SimulatedRig(), IsolationOptions(share=share))
        found[share] = len({layer.key for layer in job.layers})
    assert found == {True: 18, False: 23}


def test_an_engine_s_description_is_measured_layer_by_layer(tmp_path: Path) -> None:
    reformat = {
        "Name": "Reformatting CopyNode",
        "LayerType": "Reformat",
        "ParameterType": "Reformat",
        "Inputs": [{"Dimensions": [1, 3, 224, 224], "Format/Datatype": "Row major linear FP32"}],
        "Outputs": [{"Dimensions": [1, 3, 224, 224], "Format/Datatype": "Row major linear FP16 format"}],
    }
    entries = (reformat, *(engine_entry(layer) for layer in network_layers("lenet")))
    write_engine_info(tmp_path / "engine.json", EngineInfo(entries))
    options = IsolationOptions(rounds=2, seconds=0.3)
    run = record_isolated(tmp_path / "engine.json", tmp_path / "raw", backend="simulated", options=options)
    assert list(run.left_out) == ["Reformatting CopyNode"]
    assert any("memory format" in doubt for doubt in run.verdict)
    assert len(run.layers) == 7
    assert run.sums.energy_closure is None


def test_a_network_on_this_machine_without_a_sensor(tmp_path: Path) -> None:
    """ONNX Runtime, for real: each operation is a layer, with its normalisation and all."""
    random = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> TensorProto:
        return numpy_helper.from_array(np.abs(random.normal(0, 0.1, shape)).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], name="norm"),
        helper.make_node("Relu", ["n"], ["r"], name="relu"),
        helper.make_node("Add", ["r", "x"], ["a"], name="add"),
        helper.make_node("Softmax", ["a"], ["y"], name="softmax", axis=1),
    ]
    weights = [weight("w", 8, 8, 3, 3), *(weight(name, 8) for name in "sbmv")]
    shapes = {"x": [1, 8, 32, 32], "y": [1, 8, 32, 32]}
    described = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    graph = helper.make_graph(nodes, "network", [described["x"]], [described["y"]], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "net.onnx")
    run = record_isolated(
        tmp_path / "net.onnx", tmp_path / "raw", backend=OnnxRuntimeBackend(threads=1), sensor="none", options=QUICK
    )
    assert [row.layer_name for row in run.layers] == ["conv", "relu", "add", "softmax"]
    assert all(row.runtime_ms > 0 and row.power_w is None for row in run.layers)
    assert run.sums.network_s is not None
    assert 0.2 < (run.sums.runtime_ratio or 0.0) < 5, "on a machine that does other things too"
    (mapped,) = map_recordings(tmp_path / "raw", tmp_path / "pre").done
    assert mapped.info.energy_closure is None
    (tables,) = build_dataset(tmp_path / "pre", tmp_path / "training").done
    assert tables.tables[LayerKind.CONVOLUTIONAL].height == 1
    assert tables.tables[LayerKind.OTHER].height == 3


def test_the_simulated_board_in_real_time(tmp_path: Path) -> None:
    """The processes of a real board: a power logger, a process that runs loops, and power that settles."""
    options = IsolationOptions(rounds=1, seconds=0.4, pause_s=0.3)
    backend = SimulatedBackend(slowdown=40)
    run = record_isolated("lenet", tmp_path, backend=backend, sensor="simulated", options=options, rig=None)
    assert run.result.idle_power_w == pytest.approx(ORIN_NANO.idle_power_w, rel=0.02)
    assert len(run.layers) == 7


@pytest.fixture
def trtexec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    script = tmp_path / "bin" / "trtexec"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE_TRTEXEC} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("FAKE_TRTEXEC", str(tmp_path))
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_trtexec_builds_and_runs_each_layer(trtexec: Path) -> None:
    """The stand-in says the same of every network: calls of 1.5 ms, half a millisecond between them."""
    layers = [layer for layer in network_layers("lenet") if layer.kind is LayerKind.CONVOLUTIONAL][:1]
    entries = [engine_entry(layer) | {"Name": "conv"} for layer in layers]
    script = FAKE_TRTEXEC.read_text()
    described = json.dumps([*entries, {"Name": 'the "odd\\ one', "LayerType": "NoOp", "ParameterType": "NoOp"}])
    start = script.index("layers = [{")
    end = script.index("\n", start)
    patched = trtexec / "fake_trtexec.py"
    patched.write_text(f"{script[:start]}layers = json.loads({described!r}){script[end:]}")
    (trtexec / "bin" / "trtexec").write_text(f'#!/bin/sh\nexec {sys.executable} {patched} "$@"\n')
    options = IsolationOptions(rounds=1, seconds=0.01, pause_s=0.0)
    run = record_isolated("lenet", trtexec / "raw", backend="trtexec", sensor="none", options=options)
    assert [row.layer_name for row in run.layers] == ["conv", 'the "odd\\ one']
    visits = read_visits(run.folder)
    assert [visit.call_s for visit in visits] == pytest.approx([1.5e-3] * len(visits))
    calls = [json.loads(line) for line in (trtexec / "calls.jsonl").read_text().splitlines()]
    assert sum(any(option.startswith("--onnx=") for option in call) for call in calls) >= 4
    assert evaluate(read_plan(run.folder), visits).subjects.keys() == run.result.subjects.keys()
