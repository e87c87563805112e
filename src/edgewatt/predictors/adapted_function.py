"""A predictor's function moved to another board or power mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.correction import Correction, correction_features
from edgewatt.predictors.estimate import Estimate
from edgewatt.predictors.physical_features import cost_terms
from edgewatt.predictors.physics import is_detailed, layer_amounts
from edgewatt.predictors.physics_function import PhysicsFunction
from edgewatt.predictors.polynomial import Polynomial
from edgewatt.predictors.terms import Array

#: Values below are none that a correction can multiply.
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class AdaptedFunction:
    """What the source says, times a correction.

    Attributes:
        base: The source's function.
        correction: The factor.
    """

    base: PhysicsFunction | Polynomial
    correction: Correction

    @property
    def kind(self) -> LayerKind | None:
        """The kind of layer that it is for; None for all."""
        return self.base.kind

    def predict(self, table: pl.DataFrame) -> Array:
        """Predict the target, shape (rows,)."""
        return self.estimate(table).value

    def estimate(self, table: pl.DataFrame) -> Estimate:
        """Predict the target and how sure it is, which is as sure as the source is."""
        assert self.kind is not None, "a function for all kinds must be told which"
        return self.estimate_kind(self.kind, table)

    def estimate_kind(self, kind: LayerKind, table: pl.DataFrame) -> Estimate:
        """The same of layers of a kind, for a function for all kinds."""
        found, features = base_estimate(self.base, kind, table)
        return Estimate(found.value * np.exp(self.correction.log_factor(features)), found.spread, found.distant)


def base_estimate(
    base: PhysicsFunction | Polynomial, kind: LayerKind, table: pl.DataFrame
) -> tuple[Estimate, dict[str, Array]]:
    """What a source says of layers, and the features of its correction.

    Args:
        base: The source's function.
        kind: The layers' kind.
        table: One row a layer.
    """
    if isinstance(base, PhysicsFunction):
        amounts = layer_amounts(kind, table, base.detailed)
        found, time = base.estimate_amounts(amounts), base.time.predict(cost_terms(amounts))
        return found, correction_features(amounts, np.maximum(found.value, _LEAST), time)
    amounts = layer_amounts(kind, table, is_detailed(table))
    found = base.estimate(table)
    return found, correction_features(amounts, np.maximum(found.value, _LEAST), None)
