"""What is predicted of a layer."""

from __future__ import annotations

from enum import Enum

import numpy as np
import polars as pl

from edgewatt.predictors.terms import Array


class Target(str, Enum):
    """Power is above idle."""

    POWER = "power"
    RUNTIME = "runtime"

    def __str__(self) -> str:
        return self.value

    @property
    def unit(self) -> str:
        """The unit that predictors are trained and scored in."""
        return "W" if self is Target.POWER else "ms"


def target_values(table: pl.DataFrame, target: Target) -> Array:
    """A training table's power in W or runtime in ms, shape (rows,); NaN where it was not measured."""
    values: Array = table[target.value].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return values * 1e-6 if target is Target.POWER else values
