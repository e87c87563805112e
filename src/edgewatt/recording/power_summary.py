"""What a power log says of a run or of an idle board as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewatt.formats.power_log import PowerLog


@dataclass(frozen=True)
class PowerSummary:
    """Power over a time.

    Attributes:
        mean_w: Mean power in W, each reading counting for the time until the next.
        spread_w: Standard deviation of the fresh readings in W.
        readings: Readings in that time.
        fresh: Readings whose value differed from the one before: a value that stays may be a new one, so at least
            this many were new.
        duration_s: The time.
    """

    mean_w: float
    spread_w: float
    readings: int
    fresh: int
    duration_s: float

    @property
    def fresh_every_s(self) -> float | None:
        """Mean time from a fresh reading to the next; None for fewer than two."""
        return self.duration_s / (self.fresh - 1) if self.fresh > 1 else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "mean_w": self.mean_w,
            "spread_w": self.spread_w,
            "readings": self.readings,
            "fresh_readings": self.fresh,
            "fresh_every_s": self.fresh_every_s,
            "duration_s": self.duration_s,
        }


def summarise_power(log: PowerLog, first_us: int | None = None, last_us: int | None = None) -> PowerSummary | None:
    """Summarise a log, or the part of it between two times; None where fewer than two readings lie there."""
    begin = 0 if first_us is None else int(np.searchsorted(log.times_us, first_us, side="left"))
    end = len(log) if last_us is None else int(np.searchsorted(log.times_us, last_us, side="right"))
    if end - begin < 2:
        return None
    times, power_w = log.times_us[begin:end], log.power_uw[begin:end] / 1e6
    steps_s = np.diff(times) / 1e6
    duration_s = float(steps_s.sum())
    changed = np.flatnonzero(np.diff(power_w)) + 1
    fresh = power_w[np.concatenate(([0], changed))]
    mean_w = float(np.sum(power_w[:-1] * steps_s)) / duration_s if duration_s > 0 else float(power_w.mean())
    return PowerSummary(mean_w, float(fresh.std()), len(times), len(fresh), duration_s)
