"""How good an adaptive sweep's predictors are by now."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import cross_predict
from edgewatt.predictors.folds import network_folds
from edgewatt.predictors.physics_predictor import PhysicsPredictor
from edgewatt.predictors.targets import Target, target_values
from edgewatt.sweep.adaptive import Tables

_FOLDS = 5
#: Fewer drawn layers say little.
_FEWEST = 20


def drawn_error(tables: Tables, origins: Mapping[str, str]) -> float | None:
    """Error of predictors on layers that they have not seen.

    Layers that were picked are the hardest, so that the error is taken of those that were drawn, each predicted by
    predictors that were trained on four fifths of all the others.

    Args:
        tables: What was measured, with the column `network`.
        origins: Where each layer comes from, by name.

    Returns:
        MAPE over all kinds, the larger one of power and runtime; None where too few layers were measured.
    """
    cross = cross_predict(tables, network_folds(tables, _FOLDS), _new_predictor, with_fallback=True)
    found = []
    for target in Target:
        errors = []
        for kind, table in tables.items():
            true, value = target_values(table, target), cross.estimates[kind, target].value
            drawn = np.array([origins.get(name) != "adaptive" for name in table["layer_name"].to_list()])
            known = drawn & np.isfinite(true) & (true > 0.0) & np.isfinite(value)
            errors.append(np.abs(value[known] / true[known] - 1))
        together = np.concatenate(errors)
        if len(together) >= _FEWEST:
            found.append(float(together.mean()))
    return max(found, default=None)


def _new_predictor(kind: LayerKind, target: Target) -> PhysicsPredictor:
    return PhysicsPredictor(kind, target)
