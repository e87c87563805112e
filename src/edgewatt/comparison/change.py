"""How a number changed, and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot, inf

from scipy.special import stdtr, stdtrit

from edgewatt.results.estimate import Estimate

#: Probability at which what did not change is called changed, over all changes that are looked at together.
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Change:
    """A number before and after.

    Attributes:
        before: Before; None where it is not known.
        after: After.
        p_value: Probability of a difference as great as this from noise alone; None where the noise is not known.
        beyond_noise: Whether the difference is more than noise, other changes that were looked at together with it
            taken into account; None where that is not known.
    """

    before: Estimate | None
    after: Estimate | None
    p_value: float | None = None
    beyond_noise: bool | None = None

    @property
    def difference(self) -> float | None:
        """After less before."""
        return None if self.before is None or self.after is None else self.after.value - self.before.value

    @property
    def relative(self) -> float | None:
        """The difference as a share of the number before; None where that is 0."""
        if self.before is None or self.difference is None or self.before.value == 0:
            return None
        return self.difference / abs(self.before.value)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the true difference lies with 90 % confidence; None where the noise is not known."""
        if self.before is None or self.after is None or self.difference is None:
            return None
        error, degrees = _error(self.before, self.after)
        if error is None:
            return None
        half = error * float(stdtrit(degrees, 0.95))
        return self.difference - half, self.difference + half

    def rose_by_more_than(self, share: float) -> bool:
        """Whether the number rose by more than a share of itself, beyond the noise where that is known.

        Args:
            share: The share, 0.05 for 5 %.
        """
        if self.before is None or self.after is None:
            return False
        allowed = self.before.scaled(1 + share)
        excess = self.after.value - allowed.value
        error, degrees = _error(allowed, self.after)
        return excess > (0.0 if error is None else error * float(stdtrit(degrees, 1 - SIGNIFICANCE)))


def change(before: Estimate | None, after: Estimate | None) -> Change:
    """A change on its own: Welch's test of the means of blocks, or of whatever the intervals come from."""
    return holm([_tested(before, after)])[0]


def changes(pairs: Sequence[tuple[Estimate | None, Estimate | None]]) -> list[Change]:
    """Changes that are looked at together: among many, some differ by chance alone."""
    return holm([_tested(before, after) for before, after in pairs])


def holm(tested: Sequence[Change]) -> list[Change]:
    """Decide which of several changes are beyond the noise, at `SIGNIFICANCE` for all of them together.

    S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979): the smallest of m
    p-values is held against 1/m of the significance, the next against 1/(m-1), and so on up to the first that fails.
    """
    known = sorted(
        (i for i, item in enumerate(tested) if item.p_value is not None), key=lambda i: tested[i].p_value or 0
    )
    decided = list(tested)
    rejecting = True
    for rank, i in enumerate(known):
        rejecting = rejecting and (tested[i].p_value or 0.0) <= SIGNIFICANCE / (len(known) - rank)
        decided[i] = replace(tested[i], beyond_noise=rejecting)
    return decided


def _tested(before: Estimate | None, after: Estimate | None) -> Change:
    if before is None or after is None:
        return Change(before, after)
    error, degrees = _error(before, after)
    if error is None:
        return Change(before, after)
    difference = abs(after.value - before.value)
    if error == 0:
        return Change(before, after, 1.0 if difference == 0 else 0.0)
    return Change(before, after, 2 * float(stdtr(degrees, -difference / error)))


def _error(before: Estimate, after: Estimate) -> tuple[float | None, float]:
    """Standard error of the difference, and its degrees of freedom after Welch and Satterthwaite."""
    first, second = before.standard_error, after.standard_error
    if first is None or second is None:
        return None, inf
    error = hypot(first, second)
    spread = sum(s**4 / d for s, d in ((first, before.degrees), (second, after.degrees)) if d != inf)
    return error, error**4 / spread if spread > 0 else inf
