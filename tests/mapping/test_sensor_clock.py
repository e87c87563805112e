from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.mapping.sensor_clock import find_sensor_clock


def _log(period_s: float, seed: int, *, span_s: float = 20.0, drift: float = 0.0, changing: float = 0.9):  # type: ignore[no-untyped-def]
    """Readings of a clock whose ticks change the value in most cases, and the true ticks."""
    random = np.random.default_rng(seed)
    numbers = np.arange(int(span_s / period_s) + 2)
    ticks = 0.4 * period_s + period_s * numbers
    ticks = ticks + drift * 5.0 * np.sin(ticks / 5.0)
    values = np.cumsum(np.where(random.uniform(size=len(ticks)) < changing, 8.0, 0.0)) % 400
    times = np.cumsum(random.normal(1.35e-3, 0.02e-3, int(span_s / 1.35e-3)))
    newest = np.searchsorted(ticks, times, side="right") - 1
    return times, np.where(newest >= 0, values[np.maximum(newest, 0)], 0.0), ticks


@settings(max_examples=12, deadline=None)
@given(st.floats(2.0e-3, 50e-3), st.integers(0, 1000))
def test_ticks_are_found_to_a_small_part_of_the_polling_interval(period_s: float, seed: int) -> None:
    times, values, ticks = _log(period_s, seed)
    clock = find_sensor_clock(times, values)
    assert clock is not None
    assert clock.period_s == pytest.approx(period_s, rel=1e-4)
    nearest = ticks[np.abs(ticks[None, :] - clock.tick_s[::50, None]).argmin(axis=1)]
    assert np.abs(clock.tick_s[::50] - nearest).max() < max(100e-6, 3 * 1.35e-3 / np.sqrt(clock.brackets) * 3)


def test_slow_drift_is_followed() -> None:
    times, values, ticks = _log(6.6e-3, 1, span_s=60.0, drift=1e-4)
    clock = find_sensor_clock(times, values)
    assert clock is not None
    # The wander is 0.5 ms either way, and the ticks are right to a fiftieth of it.
    nearest = ticks[np.abs(ticks[None, :] - clock.tick_s[::20, None]).argmin(axis=1)]
    assert np.sqrt(np.mean((clock.tick_s[::20] - nearest) ** 2)) < 10e-6


def test_half_of_the_ticks_without_a_change_do_not_double_the_period() -> None:
    times, values, _ = _log(6.6e-3, 2, changing=0.5)
    clock = find_sensor_clock(times, values)
    assert clock is not None
    assert clock.period_s == pytest.approx(6.6e-3, rel=1e-4)


def test_a_sensor_that_is_faster_than_its_polls_has_no_such_clock() -> None:
    times = np.cumsum(np.random.default_rng(0).normal(1.35e-3, 0.02e-3, 10_000))
    values = np.random.default_rng(1).normal(size=len(times))
    assert find_sensor_clock(times, values) is None
    assert find_sensor_clock(times, values, nominal_period_s=0.28e-3) is None


def test_a_value_that_never_changes_has_no_clock() -> None:
    assert find_sensor_clock(np.arange(100) * 1e-3, np.ones(100)) is None
