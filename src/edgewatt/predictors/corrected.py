"""Stored predictors with what was learned on another board put on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.adapted_function import AdaptedFunction
from edgewatt.predictors.correction import Correction
from edgewatt.predictors.cross_prediction import measured_rows
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.physics_function import PhysicsFunction
from edgewatt.predictors.polynomial import Polynomial
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import feature_columns
from edgewatt.predictors.training_data import TrainingData


def with_corrections(
    source: Predictors, training: TrainingData, corrections: Mapping[Target, Mapping[LayerKind | None, Correction]]
) -> dict[tuple[LayerKind | None, Target], StoredPredictor]:
    """Every predictor of the source with its correction.

    Args:
        source: The source's predictors.
        training: What was measured on the target.
        corrections: Of each target and kind; None for all kinds together.

    Returns:
        The predictors by kind and target, with the ranges of what was measured on the target in theirs.
    """
    stored: dict[tuple[LayerKind | None, Target], StoredPredictor] = {}
    for one in (*source.by_purpose.values(), *source.fallback.values()):
        assert isinstance(one.function, PhysicsFunction | Polynomial)
        kind, target = one.kind, one.target
        tables = training.tables if kind is None else {kind: training.tables[kind]} if kind in training.tables else {}
        measured = {kind: measured_rows(table, target) for kind, table in tables.items()}
        values = np.concatenate([np.empty(0), *(y for _, y in measured.values())])
        ranges = dict(one.feature_ranges)
        if kind is not None and kind in measured and len(values):
            columns = feature_columns(kind, tables[kind][measured[kind][0]])
            ranges = {
                name: (min(low, float(columns[name].min())), max(high, float(columns[name].max())))
                if name in columns
                else (low, high)
                for name, (low, high) in ranges.items()
            }
        stored[kind, target] = replace(
            one,
            function=AdaptedFunction(one.function, corrections[target][kind]),
            rows=len(values),
            networks=training.networks,
            feature_ranges=ranges,
            target_range=(float(values.min()), float(values.max())) if len(values) else one.target_range,
            edgewatt_version=Predictors.edgewatt_version,
        )
    return stored
