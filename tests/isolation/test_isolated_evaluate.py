from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from edgewatt.errors import FormatError
from edgewatt.formats.isolated import (
    IsolatedLayer,
    IsolatedPlan,
    IsolatedSubject,
    Visit,
    append_visits,
    cut_last_visit,
    read_plan,
    read_visits,
    write_plan,
)
from edgewatt.formats.power_log import PowerLog
from edgewatt.isolation.evaluate import evaluate
from edgewatt.isolation.rows import layer_rows, left_out, sums
from edgewatt.isolation.settled import settled_power, settling_s

_LAYER_S, _OWN_S, _BETWEEN_S = 50e-6, 20e-6, 100e-6
_IDLE_W, _REST_W, _LAYER_W = 4.0, 4.6, 9.0


def _loop(key: str, copies: int, number: int, layer_w: float = _LAYER_W, idle_w: float = _IDLE_W) -> Visit:
    """What a perfect sensor says of a loop, worked out from its parts."""
    call_s = copies * _LAYER_S + _OWN_S
    cycle_s = call_s + _BETWEEN_S
    rest_s = _OWN_S + _BETWEEN_S
    power_w = (copies * _LAYER_S * layer_w + rest_s * (_REST_W + idle_w - _IDLE_W)) / cycle_s
    start_us = number * 10_000_000
    return Visit(
        kind="loop",
        subject=key,
        round=number,
        start_us=start_us,
        end_us=start_us + 1_000_000,
        cycles=int(1 / cycle_s),
        call_s=call_s,
        call_spread_s=0.0,
        in_calls=call_s / cycle_s,
        power_w=power_w,
        values=100,
    )


def _idle(number: int, power_w: float = _IDLE_W, at_s: float = 0.0) -> Visit:
    start_us = number * 10_000_000 + int(at_s * 1e6)
    return Visit(kind="idle", round=number, start_us=start_us, end_us=start_us + 500_000, power_w=power_w, values=20)


def _plan(rounds: int = 3) -> IsolatedPlan:
    return IsolatedPlan(
        edgewatt_version="0",
        model="net@isolated",
        network="net",
        rounds=rounds,
        whole="network",
        probe="probe",
        probe_of="a",
        layers=[
            IsolatedLayer(name="first", backend_type="Conv", subject="a"),
            IsolatedLayer(name="second", backend_type="Conv", subject="a"),
            IsolatedLayer(name="noop", executed=False),
            IsolatedLayer(name="odd", reason="it cannot be built"),
        ],
        subjects=[
            IsolatedSubject(key="a", copies=40),
            IsolatedSubject(key="probe"),
            IsolatedSubject(key="network"),
        ],
    )


def _visits(rounds: int = 3) -> list[Visit]:
    visits = []
    for number in range(1, rounds + 1):
        visits += [_idle(number), _loop("a", 40, number), _loop("probe", 1, number), _loop("network", 2, number)]
    return visits


def test_a_layer_comes_out_of_its_loop_exactly() -> None:
    result = evaluate(_plan(), _visits())
    assert result.call.own_s == pytest.approx(_OWN_S)
    assert result.call.rest_w == pytest.approx(_REST_W)
    found = result.subjects["a"]
    assert found.runtime_s == pytest.approx(_LAYER_S)
    assert found.above_idle_w == pytest.approx(_LAYER_W - _IDLE_W)
    assert found.above_idle_half_w == pytest.approx(0.0, abs=1e-9)
    assert (found.values, found.verdict) == (300, ())


def test_layers_that_share_a_subject_add_up_to_the_network() -> None:
    """The network is two copies of the layer in one call."""
    plan = _plan()
    result = evaluate(plan, _visits())
    rows = layer_rows(plan, result)
    assert [row.layer_name for row in rows] == ["first", "second", "noop"]
    assert [row.runtime_ms for row in rows] == pytest.approx([0.05, 0.05, 0.0])
    assert rows[0].energy_mj == pytest.approx(9.0 * 0.05)
    assert (rows[0].identifiable, rows[0].samples, rows[2].power_w) == (True, 300, None)
    assert left_out(plan, result) == {"odd": "it cannot be built"}
    total = sums(plan, result)
    assert total.runtime_ratio == pytest.approx(1.0)
    assert total.layers_j == pytest.approx(total.network_j)
    assert total.energy_closure is None, "a layer is missing"


def test_the_interval_is_student_s_from_the_spread_between_rounds() -> None:
    visits = []
    powers = [8.9, 9.0, 9.4]
    for number, power in enumerate(powers, start=1):
        visits += [_idle(number), _loop("a", 40, number, power), _loop("probe", 1, number, power)]
    found = evaluate(_plan(), visits).subjects["a"]
    half = stats.t.ppf(0.95, 2) * np.std(powers, ddof=1) / np.sqrt(3)
    assert found.above_idle_half_w == pytest.approx(half)
    assert found.above_idle_w == pytest.approx(np.mean(powers) - 4.0)
    assert any("power differs" in doubt for doubt in found.verdict) == (np.std(powers, ddof=1) > 0.05 * 5.1)


def test_idle_power_of_a_round_that_warms_is_a_line_through_its_pauses() -> None:
    """Idle power rises by 0.2 W within the round; the layer ran in the middle, when it was 4.1 W."""
    pauses = [_idle(1, 4.0, at_s=-4.0), _idle(1, 4.1, at_s=0.25), _idle(1, 4.2, at_s=4.5)]
    visits = [*pauses, _loop("a", 40, 1, _LAYER_W + 0.1, 4.1), _loop("probe", 1, 1, _LAYER_W + 0.1, 4.1)]
    result = evaluate(_plan(1), visits)
    assert result.subjects["a"].above_idle_w == pytest.approx(_LAYER_W - _IDLE_W, abs=1e-3)
    assert result.idle_change_w == pytest.approx(0.2)


def test_one_round_has_no_interval_and_missing_rounds_are_told() -> None:
    found = evaluate(_plan(), _visits(1)).subjects["a"]
    assert found.above_idle_half_w is None
    assert found.verdict == ("measured in 1 of 3 rounds",)


def test_a_round_without_its_probe_takes_the_other_rounds() -> None:
    visits = [visit for visit in _visits() if not (visit.round == 2 and visit.subject == "probe")]
    assert evaluate(_plan(), visits).subjects["a"].runtime_s == pytest.approx(_LAYER_S)


def test_runtimes_alone_need_no_sensor() -> None:
    visits = [visit.model_copy(update={"power_w": None, "values": 0}) for visit in _visits() if visit.kind == "loop"]
    plan = _plan()
    result = evaluate(plan, visits)
    assert result.subjects["a"].above_idle_w is None
    assert result.subjects["a"].runtime_s == pytest.approx(_LAYER_S)
    assert sums(plan, result).layers_j is None


def test_layers_that_the_backend_added_are_taken_off_and_told() -> None:
    plan = _plan()
    subjects = [plan.subjects[0].model_copy(update={"layer_share": 0.6, "further": ["reformat"]}), *plan.subjects[1:]]
    found = evaluate(plan.model_copy(update={"subjects": subjects}), _visits()).subjects["a"]
    assert found.runtime_s == pytest.approx(0.6 * _LAYER_S)
    assert "40% of its time" in found.verdict[0]


def _log(power_w: np.ndarray, step_us: int = 1000) -> PowerLog:
    times = np.arange(len(power_w), dtype=np.int64) * step_us
    return PowerLog(times, np.full(len(power_w), 5000.0), power_w * 1e6 / 5000.0)


def test_power_counts_from_when_it_has_settled() -> None:
    """A clock that rises for 0.4 s and then stays: nothing before counts."""
    rising = np.linspace(5.0, 9.0, 400)
    steady = np.where(np.arange(1600) % 7 == 0, 9.04, 9.0)
    found = settled_power(_log(np.concatenate([rising, steady])), 0.0, 2_000_000.0)
    assert found is not None
    assert 380_000 < found.start_us < 500_000
    assert found.mean_w == pytest.approx(9.0 + 0.04 / 7, abs=2e-3)
    assert found.is_settled
    assert found.values > 300


def test_power_that_never_settles_is_told() -> None:
    found = settled_power(_log(np.linspace(5.0, 9.0, 2000)), 0.0, 2_000_000.0)
    assert found is not None
    assert not found.is_settled


def test_a_constant_value_counts_as_often_as_the_sensor_converts() -> None:
    constant = _log(np.full(1000, 5.0))
    assert settled_power(constant, 0.0, 1e6).values == 0  # type: ignore[union-attr]
    found = settled_power(constant, 0.0, 1e6, value_every_s=6.6e-3)
    assert found is not None
    assert found.values == int((1.0 - settling_s(0.0, 6.6e-3)) / 6.6e-3)


def test_too_few_readings_tell_nothing() -> None:
    assert settled_power(_log(np.full(50, 5.0)), 0.0, 50_000.0) is None


def test_a_recording_s_files_are_read_back_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    write_plan(tmp_path, _plan())
    assert read_plan(tmp_path) == _plan()
    assert read_visits(tmp_path) == []
    visits = _visits(1)
    append_visits(tmp_path, visits[:2])
    append_visits(tmp_path, visits[2:])
    path = tmp_path / "visits.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert read_visits(tmp_path) == visits[:-1]
    cut_last_visit(tmp_path)
    append_visits(tmp_path, visits[-1:])
    assert read_visits(tmp_path) == visits


def test_broken_files_are_told(tmp_path: Path) -> None:
    (tmp_path / "visits.jsonl").write_text('{"kind": "loop"}\n')
    with pytest.raises(FormatError, match="line 1: round: this key is missing"):
        read_visits(tmp_path)
    (tmp_path / "visits.jsonl").write_text("loop\n")
    with pytest.raises(FormatError, match="not a visit"):
        read_visits(tmp_path)
    plan = _plan()
    write_plan(tmp_path, plan.model_copy(update={"subjects": plan.subjects[1:]}))
    with pytest.raises(FormatError, match="'a' is not described"):
        read_plan(tmp_path)
