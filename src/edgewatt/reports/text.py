"""Numbers and names as the page shows them."""

from __future__ import annotations

from math import floor, log10

from edgewatt.errors import printable
from edgewatt.results.estimate import Estimate

NOT_KNOWN = "–"
_LONGEST_NAME = 26


def significant(value: float | None, digits: int = 3) -> str:
    """A number with that many significant digits and no exponent, or a dash where it is not known."""
    if value is None:
        return NOT_KNOWN
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - floor(log10(abs(value))))
    return f"{value:,.{min(decimals, 9)}f}"


def with_interval(estimate: Estimate | None, unit: str, factor: float = 1.0) -> str:
    """A number with its unit and its interval: `15.1 ± 0.2 mJ`, or both ends where it is not in their middle."""
    if estimate is None:
        return NOT_KNOWN
    spread = interval(estimate, factor)
    return f"{significant(estimate.value * factor, _digits(estimate))}{f' {spread}' if spread else ''} {unit}"


def interval(estimate: Estimate | None, factor: float = 1.0) -> str:
    """An interval: `± 0.2`, or `(14.9 to 15.6)` where the number is not in its middle; empty where none is known."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    if abs(below - above) <= 0.02 * (below + above):
        return f"± {significant(factor * (below + above) / 2, 2)}"
    digits = _digits(estimate)
    return f"({significant(factor * estimate.low, digits)} to {significant(factor * estimate.high, digits)})"


def short_name(name: str) -> str:
    """A layer's name that fits beside a bar: its first operation, and of a long path the end."""
    first = printable(name.split(" + ")[0])
    return first if len(first) <= _LONGEST_NAME else "…" + first[1 - _LONGEST_NAME :]


def _digits(estimate: Estimate) -> int:
    """Digits that an interval leaves a number: up to the second digit of its half width."""
    if estimate.low is None or estimate.high is None or estimate.value == 0 or estimate.high <= estimate.low:
        return 4
    half = (estimate.high - estimate.low) / 2
    return min(5, max(2, floor(log10(abs(estimate.value))) - floor(log10(half)) + 2))
