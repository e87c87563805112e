from __future__ import annotations

import numpy as np
import pytest
from deconvolution_cases import jittered_ends, own_end_timeline

from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.response import Response

RUNTIME_S = np.array([100e-6, 250e-6, 50e-6])
POWER_W = np.array([6.0, 11.0, 8.0, 4.5])  # three layers and the gaps
CYCLES = 60


@pytest.fixture
def occupancy() -> Occupancy:
    return Occupancy(own_end_timeline(*jittered_ends(RUNTIME_S, CYCLES, 1e-3, np.random.default_rng(3))))


def _fine_trace(step_s: float) -> tuple[np.ndarray, np.ndarray]:
    """The power in small steps from the recording's start, found by looking up each step by itself."""
    start, end = jittered_ends(RUNTIME_S, CYCLES, 1e-3, np.random.default_rng(3))
    time = np.arange(0.01 - 2e-3, end[-1, -1], step_s)
    power = np.full(len(time), POWER_W[3])
    for cycle_start, cycle_end in zip(start, end, strict=True):
        for layer in range(3):
            inside = (time >= cycle_start[layer] - 1e-9) & (time < cycle_end[layer] - 1e-9)
            power[inside] = POWER_W[layer]
    return time, power


@pytest.mark.parametrize("lag_s", [0.0, 0.3e-3])
def test_shares_times_powers_are_the_mean_of_the_lagged_power(occupancy: Occupancy, lag_s: float) -> None:
    step = 1e-6
    time, power = _fine_trace(step)
    if lag_s:
        keep = np.exp(-step / lag_s)
        lagged = np.empty_like(power)
        state = POWER_W[3]
        for index, now in enumerate(power):
            # The mean of the lagged power over a step of constant power, and its value at the step's end.
            lagged[index] = now + (state - now) * lag_s / step * (1 - keep)
            state = now + (state - now) * keep
        power = lagged
    ends = np.arange(0.03, 0.06, 0.00137)
    response = Response(delay_s=0.2e-3, length_s=1.1e-3, lag_s=lag_s)
    shares = occupancy.shares(ends + 0.2e-3, response)
    expected = [power[(time >= end - 1.1e-3 - step / 2) & (time < end - step / 2)].mean() for end in ends]
    np.testing.assert_allclose(shares.segments @ POWER_W, expected, atol=0.01)
    np.testing.assert_allclose(shares.segments.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(shares.outside, 0.0, atol=1e-9)


def test_the_chips_average_folds_each_conversion_in(occupancy: Occupancy) -> None:
    ticks = np.arange(0.02, 0.06, 0.0021)
    one = occupancy.shares(ticks, Response(0.1e-3, 1e-3)).segments @ POWER_W
    four = occupancy.shares(ticks, Response(0.1e-3, 1e-3, samples=4))
    register = np.zeros(len(ticks))
    for index, value in enumerate(one):
        before = register[index - 1] if index else 0.0
        register[index] = before + (value - before) / 4
    np.testing.assert_allclose(four.segments @ POWER_W, register)
    # What is not yet the recording's is from before it.
    np.testing.assert_allclose(four.outside, 0.75 ** np.arange(1, len(ticks) + 1))


def test_blur_is_the_mean_over_shifts_of_the_inference(occupancy: Occupancy) -> None:
    tick = np.array([0.0312])
    blurred = occupancy.shares(tick, Response(0.0, 0.2e-3, blur_s=60e-6)).segments
    # Both edges lie in one inference: shifting it is shifting both the other way.
    shifts = (np.arange(600) + 0.5) / 600 * 60e-6 - 30e-6
    mean = occupancy.shares(tick + shifts, Response(0.0, 0.2e-3)).segments.mean(axis=0)
    np.testing.assert_allclose(blurred[0], mean, atol=1e-4)


def test_times_of_segments_add_up_to_the_recording(occupancy: Occupancy) -> None:
    assert occupancy.time_s.sum() == pytest.approx(occupancy.finish_s - occupancy.begin_s)


def test_slope_is_the_change_by_a_shift_of_the_inference() -> None:
    start, end = jittered_ends(RUNTIME_S, 20, 1e-3, np.random.default_rng(5))
    response = Response(0.0, 0.7e-3)
    # The conversion begins in the gap and ends in the middle of the tenth cycle's second layer.
    tick = np.array([0.5 * (start[10, 1] + end[10, 1])])
    slope = Occupancy(own_end_timeline(start, end)).slope_w_per_s(tick, response, POWER_W)
    shift = 10e-6
    start[10] += shift
    end[10] += shift
    moved = Occupancy(own_end_timeline(start, end)).shares(tick, response).segments @ POWER_W
    start[10] -= 2 * shift
    end[10] -= 2 * shift
    back = Occupancy(own_end_timeline(start, end)).shares(tick, response).segments @ POWER_W
    assert slope[0] == pytest.approx(float(np.abs(moved - back)[0]) / (2 * shift), rel=0.02)
    assert slope[0] == pytest.approx((POWER_W[1] - POWER_W[3]) / 0.7e-3, rel=0.02)
