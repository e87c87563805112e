"""The plain baseline that stands beside every score: the mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.polynomial import Polynomial, constant
from edgewatt.predictors.terms import POLYNOMIAL_FEATURES, Array


class MeanPredictor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts the same for every layer: the geometric mean of the training targets.

    It is the constant with the least squared error of the logarithm, and so a harder baseline in relative
    errors than the arithmetic mean. Where a target is not positive it is the arithmetic mean.

    Args:
        kind: The kind of layer, a `LayerKind` or its name.

    Attributes:
        polynomial_: What was fitted.
        note_: Says so where the mean is arithmetic; else empty.
    """

    def __init__(self, kind: LayerKind | str = LayerKind.CONVOLUTIONAL) -> None:
        self.kind = kind

    def fit(
        self,
        table: pl.DataFrame | Array,
        y: Array,
        groups: Sequence[str] | NDArray[Any] | None = None,  # noqa: ARG002  every predictor is told of them
    ) -> MeanPredictor:
        """Take the mean of `y`, shape (rows,).

        Raises:
            EdgewattError: There is no row, or a target is not finite.
        """
        y = np.asarray(y, dtype=np.float64)
        if len(y) == 0 or not np.isfinite(y).all():
            raise EdgewattError("a mean needs at least one row, and finite targets")
        kind = LayerKind(self.kind)
        self.n_features_in_ = table.shape[1] if isinstance(table, np.ndarray) else len(POLYNOMIAL_FEATURES[kind])
        positive = bool((y > 0.0).all())
        self.note_ = "" if positive else "the arithmetic mean, for a target is not positive"
        value = float(np.exp(np.log(y).mean())) if positive else float(y.mean())
        self.polynomial_: Polynomial = constant(kind, value)
        return self

    @property
    def function_(self) -> Polynomial:
        """What was fitted."""
        return self.polynomial_

    def predict(self, table: pl.DataFrame | Array) -> Array:
        """Predict the mean for every row, shape (rows,)."""
        return self.polynomial_.predict(table)
