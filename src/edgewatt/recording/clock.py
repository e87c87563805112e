"""Wall-clock times from the monotonic clock and one fixed offset.

The wall clock of a board without a battery is set some time after it has started, and may be set again at any time.
Everything that belongs to one recording is stamped on the monotonic clock instead, which all processes share, and
shown as the wall-clock time that this offset gives: a step of the wall clock cannot tear a recording.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RecordingClock:
    """The clock of one recording.

    Attributes:
        offset_ns: What the wall clock, in local time and counted from 1970 as if that were UTC, shows more than the
            monotonic clock.
    """

    offset_ns: int

    @classmethod
    def now(cls) -> RecordingClock:
        """The clock of a recording that begins now."""
        pairs = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(5)]
        before, wall, after = min(pairs, key=lambda pair: pair[2] - pair[0])
        zone = datetime.fromtimestamp(wall / 1e9, timezone.utc).astimezone().utcoffset()
        local_ns = 0 if zone is None else int(zone.total_seconds()) * 1_000_000_000
        return cls(wall + local_ns - (before + after) // 2)

    def microseconds(self, monotonic_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times on the monotonic clock as whole microseconds since 1970, as the files have them."""
        times: NDArray[np.int64] = (monotonic_ns + self.offset_ns) // 1000
        return times

    def stamp(self) -> str:
        """The time now, as the files have it."""
        return _format((time.monotonic_ns() + self.offset_ns) // 1000)


class StampWriter:
    """Formats times of readings that follow each other, of which hundreds share one second.

    Args:
        clock: The recording's clock.
    """

    def __init__(self, clock: RecordingClock) -> None:
        self._offset_ns = clock.offset_ns
        self._second = -1
        self._prefix = ""

    def stamp(self, monotonic_ns: int) -> str:
        """A time on the monotonic clock as `20241121-05:20:04.261448`."""
        second, microsecond = divmod((monotonic_ns + self._offset_ns) // 1000, 1_000_000)
        if second != self._second:
            self._second, self._prefix = second, _format(second * 1_000_000)[:-6]
        return f"{self._prefix}{microsecond:06d}"


def _format(time_us: int) -> str:
    # Counted from 1970 by hand: fromtimestamp would add the zone that is in the number already.
    moment = datetime.fromtimestamp(time_us // 1_000_000, timezone.utc)
    return f"{moment:%Y%m%d-%H:%M:%S}.{time_us % 1_000_000:06d}"
