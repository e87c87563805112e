"""The log's readings as one value for each tick of the sensor's clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.power_log import PowerLog
from edgewatt.mapping.sensor_clock import SensorClock


@dataclass(frozen=True)
class FreshValues:
    """What the sensor showed after each tick.

    Attributes:
        tick_s: All ticks, those that no reading fell behind too, shape (ticks,).
        power_w: Power of the reading in the middle of the time that it could be seen; 0 where there was none.
        seen: Whether there was one.
        period_s: Mean time between ticks.
    """

    tick_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    seen: NDArray[np.bool_]
    period_s: float


def fresh_values(log: PowerLog, clock: SensorClock, origin_us: int) -> FreshValues:
    """Pick one reading for each tick.

    The middle one of those between two ticks, so that an error of the clock, and a voltage that became readable after
    its current, do no harm.

    Args:
        log: The readings.
        clock: The sensor's clock.
        origin_us: Its origin in microseconds since 1970.
    """
    times_s = (log.times_us - origin_us) / 1e6
    power_w = log.power_uw / 1e6
    first = np.searchsorted(times_s, clock.tick_s, side="left")
    behind = np.append(first[1:], len(times_s))
    seen = behind > first
    middle = np.minimum((first + behind - 1) // 2, len(times_s) - 1)
    return FreshValues(clock.tick_s, np.where(seen, power_w[middle], 0.0), seen, clock.period_s)


def values_by_reading(log: PowerLog, origin_us: int) -> FreshValues:
    """Take every reading for a fresh value of its own: where a sensor is polled more slowly than it refreshes."""
    times_s = (log.times_us - origin_us) / 1e6
    period_s = float(np.median(np.diff(times_s))) if len(times_s) > 1 else 1.0
    return FreshValues(times_s, log.power_uw / 1e6, np.ones(len(times_s), dtype=np.bool_), period_s)
