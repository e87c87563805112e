"""Layers by their amounts, with what was measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.physics import LayerAmounts, concatenated, is_detailed, layer_amounts
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array


@dataclass(frozen=True, eq=False)
class MeasuredAmounts:
    """Layers given by their amounts, n of them, and what was measured of them.

    Attributes:
        amounts: The layers.
        y: The target, shape (n,), finite.
        runtime_ms: Runtimes, shape (n,); None where they are not known.
    """

    amounts: LayerAmounts
    y: Array
    runtime_ms: Array | None


def amounts_of_others(
    tables: Mapping[LayerKind, pl.DataFrame], kind: LayerKind, target: Target, detailed: bool
) -> MeasuredAmounts | None:
    """Layers of the kinds other than `kind`, n of them together; None where there are none that are described alike.

    Args:
        tables: Training tables by kind.
        kind: The kind that is left out.
        target: What was measured of them.
        detailed: How they are described, see `layer_amounts`.
    """
    parts = []
    for other, table in tables.items():
        if other is kind or is_detailed(table) is not detailed:
            continue
        y = target_values(table, target)
        known = np.isfinite(y)
        if known.any():
            rows = table.filter(pl.Series(known))
            parts.append(MeasuredAmounts(layer_amounts(other, rows, detailed), y[known], runtimes_ms(rows)))
    return joined(parts) if parts else None


def joined(parts: Sequence[MeasuredAmounts]) -> MeasuredAmounts:
    """The layers of all parts, in order; without runtimes where one has none."""
    runtimes = [part.runtime_ms for part in parts if part.runtime_ms is not None]
    return MeasuredAmounts(
        concatenated([part.amounts for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate(runtimes) if len(runtimes) == len(parts) else None,
    )


def runtimes_ms(table: pl.DataFrame) -> Array | None:
    """Runtimes of a training table, shape (rows,); None where it has none."""
    if "runtime" not in table.columns:
        return None
    values: Array = table["runtime"].cast(pl.Float64).to_numpy()
    return values
