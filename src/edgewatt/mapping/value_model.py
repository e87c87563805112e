"""The regression of one recording's fresh values, for any response that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fresh_values import FreshValues
from edgewatt.mapping.response import Response

#: Fresh values without which nothing can be said.
_LEAST_VALUES = 12
#: For so many times its number of samples a chip's average can feel a value.
_FELT = 12


@dataclass(frozen=True)
class ValueModel:
    """Shares of segments in values, and how they change.

    Attributes:
        occupancy: The timeline's segments.
        fresh: The sensor's values.
    """

    occupancy: Occupancy
    fresh: FreshValues

    def rows(self, samples: int) -> NDArray[np.intp]:
        """Ticks whose value depends on recorded cycles alone, with any delay up to a period and its average's past.

        Args:
            samples: Number of conversions in the chip's average.

        Raises:
            EdgewattError: There are too few.
        """
        past_s = (2.5 + 10 * (samples - 1)) * self.fresh.period_s
        past_s = min(past_s, 0.5 * (self.occupancy.finish_s - self.occupancy.begin_s))
        tick_s = self.fresh.tick_s
        inside = (tick_s > self.occupancy.begin_s + past_s) & (tick_s < self.occupancy.finish_s)
        rows = np.flatnonzero(inside & self.fresh.seen)
        if len(rows) < _LEAST_VALUES:
            raise EdgewattError(
                f"the power log holds {len(rows)} fresh values during the run, too few to tell layers from",
                fix="Record more cycles, set the sensor to shorter conversions, or use --method window",
            )
        return rows

    def shares(self, response: Response, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Share of each segment in the values of rows, shape (rows, segments)."""
        if response.samples == 1:
            return self.occupancy.shares(self.fresh.tick_s[rows], response).segments
        first, last = _felt(response, rows)
        return self.occupancy.shares(self.fresh.tick_s[first:last], response).segments[rows - first]

    def slope(self, response: Response, rows: NDArray[np.intp], power_w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Change of the values of rows with the time of an inference, in W/s."""
        first, last = _felt(response, rows)
        return self.occupancy.slope_w_per_s(self.fresh.tick_s[first:last], response, power_w)[rows - first]

    def jacobian(
        self, response: Response, rows: NDArray[np.intp], power_w: NDArray[np.float64], names: tuple[str, ...]
    ) -> NDArray[np.float64]:
        """Change of the values of rows with fields of the response in W/s, shape (rows, names)."""
        columns = []
        for name in names:
            at = getattr(response, name)
            step = 1e-7 if name in ("delay_s", "length_s") else min(1e-6, 0.5 * at)
            more, less = (self.shares(replace(response, **{name: at + sign * step}), rows) for sign in (1, -1))
            columns.append((more - less) @ power_w / (2 * step))
        return np.column_stack(columns)


def _felt(response: Response, rows: NDArray[np.intp]) -> tuple[int, int]:
    """First tick that the values of rows can feel, and the one behind the last."""
    past = _FELT * response.samples if response.samples > 1 else 0
    return max(0, int(rows[0]) - past), int(rows[-1]) + 1
