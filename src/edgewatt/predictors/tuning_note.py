"""What a folder of predictors keeps of the search for their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The key of the search in `metrics.json`, beside the kinds of layer.
TUNING_KEY = "tuning"


@dataclass(frozen=True)
class TuningNote:
    """What is kept of a search.

    Attributes:
        entry: For `metrics.json`: plain values.
        card: A section of `card.md`, with its heading.
    """

    entry: Mapping[str, Any]
    card: str
