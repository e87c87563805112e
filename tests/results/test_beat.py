"""Readings at some phases of the cycle alone."""

from __future__ import annotations

import numpy as np
import pytest

from edgewatt.results.beat import beat_error_w
from edgewatt.results.network_result import PowerTrace

PITCH_S, CYCLES = 0.003, 2000


def _trace(period_s: float, *, swing_w: float = 2.0, noise_w: float = 0.02, first_s: float = 0.0002) -> PowerTrace:
    """A power of 6 W and a swing in each cycle, looked at every `period_s`."""
    random = np.random.default_rng(0)
    start_s = PITCH_S * np.arange(CYCLES)
    time_s = np.arange(first_s, PITCH_S * CYCLES, period_s)
    power_w = 6.0 + swing_w * np.cos(2 * np.pi * time_s / PITCH_S) + noise_w * random.standard_normal(len(time_s))
    return PowerTrace(time_s, power_w, start_s, start_s + PITCH_S)


def _error(trace: PowerTrace) -> float:
    return abs(float(trace.power_w.mean()) - 6.0)


def test_readings_at_all_phases_have_no_such_error() -> None:
    trace = _trace(0.0066)
    assert _error(trace) < 0.01
    assert beat_error_w(trace) < 0.01


def test_readings_at_one_phase_tell_no_mean() -> None:
    trace = _trace(2 * PITCH_S)
    assert _error(trace) > 1.5
    assert beat_error_w(trace) > 1.0


@pytest.mark.parametrize("turns", [0.3, 0.5, 0.8])
def test_readings_at_a_part_of_the_phases_are_as_far_off_as_is_told(turns: float) -> None:
    # Over the recording the readings move on by so many cycles.
    trace = _trace(2 * PITCH_S * (1 + turns / CYCLES))
    assert _error(trace) > 0.2
    assert 0.7 * _error(trace) < beat_error_w(trace) < 6.0


def test_a_steady_power_is_read_well_at_any_phase() -> None:
    assert beat_error_w(_trace(2 * PITCH_S * (1 + 0.5 / CYCLES), swing_w=0.0)) < 0.05


def test_too_few_readings_tell_nothing() -> None:
    trace = _trace(0.0066)
    assert beat_error_w(PowerTrace(trace.time_s[:5], trace.power_w[:5], trace.start_s, trace.end_s)) == 0.0
    assert beat_error_w(PowerTrace(trace.time_s, trace.power_w, trace.start_s[:0], trace.end_s[:0])) == 0.0
