from __future__ import annotations

import numpy as np
import pytest

from edgewatt.errors import EdgewattError
from edgewatt.simulation.cycles import CycleSettings, run_cycles

RUNTIME_S = np.array([100e-6, 0.0, 250e-6, 50e-6])
POWER_W = np.array([3.0, 0.0, 7.0, 1.5])
IDLE_W = 4.0


def _run(settings: CycleSettings, seed: int = 0, least_gap_s: float = 0.0):
    least = np.full(settings.cycles, least_gap_s)
    return run_cycles(RUNTIME_S, POWER_W, IDLE_W, least, settings, np.random.default_rng(seed))


def test_energy_is_that_of_layers_gaps_and_idle():
    settings = CycleSettings(cycles=500, warmup_cycles=0, idle_s=0.5, background_w=0.0, launch_gap_s=3e-6)
    timeline = _run(settings)
    layers_j = float(((IDLE_W + POWER_W) * timeline.layer_s).sum())
    busy_s = float(timeline.layer_s.sum())
    gaps_s = timeline.trace.duration_s - 2 * 0.5 - busy_s
    gaps_j = (IDLE_W + settings.gap_power_w) * gaps_s
    assert timeline.trace.energy_j() == pytest.approx(layers_j + gaps_j + IDLE_W * 1.0, rel=1e-9)


def test_layers_follow_each_other_in_order():
    timeline = _run(CycleSettings(cycles=200, warmup_cycles=20))
    np.testing.assert_allclose(timeline.layer_start_s[:, 1:], timeline.layer_end_s[:, :-1])
    assert np.all(timeline.start_s[1:] > timeline.end_s[:-1])
    assert np.all(timeline.layer_s[:, 1] == 0.0)
    assert timeline.layer_s.shape == (200, 4)
    # 20 cycles of about 1.4 ms and the idle time lie before the first that is recorded.
    assert timeline.start_s[0] > 0.3 + 20 * 1.2e-3


def test_launch_gaps_lie_between_the_layers():
    timeline = _run(CycleSettings(cycles=50, launch_gap_s=7e-6))
    np.testing.assert_allclose(timeline.layer_start_s[:, 1:] - timeline.layer_end_s[:, :-1], 7e-6, rtol=1e-6)


def test_true_power_while_a_layer_runs():
    timeline = _run(CycleSettings(cycles=300, warmup_cycles=10, background_w=0.0))
    for layer in (0, 2, 3):
        seen = timeline.trace.mean_power_w(timeline.layer_start_s[:, layer], timeline.layer_end_s[:, layer])
        np.testing.assert_allclose(seen, IDLE_W + POWER_W[layer], rtol=1e-6)


def test_jitter_keeps_the_mean_and_has_its_width():
    timeline = _run(CycleSettings(cycles=20_000, cycle_jitter=0.03, layer_jitter=0.04))
    relative = timeline.layer_s[:, [0, 2, 3]] / RUNTIME_S[[0, 2, 3]]
    np.testing.assert_allclose(relative.mean(axis=0), 1.0, atol=0.002)
    np.testing.assert_allclose(relative.std(axis=0), 0.05, rtol=0.03)
    # What cycles have in common shows as the layers' correlation: 0.03^2 / 0.05^2.
    assert np.corrcoef(relative.T)[0, 1] == pytest.approx(0.36, abs=0.03)


def test_gaps_have_jitter_stalls_and_a_least():
    settings = CycleSettings(cycles=20_000, stall_probability=0.01, stall_s=10e-3, warmup_cycles=0)
    timeline = _run(settings, least_gap_s=0.9e-3)
    gaps = timeline.start_s[1:] - timeline.end_s[:-1]
    assert gaps.min() >= 0.9e-3 - 1e-9
    assert np.median(gaps) == pytest.approx(1e-3, rel=0.02)
    assert np.mean(gaps > 2e-3) == pytest.approx(0.01 * np.exp(-0.1), rel=0.2)


def test_warming_raises_all_power_around_the_same_mean():
    settings = CycleSettings(cycles=2000, warmup_cycles=0, warming=0.04, background_w=0.0)
    timeline = _run(settings)
    factor = timeline.power_factor
    assert factor.mean() == pytest.approx(1.0, abs=1e-12)
    assert factor[-1] - factor[0] == pytest.approx(0.04)
    assert np.all(np.diff(factor) > 0)
    seen = timeline.trace.mean_power_w(timeline.layer_start_s[:, 2], timeline.layer_end_s[:, 2])
    np.testing.assert_allclose(seen, 11.0 * factor, rtol=1e-6)


def test_background_changes_power_alone():
    quiet, busy = (_run(CycleSettings(cycles=3000, background_w=w)) for w in (0.0, 0.5))
    np.testing.assert_array_equal(quiet.layer_end_s, busy.layer_end_s)
    seen = busy.trace.mean_power_w(busy.start_s, busy.end_s) - quiet.trace.mean_power_w(quiet.start_s, quiet.end_s)
    assert seen.std() == pytest.approx(0.5, rel=0.05)


def test_idle_time_is_a_tenth_within_limits():
    assert _run(CycleSettings(cycles=1)).layer_start_s[0, 0] > 0.3
    long = _run(CycleSettings(cycles=60_000, warmup_cycles=0))
    assert long.start_s[0] == pytest.approx(5.0)
    assert long.trace.edges_s[-1] - long.trace.edges_s[-2] == pytest.approx(5.0)


@pytest.mark.parametrize("wrong", [{"cycles": 0}, {"warmup_cycles": -1}])
def test_cycles_that_cannot_be(wrong):
    with pytest.raises(EdgewattError):
        CycleSettings(**wrong)
