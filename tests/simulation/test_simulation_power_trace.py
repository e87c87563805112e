from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewatt.simulation.power_trace import PowerTrace, affine_scan


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-5, 5)), max_size=40), st.floats(-5, 5))
def test_scan_is_the_recurrence(steps, initial):
    factor, term = (np.array([step[i] for step in steps]) for i in range(2))
    expected = [initial]
    for f, t in steps:
        expected.append(f * expected[-1] + t)
    np.testing.assert_allclose(affine_scan(factor, term, initial), expected, rtol=1e-12, atol=1e-12)


def test_mean_power_by_hand():
    trace = PowerTrace(np.array([0.0, 1.0, 3.0, 3.0, 4.0]), np.array([2.0, 6.0, 100.0, 1.0]))
    starts, ends = np.array([0.5, 0.0, 2.5, -1.0, 3.5]), np.array([1.5, 4.0, 3.5, 1.0, 5.5])
    # Half at 2 and half at 6; all of it (2 + 12 + 1 J in 4 s); the empty segment counts nothing; before and after
    # the trace the power stays.
    np.testing.assert_allclose(trace.mean_power_w(starts, ends), [4.0, 15 / 4, 3.5, 2.0, 1.0])
    assert trace.energy_j() == pytest.approx(15.0)
    assert trace.duration_s == 4.0


def test_step_response_of_the_lag():
    # From 2 W to 10 W at 1 s: 10 - 8 exp(-t / lag), whose mean over a window has a closed form.
    lag, edges = 0.3, np.array([0.0, 1.0, 100.0])
    starts = np.array([-5.0, 0.5, 1.0, 1.2, 3.0, 90.0])
    ends = starts + 0.25
    trace = PowerTrace(edges, np.array([2.0, 10.0]))

    def integral(t):
        since = np.maximum(t - 1.0, 0.0)
        return 2.0 * np.minimum(t, 1.0) + 10.0 * since - 8.0 * lag * (1 - np.exp(-since / lag))

    expected = (integral(ends) - integral(starts)) / 0.25
    np.testing.assert_allclose(trace.mean_power_w(starts, ends, lag), expected, rtol=1e-12)


def test_lag_of_many_segments_against_small_steps():
    random = np.random.default_rng(3)
    edges = np.concatenate(([0.0], np.cumsum(random.exponential(0.4e-3, 300))))
    power = random.uniform(4, 12, 300)
    trace, lag, step = PowerTrace(edges, power), 0.5e-3, 1e-7
    times = np.arange(0.0, edges[-1], step)
    level, decay = power[np.searchsorted(edges, times, side="right") - 1], np.exp(-step / lag)
    lagged = np.empty(len(times))
    value = power[0]
    for index, target in enumerate(level):
        value = target + (value - target) * decay
        lagged[index] = value
    starts = np.arange(100) * 1e-3
    ends = starts + 1.1e-3
    expected = [lagged[round(a / step) : round(b / step)].mean() for a, b in zip(starts, ends, strict=True)]
    np.testing.assert_allclose(trace.mean_power_w(starts, ends, lag), expected, rtol=2e-4)


def test_lag_keeps_the_energy_once_it_has_settled():
    trace = PowerTrace(np.array([0.0, 1.0, 1.5, 9.0]), np.array([1.0, 20.0, 1.0]))
    whole = np.array([0.0]), np.array([9.0])
    np.testing.assert_allclose(trace.mean_power_w(*whole, 0.2), trace.mean_power_w(*whole), rtol=1e-12)
