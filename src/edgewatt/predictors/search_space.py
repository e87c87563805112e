"""What a search for a predictor's settings may choose; each predictor declares its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Value = bool | int | float | str


@dataclass(frozen=True)
class Span:
    """A number between two ends, both included.

    Attributes:
        low: The lower end.
        high: The upper end.
        usual: The value where nothing is set.
        whole: Whole numbers alone.
        log: Search in even ratios, not in even steps.
    """

    low: float
    high: float
    usual: float
    whole: bool = False
    log: bool = False


@dataclass(frozen=True)
class Choice:
    """One of a few values.

    Attributes:
        values: The values.
        usual: The one where nothing is set.
    """

    values: tuple[Value, ...]
    usual: Value


#: What may be chosen, by the name of the setting.
SearchSpace = Mapping[str, Span | Choice]
