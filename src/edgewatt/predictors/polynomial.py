"""A fitted polynomial: the one thing that predicts, whether it was just fitted or read from a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.estimate import Estimate, plain_estimate
from edgewatt.predictors.terms import Array, feature_columns, stack, term_values


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A weighted sum of scaled terms of a layer's features, limited to a sane range.

    A polynomial goes anywhere outside the range that it was fitted in. What it predicts is therefore kept
    between `lower` and `upper`.

    Attributes:
        kind: The kind of layer that it is for.
        features: Names of the features that the terms are made of.
        exponents: Exponent of each feature in each term, shape (terms, features).
        centre: What is taken from each term before it is divided by its `scale`, shape (terms,).
        scale: Shape (terms,), not zero.
        coefficients: Shape (terms,).
        intercept: The sum's constant.
        log_features: Whether the terms are made of log(1 + feature).
        log_target: Whether the sum is the target's natural logarithm.
        lower: Least value predicted, in the target's unit; None for no limit.
        upper: Greatest value predicted; None for no limit.
    """

    kind: LayerKind
    features: tuple[str, ...]
    exponents: NDArray[np.int64]
    centre: Array
    scale: Array
    coefficients: Array
    intercept: float
    log_features: bool = False
    log_target: bool = False
    lower: float | None = None
    upper: float | None = None

    def predict(self, table: pl.DataFrame | Array) -> Array:
        """Predict the target, shape (rows,), in the unit that it was trained in.

        Args:
            table: One row a layer, as for `feature_columns`.

        Raises:
            EdgewattError: A base column is missing.
        """
        values = stack(feature_columns(self.kind, table), self.features)
        if self.log_features:
            values = np.log1p(values)
        terms = (term_values(values, self.exponents) - self.centre) / self.scale
        # Summed row by row, not by a matrix product, whose rounding depends on how many rows there are.
        total: Array = (terms * self.coefficients).sum(axis=1) + self.intercept
        if self.log_target:
            # Nothing that is worth predicting is beyond e^±700, and a float is not either.
            total = np.exp(np.clip(total, -700.0, 700.0))
        lower = -np.inf if self.lower is None else self.lower
        return np.clip(total, lower, np.inf if self.upper is None else self.upper)

    def estimate(self, table: pl.DataFrame | Array) -> Estimate:
        """Predict the target; a polynomial is as sure of one layer as of another."""
        return plain_estimate(self.predict(table))


def constant(
    kind: LayerKind,
    value: float,
    *,
    log_target: bool = False,
) -> Polynomial:
    """The polynomial without terms.

    Args:
        kind: The kind of layer.
        value: What it predicts; its logarithm where `log_target`.
        log_target: See `Polynomial`.
    """
    none = np.zeros(0)
    return Polynomial(kind, (), np.zeros((0, 0), np.int64), none, none, none, value, log_target=log_target)
