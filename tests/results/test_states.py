from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from edgewatt.reports.states import states_json, states_lines, states_table
from edgewatt.results.estimate import Estimate
from edgewatt.results.states import StateResult, most_efficient, read_states, rivals
from edgewatt.simulation.states import simulate_states


def _state(batch: int, latency_ms: float, energy_mj: float | None, *, half_ms: float = 0.0) -> StateResult:
    latency = Estimate(latency_ms / 1e3, (latency_ms - half_ms) / 1e3, (latency_ms + half_ms) / 1e3)
    energy = None if energy_mj is None else Estimate(energy_mj / 1e3)
    return StateResult(
        f"lenet@b{batch}", Path(), "lenet", "", batch, "float16", "15W", latency, latency, Estimate(5.0), energy
    )


def test_the_most_efficient_state_is_the_one_of_least_energy_that_is_fast_enough() -> None:
    states = [_state(1, 2.0, 12.0), _state(2, 3.0, 10.0), _state(4, 5.0, 9.0)]
    assert most_efficient(states)["lenet"] is states[2]
    assert most_efficient(states, 4e-3)["lenet"] is states[1]
    assert most_efficient(states, 2e-3)["lenet"] is states[0]
    assert most_efficient(states, 1e-3) == {"lenet": None}


def test_a_latency_holds_with_its_whole_interval() -> None:
    unsure = _state(4, 3.9, 9.0, half_ms=0.2)
    assert not unsure.within(4e-3)
    assert unsure.within(4.1e-3)
    assert not replace(unsure, latency_s=None).within(1.0)


def test_a_state_without_energy_is_never_the_most_efficient() -> None:
    assert most_efficient([_state(1, 2.0, None), _state(2, 3.0, 10.0)])["lenet"].batch == 2  # type: ignore[union-attr]
    (line,) = states_lines([_state(1, 2.0, None)], None)
    assert line.plain == "lenet: no recorded state has a known energy"


def test_the_batch_is_the_engine_s_where_nothing_else_tells_it(tmp_path: Path) -> None:
    simulate_states(tmp_path, ["lenet"], batches=[1, 4], cycles=100)
    before = {state.name: state.runtime_s for state in read_states(tmp_path).done}
    for path in tmp_path.rglob("run.json"):
        path.unlink()
    after = read_states(tmp_path).done
    assert {state.batch for state in after} == {1, 4}
    assert {state.name: state.runtime_s for state in after} == before


def test_where_no_state_is_fast_enough_the_fastest_is_named() -> None:
    (line,) = states_lines([_state(1, 2.0, 12.0), _state(2, 3.0, 10.0)], 1.5)
    assert line.plain == "lenet: no recorded state within 1.5 ms a cycle; the fastest takes up to 2 ms (lenet@b1)"
    (line,) = states_lines([_state(1, 2.0, None)], 2.5)
    assert line.plain == "lenet: no recorded state within 2.5 ms a cycle has a known energy"


def test_states_whose_intervals_overlap_are_not_told_apart() -> None:
    best = replace(_state(4, 5.0, 9.0), energy_j=Estimate(9e-3, 8e-3, 10e-3))
    near = replace(_state(2, 3.0, 10.5), energy_j=Estimate(10.5e-3, 9.9e-3, 11e-3))
    far = replace(_state(1, 2.0, 12.0), energy_j=Estimate(12e-3, 11e-3, 13e-3))
    assert rivals(best, [best, near, far]) == [near]
    assert rivals(best, [best, near, far], 2.5e-3) == []
    (line,) = states_lines([best, near, far], None)
    assert line.plain.endswith("(lenet@b4); not told apart from lenet@b2")


def test_recorded_states_are_read_with_costs_of_an_image(tmp_path: Path) -> None:
    simulate_states(tmp_path, ["lenet"], batches=[1, 4], power_modes=["25W", "7W"], cycles=100)
    states = read_states(tmp_path).done
    by_state = {(state.power_mode, state.batch): state for state in states}
    assert set(by_state) == {("25W", 1), ("25W", 4), ("7W", 1), ("7W", 4)}
    slow, fast = by_state["7W", 4], by_state["25W", 4]
    assert slow.network == "lenet"
    assert slow.latency_s is not None
    assert slow.runtime_s is not None
    assert slow.power_w is not None
    assert slow.energy_j is not None
    assert fast.latency_s is not None
    assert slow.runtime_s.value == pytest.approx(slow.latency_s.value / 4)
    assert slow.energy_j.low is not None
    assert slow.latency_s.value > fast.latency_s.value
    value = states_json(states, 0.5)
    assert value["most_efficient"]["lenet"] in {"25W/lenet@b4-float16-25W", "7W/lenet@b4-float16-7W"}
    assert states_table(states).row_count == 4


def test_energy_of_an_image_is_that_of_the_cycle_without_pauses(tmp_path: Path) -> None:
    simulate_states(tmp_path, ["resnet18"], power_modes=["25W"], cycles=1000)
    (state,) = read_states(tmp_path).done
    assert state.energy_j is not None
    assert state.latency_s is not None
    # Its layers with idle power, and the rest of the call at little more than idle power.
    truth = pl.read_csv(tmp_path / "25W" / "truth" / f"{state.path.name}.csv")
    layers_j = float((truth["power_w"] * truth["runtime_ms"]).sum()) / 1e3
    rest_j = (state.latency_s.value - float(truth["runtime_ms"].sum()) / 1e3) * 5.0
    assert state.energy_j.value == pytest.approx(layers_j + rest_j, rel=0.06)
