from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgewatt.backends.simulated import SimulatedBackend
from edgewatt.dataset.run import build_dataset
from edgewatt.errors import EdgewattError, EdgewattWarning
from edgewatt.formats.isolated import read_visits
from edgewatt.formats.sweep import read_sweep_plan
from edgewatt.formats.training_tables import read_table
from edgewatt.isolation.rig import Calls, LoopNetwork, Trial
from edgewatt.isolation.simulated_rig import SimulatedRig
from edgewatt.mapping.run import map_recordings
from edgewatt.networks.engine import engine_entry
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.training import train
from edgewatt.reports.sweep import sweep_lines, sweep_table
from edgewatt.simulation.board import AGX_ORIN, ORIN_NANO
from edgewatt.simulation.roofline import layer_truth
from edgewatt.sweep.estimate import Trials, try_backend
from edgewatt.sweep.options import SweepOptions
from edgewatt.sweep.planning import as_single
from edgewatt.sweep.record import Outlook, SweepRun, record_sweep


def quick(count: int, **given: object) -> SweepOptions:
    return SweepOptions(count=count, seconds=0.05, pause_s=0.05, rounds=1, **given)  # type: ignore[arg-type]


class StoppingRig(SimulatedRig):
    """The simulated board; the user asks to stop after some loops, or a layer cannot be run."""

    def __init__(self, loops: int = 10**9, failing: str = "", trials: int = 10**9) -> None:
        super().__init__()
        self.loops, self.failing, self.trials, self.tried = loops, failing, trials, 0

    def trial(self, network: LoopNetwork) -> Trial:
        self.tried += 1
        assert network.make is not None
        if self.failing and any(node.op_type == self.failing for node in network.make().graph.node):
            raise EdgewattError("it is not supported")
        return super().trial(network)

    def loop(self, network: LoopNetwork, duration_s: float, call_s: float) -> Calls:
        self.loops -= 1
        return super().loop(network, duration_s, call_s)

    def stopped(self) -> str | None:
        return "SIGINT" if self.loops <= 0 or self.tried >= self.trials else None


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> SweepRun:
    return record_sweep(tmp_path_factory.mktemp("raw"), backend="simulated", options=quick(24))


def test_every_layer_is_measured_as_it_truly_is(sweep: SweepRun) -> None:
    layers = [as_single(layer).layer(layer.name, "float16") for layer in sweep.layers]
    runtime_s, above_w = layer_truth(layers, ORIN_NANO)
    rows = {row.layer_name: row for row in sweep.run.layers}
    runtime = np.array([rows[layer.name].runtime_ms for layer in layers]) / 1e3 / runtime_s - 1
    power = np.array([rows[layer.name].power_above_idle_w or 0.0 for layer in layers]) / above_w - 1
    assert np.abs(runtime).mean() < 0.02
    assert np.abs(power).mean() < 0.08
    assert (sweep.left_out, sweep.interrupted) == ({}, None)


def test_repeats_are_measured_again_and_tell_the_noise(sweep: SweepRun) -> None:
    again = Counter(layer.repeat_of for layer in sweep.layers if layer.repeat_of)
    assert len(again) == 5
    assert set(again.values()) == {2}
    rows = {row.layer_name: row.runtime_ms for row in sweep.run.layers}
    found = sweep.repeats["runtime"]
    assert found is not None
    assert (found.layers, found.rows) == (5, 15)
    errors = []
    for first in again:
        assert first is not None
        same = np.array([rows[first], rows[f"{first}-again1"], rows[f"{first}-again2"]])
        assert len(set(same.tolist())) == 3  # three measurements, not one that counts three times
        errors += (np.abs(same - same.mean()) / same * np.sqrt(1.5)).tolist()
    assert found.mape == pytest.approx(np.mean(errors))
    assert 0 < found.mape < 0.02


def test_a_larger_count_goes_on_and_measures_nothing_again(tmp_path: Path) -> None:
    first = record_sweep(tmp_path, backend="simulated", options=quick(10))
    before = (first.folder / "visits.jsonl").read_bytes()
    rig, seen = StoppingRig(), list[Outlook]()
    second = record_sweep(tmp_path, options=quick(13), rig=rig, before=seen.append)
    assert (second.folder / "visits.jsonl").read_bytes().startswith(before)
    assert [layer for layer in first.layers if layer.repeat_of is None] == [
        layer for layer in second.layers if layer.repeat_of is None
    ][:10]
    assert {layer.name for layer in first.layers} < {layer.name for layer in second.layers}
    assert rig.tried == 3 + 3  # the backend's probes, and the new layers
    assert seen[0].done == len(first.layers)
    loops = Counter((visit.subject, visit.round) for visit in read_visits(second.folder) if visit.kind == "loop")
    assert max(loops.values()) == 1
    with pytest.raises(EdgewattError, match="sweep of 13 layers already"):
        record_sweep(tmp_path, backend="simulated", options=quick(13))
    assert seen[0].seconds > 0
    more = record_sweep(tmp_path, options=replace(quick(13), rounds=2), rig=rig, before=seen.append)
    # Another round of all is a loop each, and nothing is tried again.
    each_s = seen[1].seconds / len(more.layers)
    assert 0 < each_s < seen[0].seconds / (len(second.layers) - len(first.layers))
    assert rig.tried == 2 * 3 + 3


def test_an_interrupted_sweep_is_gone_on_with(tmp_path: Path) -> None:
    with pytest.warns(EdgewattWarning, match="interrupted"):
        stopped = record_sweep(tmp_path, options=quick(14, at_once=5), rig=StoppingRig(loops=9))
    assert stopped.interrupted == "stopped by SIGINT"
    assert 0 < sum(stopped.measured.values()) < 14
    done = record_sweep(tmp_path, backend="simulated", options=quick(14, at_once=5))
    assert Counter(layer.repeat_of is None for layer in done.layers) == {True: 14, False: 10}
    assert sum(done.measured.values()) == len(done.layers)
    loops = Counter((visit.subject, visit.round) for visit in read_visits(done.folder) if visit.kind == "loop")
    assert max(loops.values()) == 1


def test_a_sweep_that_is_stopped_while_layers_are_tried_keeps_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match="before every layer was tried; nothing was measured"):
        record_sweep(tmp_path, options=quick(10, at_once=5), rig=StoppingRig(trials=4))
    rig = StoppingRig(trials=3 + 8 + 2)  # of the backend, of the first batch with its repeats, and of the second
    with pytest.warns(EdgewattWarning, match="what was measured is kept"):
        run = record_sweep(tmp_path, options=quick(10, at_once=5), rig=rig)
    assert run.interrupted == "stopped by SIGINT"
    assert 0 < sum(run.measured.values()) < len(run.layers)
    assert sum(int(str(cell)) for cell in sweep_table(run).columns[1].cells) == 5
    assert "The same command goes on" in sweep_lines(run)[-1]
    done = record_sweep(tmp_path, options=quick(10, at_once=5), rig=StoppingRig())
    assert done.interrupted is None
    assert sum(done.measured.values()) == len(done.layers)


def test_a_sweep_that_was_killed_between_files_is_gone_on_with(tmp_path: Path) -> None:
    done = record_sweep(tmp_path, backend="simulated", options=quick(8, at_once=4))
    (done.folder / "run.json").unlink()
    lines = (done.folder / "visits.jsonl").read_bytes().splitlines(keepends=True)
    (done.folder / "visits.jsonl").write_bytes(b"".join(lines[:-7]) + lines[-7][:20])
    again = record_sweep(tmp_path, backend="simulated", options=quick(8, at_once=4))
    assert sum(again.measured.values()) == len(again.layers)
    assert (again.folder / "run.json").exists()


def test_a_layer_that_cannot_be_run_is_listed_and_the_sweep_goes_on(tmp_path: Path) -> None:
    run = record_sweep(tmp_path, options=quick(12), rig=StoppingRig(failing="MaxPool"))
    assert set(run.left_out.values()) == {"it is not supported"}
    failed = [as_single(layer).operation for layer in run.layers if layer.name in run.left_out]
    assert set(failed) == {"max"}
    assert sum(run.measured.values()) == len(run.layers) - len(failed)


def test_another_sweep_in_its_place_is_refused_and_can_be_replaced(tmp_path: Path) -> None:
    record_sweep(tmp_path, backend="simulated", options=quick(4))
    pooling = quick(4, kinds=(LayerKind.POOLING,))
    with pytest.raises(EdgewattError, match="the sweep that is there was made with --kinds"):
        record_sweep(tmp_path, backend="simulated", options=pooling)
    run = record_sweep(tmp_path, backend="simulated", options=pooling, replace_existing=True)
    assert set(run.measured) == {"pooling"}
    assert read_sweep_plan(run.folder).kinds == ["pooling"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sensor": "none"}, r"with --sensor left away, not none"),
        ({"backend": SimulatedBackend(AGX_ORIN)}, r"the board simulated orin-nano 15W, not simulated agx-orin"),
    ],
)
def test_a_sweep_that_cannot_be_gone_on_with_stays_complete(
    change: dict[str, object], told: str, tmp_path: Path
) -> None:
    done = record_sweep(tmp_path, backend="simulated", options=quick(4))
    before = {path: path.read_bytes() for path in done.folder.rglob("*") if path.is_file()}
    with pytest.raises(EdgewattError, match=told):
        record_sweep(tmp_path, **{"backend": "simulated", "options": quick(6), **change})  # type: ignore[arg-type]
    assert before == {path: path.read_bytes() for path in done.folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "damage",
    [{"kernel": []}, {"operation": "foo"}, {"outputs": 0}, {"groups": 0}, {"stride": [0, 0]}, {"kernel": [500, 500]}],
)
def test_a_damaged_plan_is_told_of(damage: dict[str, object], tmp_path: Path) -> None:
    done = record_sweep(tmp_path, backend="simulated", options=quick(4))
    path = done.folder / "sweep.json"
    plan = json.loads(path.read_text())
    chosen = next(layer for layer in plan["layers"] if layer["operation"] == "convolution")
    chosen |= damage
    path.write_text(json.dumps(plan))
    with pytest.raises(EdgewattError, match=r"sweep\.json"):
        record_sweep(tmp_path, backend="simulated", options=quick(6))


def test_a_sweep_is_trained_on_like_a_network(sweep: SweepRun, tmp_path: Path) -> None:
    assert not map_recordings(sweep.folder.parent, tmp_path / "pre").failed
    assert not build_dataset(tmp_path / "pre", tmp_path / "tables", min_samples=1).failed
    table = read_table(tmp_path / "tables" / "sweep@seed0" / "convolutional.csv", LayerKind.CONVOLUTIONAL)
    assert table["method"].unique().to_list() == ["isolated"]
    result = train(tmp_path / "tables", tmp_path / "predictors")
    entry = result.metrics["convolutional"]["runtime"]
    assert entry["cv"]["grouping"] == "configuration"
    assert entry["repeat_error"]["mape"] > 0
    assert "network" not in result.metrics
    metrics = json.loads((tmp_path / "predictors" / "metrics.json").read_text())
    assert metrics["convolutional"]["power"]["repeat_error"]["layers"] >= 1
    numbers = result.cross.folds.numbers[LayerKind.CONVOLUTIONAL]
    names = result.training.tables[LayerKind.CONVOLUTIONAL]["layer_name"].to_list()
    fold = dict(zip(names, numbers.tolist(), strict=True))
    pairs = [(name, name.partition("-again")[0]) for name in names if "-again" in name]
    assert pairs
    assert all(fold[name] == fold[first] for name, first in pairs)


def test_an_adaptive_sweep_picks_and_ends_when_it_is_good_enough(tmp_path: Path) -> None:
    given = {"adaptive": True, "kinds": (LayerKind.POOLING,), "drawn_first": 20}
    run = record_sweep(tmp_path, backend="simulated", options=quick(100, target_error=0.9, **given))
    assert run.error is not None
    assert run.error <= 0.9
    assert sum(layer.repeat_of is None for layer in run.layers) == 20
    more = record_sweep(tmp_path, backend="simulated", options=quick(30, **given))
    assert Counter(layer.origin for layer in more.layers if layer.repeat_of is None)["adaptive"] == 9


def test_a_backend_that_fuses_nothing_is_known_by_its_trial() -> None:
    class Plain(SimulatedRig):
        def trial(self, network: LoopNetwork) -> Trial:
            found = super().trial(network)
            return replace(found, facts=replace(found.facts, layers=(*found.facts.layers, relu)))

    relu = engine_entry(Layer("relu", LayerKind.OTHER, "relu", (1, 8), (1, 8), output_bytes=16))
    assert try_backend(SimulatedRig()) == Trials(2.0, "float16", fuses=True)
    assert not try_backend(Plain()).fuses


def test_options_that_mean_nothing_are_told() -> None:
    with pytest.raises(EdgewattError, match="--target-error"):
        SweepOptions(target_error=0.1)
    with pytest.raises(EdgewattError, match="at least one"):
        SweepOptions(count=0)
