"""A million readings as a few thousand points, without losing a peak."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Envelope:
    """Readings in bins of equal time; a bin without any is left out.

    Attributes:
        time_s: Middle of each bin, shape (bins,).
        low: Least reading in each.
        mean: Mean of the readings in each.
        high: Greatest reading in each.
    """

    time_s: NDArray[np.float64]
    low: NDArray[np.float64]
    mean: NDArray[np.float64]
    high: NDArray[np.float64]


def envelope(time_s: NDArray[np.float64], values: NDArray[np.float64], bins: int) -> Envelope:
    """Decimate readings to the least, mean and greatest of each bin.

    Args:
        time_s: Times, ascending, shape (readings,), at least one.
        values: Readings, of the same shape.
        bins: Number of bins.
    """
    edges = np.linspace(time_s[0], time_s[-1], bins + 1)
    first = np.searchsorted(time_s, edges[:-1], side="left")
    count = np.diff(np.append(first, len(time_s)))
    filled = count > 0
    starts = first[filled]
    return Envelope(
        time_s=((edges[:-1] + edges[1:]) / 2)[filled],
        low=np.minimum.reduceat(values, starts),
        mean=np.add.reduceat(values, starts) / count[filled],
        high=np.maximum.reduceat(values, starts),
    )
