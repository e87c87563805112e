"""How fresh a sensor's values are, measured: how often they change, how long a read takes, how wide a step is.

A value that stays the same may be a new one, so what changes is counted: the rate of changes is at most the rate of
conversions, and near it where the load moves by a step or more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.sensors.base import PowerSensor, Rail, RawReading

#: No sensor is faster; it bounds memory on sources that are read in less than a microsecond.
_LEAST_INTERVAL_S = 50e-6
#: Longer intervals could be of either of two multiples.
_MOST_MULTIPLE = 4


@dataclass(frozen=True)
class RailFreshness:
    """How fresh one rail's values are.

    Attributes:
        rail: The rail.
        readings: Readings that gave a value.
        fresh: Readings whose value differed from the one before.
        fresh_per_s: Such readings in a second.
        period_s: The time from conversion to conversion that the changes tell; None below three changes.
        current_step_a: Smallest difference of two currents in A, or None where none differed.
        power_step_w: Smallest difference of two powers in W: the current's at the mean voltage where both are known.
    """

    rail: Rail
    readings: int
    fresh: int
    fresh_per_s: float
    period_s: float | None
    current_step_a: float | None
    power_step_w: float | None


@dataclass(frozen=True)
class Freshness:
    """How a sensor's reads went.

    Attributes:
        duration_s: How long was measured.
        readings: Times that all rails were read.
        read_time_s: Median time that one read of all rails takes.
        read_time_p99_s: The time that 99 % of them stay within.
        jitter_s: Standard deviation of the time from read to read.
        rails: One entry a rail.
    """

    duration_s: float
    readings: int
    read_time_s: float
    read_time_p99_s: float
    jitter_s: float
    rails: tuple[RailFreshness, ...]


def measure_freshness(
    sensor: PowerSensor, duration_s: float = 1.0, clock: Callable[[], float] = time.perf_counter
) -> Freshness | None:
    """Read a sensor over and over.

    Args:
        sensor: The sensor, open, with the rails that matter; fewer rails are read faster.
        duration_s: How long.
        clock: Gives the time in s.

    Returns:
        What was measured, or None for a sensor without rails.
    """
    channels = sensor.channels
    if not channels:
        return None
    begins: list[float] = []
    ends: list[float] = []
    values: list[list[RawReading]] = []
    stop_s = clock() + duration_s
    while not ends or ends[-1] < stop_s:
        begins.append(_wait_until(begins[-1] + _LEAST_INTERVAL_S if begins else 0.0, clock))
        values.append([channel.read_raw() for channel in channels])
        ends.append(clock())
    begin_s, end_s = np.array(begins), np.array(ends)
    rails = [_rail(channel.rail, end_s, [row[n] for row in values]) for n, channel in enumerate(channels)]
    intervals_s = np.diff(begin_s)
    return Freshness(
        duration_s=float(end_s[-1] - begin_s[0]),
        readings=len(begins),
        read_time_s=float(np.median(end_s - begin_s)),
        read_time_p99_s=float(np.quantile(end_s - begin_s, 0.99)),
        jitter_s=float(np.std(intervals_s)) if len(intervals_s) else 0.0,
        rails=tuple(rails),
    )


def _wait_until(time_s: float, clock: Callable[[], float]) -> float:
    """Wait without sleeping, which would take longer, and give the time."""
    while (now_s := clock()) < time_s:
        pass
    return now_s


def _rail(rail: Rail, times_s: NDArray[np.float64], readings: Sequence[RawReading]) -> RailFreshness:
    raw = np.array(readings, dtype=np.float64)  # None becomes NaN
    # The current moves first and in finer steps; sources without one have power alone.
    column = 1 if np.isfinite(raw[:, 1]).any() else 2
    known = np.isfinite(raw[:, column])
    value, at_s = raw[known, column], times_s[known]
    changed = np.flatnonzero(np.diff(value)) + 1
    duration_s = float(times_s[-1] - times_s[0])
    step = _smallest_step(value)
    if column == 1:
        voltage_v = float(np.nanmean(raw[known, 0])) / 1e3 if np.isfinite(raw[known, 0]).any() else None
        current_a = None if step is None else step / 1e3
        power_w = None if current_a is None or voltage_v is None else current_a * voltage_v
    else:
        current_a, power_w = None, None if step is None else step / 1e6
    return RailFreshness(
        rail,
        len(value),
        len(changed),
        len(changed) / duration_s if duration_s > 0 else 0.0,
        _period_s(at_s, changed),
        current_a,
        power_w,
    )


def _period_s(times_s: NDArray[np.float64], changed: NDArray[np.intp]) -> float | None:
    """The time between conversions, from readings that showed a change.

    A change that was seen by a late read may have been long before; it is left out. What is left lies whole numbers of
    periods apart, because values may repeat. A tenth of the intervals lies below the mark from which multiples are
    told; intervals of up to four periods then count as what they are multiples of.
    """
    if len(changed) < 3:
        return None
    gaps_s = np.diff(times_s)
    in_time = changed[gaps_s[changed - 1] <= 2 * np.median(gaps_s)]
    intervals_s = np.diff(times_s[in_time])
    if len(intervals_s) < 2:
        return None
    mark_s = float(np.quantile(intervals_s, 0.1))
    single_s = float(np.mean(intervals_s[intervals_s <= 1.5 * mark_s]))
    if single_s <= 0:
        return None
    multiples = np.round(intervals_s / single_s)
    used = (multiples >= 1) & (multiples <= _MOST_MULTIPLE)
    return float(intervals_s[used].sum() / multiples[used].sum()) if used.any() else None


def _smallest_step(values: NDArray[np.float64]) -> float | None:
    steps = np.diff(np.unique(values))
    return float(steps.min()) if len(steps) else None
