"""Power from a counter of energy."""

from __future__ import annotations

import time
from collections.abc import Callable


class EnergyCounter:
    """Turns readings of an energy counter into the mean power since the counter last moved.

    Between two updates of the counter the power of the one before is held, as every other sensor holds its value: a
    counter that is read faster than it moves would else read as zero again and again.

    Args:
        range_uj: The highest value of the counter, behind which it starts at 0 again; None where it has none. It must
            be read at least once a turn, or whole turns go missing.
        hold_s: After this long without a move the power is 0.
        clock: Gives the time in s.
    """

    def __init__(
        self, range_uj: float | None = None, hold_s: float = 0.1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._range_uj = range_uj
        self._hold_s = hold_s
        self._clock = clock
        self._energy_uj: float | None = None
        self._moved_s = 0.0
        self._power_uw: float | None = None

    def start(self, energy_uj: float | None) -> None:
        """Start anew at a reading, so that nothing before it is counted."""
        self._energy_uj = energy_uj
        self._moved_s = self._clock()
        self._power_uw = None

    def power_uw(self, energy_uj: float | None) -> float | None:
        """The mean power up to a reading.

        Args:
            energy_uj: What the counter says now in uJ; None where it could not be read.

        Returns:
            Power in uW; None until the counter has moved for the first time, after a failed reading, and where the
            counter went back without a known range.
        """
        if energy_uj is None:
            return None
        now_s = self._clock()
        before_uj, self._energy_uj = self._energy_uj, energy_uj
        if before_uj is None:
            self._moved_s = now_s
        elif energy_uj != before_uj:
            spent_uj, elapsed_s = self._difference(before_uj, energy_uj), now_s - self._moved_s
            self._power_uw = spent_uj / elapsed_s if spent_uj is not None and elapsed_s > 0 else None
            self._moved_s = now_s
        elif now_s - self._moved_s > self._hold_s:
            self._power_uw = 0.0
        return self._power_uw

    def _difference(self, before_uj: float, after_uj: float) -> float | None:
        if after_uj >= before_uj:
            return after_uj - before_uj
        return None if self._range_uj is None else (after_uj - before_uj) % (self._range_uj + 1)
