"""Numbers with an interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from edgewatt.mapping.summary import mean_interval

#: Blocks of consecutive values that `mean_interval` takes the scatter of a mean from.
_BLOCKS = 20


@dataclass(frozen=True)
class Estimate:
    """A number, and where the true one lies with 90 % confidence.

    Attributes:
        value: The number.
        low: Lower end of the interval; None where none is known.
        high: Upper end of it.
        degrees: Degrees of freedom of the interval's standard error (Student's t); infinite where it is a normal
            distribution's.
    """

    value: float
    low: float | None = None
    high: float | None = None
    degrees: float = inf

    @classmethod
    def of_values(cls, values: ArrayLike) -> Estimate | None:
        """The mean of values in order of time, from the means of consecutive blocks; None where there is no value."""
        known = np.asarray(values, dtype=np.float64)
        known = known[~np.isnan(known)]
        if not known.size:
            return None
        low, high = mean_interval(known)
        return cls(float(known.mean()), low, high, max(1, min(_BLOCKS, known.size) - 1))

    @property
    def standard_error(self) -> float | None:
        """Standard deviation of the number's error; None where there is no interval."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2 / float(stdtrit(self.degrees, 0.95))

    def widened(self, error: float) -> Estimate:
        """The estimate with another, independent error of that standard deviation; without an interval it stays so."""
        own = self.standard_error
        if own is None:
            return self
        half = sqrt(own**2 + error**2) * float(stdtrit(self.degrees, 0.95))
        return replace(self, low=self.value - half, high=self.value + half)

    def scaled(self, factor: float) -> Estimate:
        """The estimate in another unit."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return replace(self, value=self.value * factor, low=low, high=high)

    def shifted(self, by: float) -> Estimate:
        """The estimate with something added that is known exactly."""
        low, high = (None if end is None else end + by for end in (self.low, self.high))
        return replace(self, value=self.value + by, low=low, high=high)


def product(first: Estimate | None, second: Estimate | None) -> Estimate | None:
    """The product of two independent numbers, their relative errors added in squares.

    An interval needs that of the first alone: a layer's runtime is known far better than its power.
    """
    if first is None or second is None:
        return None
    value = first.value * second.value
    error = first.standard_error
    if error is None:
        return Estimate(value)
    total = sqrt((error * second.value) ** 2 + ((second.standard_error or 0.0) * first.value) ** 2)
    half = total * float(stdtrit(first.degrees, 0.95))
    return Estimate(value, value - half, value + half, first.degrees)


def added(estimates: Iterable[Estimate | None]) -> Estimate | None:
    """The sum of those numbers that are known; None where none is.

    Their errors may go together, so its interval is as wide as if all of them did: the widest case. It is not known
    where one of theirs is not.
    """
    known = [estimate for estimate in estimates if estimate is not None]
    if not known:
        return None
    ends = [(estimate.low, estimate.high) for estimate in known if estimate.low is not None]
    if len(ends) < len(known):
        return Estimate(sum(estimate.value for estimate in known))
    low, high = (sum(end for end in side if end is not None) for side in zip(*ends, strict=True))
    return Estimate(sum(estimate.value for estimate in known), low, high)
