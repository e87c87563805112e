"""The predictor of all kinds together, for kinds of layer that have too few rows for one of their own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from edgewatt.formats.run_folders import network_of
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.intervals import conformal_factor, log_errors
from edgewatt.predictors.measured_amounts import MeasuredAmounts, joined
from edgewatt.predictors.physics import is_detailed, layer_amounts
from edgewatt.predictors.physics_function import PhysicsFunction
from edgewatt.predictors.physics_predictor import fit_physics
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array

#: Fewer trees than a kind's own predictor has: there are more rows, and less is asked of it.
TREES = 32

Rows = tuple[pl.DataFrame, Array]


def fit_fallback(tables: Mapping[LayerKind, pl.DataFrame], target: Target, seed: int = 0) -> PhysicsFunction | None:
    """Fit one function to the layers of all kinds; None where no layer has the target.

    Args:
        tables: Training tables with the column `network`.
        target: What is predicted.
        seed: Of the trees.
    """
    rows = {kind: _measured(table, target) for kind, table in tables.items()}
    rows = {kind: (table, y) for kind, (table, y) in rows.items() if len(y)}
    if not rows:
        return None
    detailed = all(is_detailed(table) for table, _ in rows.values())
    parts = [
        MeasuredAmounts(layer_amounts(kind, table, detailed), y, table["runtime"].cast(pl.Float64).to_numpy())
        for kind, (table, y) in rows.items()
    ]
    networks = [network_of(name) for table, _ in rows.values() for name in table["network"].to_list()]
    return fit_physics(joined(parts), networks, kind=None, target=target, detailed=detailed, trees=TREES, seed=seed)


def fallback_interval(tables: Mapping[LayerKind, pl.DataFrame], target: Target, seed: int = 0) -> float | None:
    """The factor of the intervals of kinds that were not trained on; None where there is one kind only.

    Each kind is predicted by a fallback that was fitted to the others, which is harder than what a fallback is used
    for: a kind with a few rows of its own.
    """
    scores = []
    for kind, table in tables.items():
        others = {other: rows for other, rows in tables.items() if other is not kind}
        function = fit_fallback(others, target, seed)
        rows, y = _measured(table, target)
        if function is None or len(y) == 0:
            continue
        found = function.estimate_kind(kind, rows)
        scores.append(np.abs(log_errors(y, found)) / found.spread)
    return conformal_factor(np.concatenate(scores)) if scores else None


def _measured(table: pl.DataFrame, target: Target) -> Rows:
    y = target_values(table, target)
    known = np.isfinite(y)
    return table.filter(pl.Series(known)), y[known]
