"""A non-negative sum of terms that is fitted to relative errors: the part of a prediction that extrapolates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgewatt.predictors.terms import Array

#: Rounds of reweighting; the fit no longer moves after.
_ROUNDS = 8
#: Relative error from which on a row counts less, so that odd layers do not bend the fit.
_ODD = 0.3
#: Greatest step of one round, a factor of 2 in what is predicted.
_STEP = float(np.log(2.0))


@dataclass(frozen=True, eq=False)
class CostModel:
    """A sum of terms times coefficients, none negative.

    Attributes:
        coefficients: Of each term that has one that is not 0.
        least: Least value of the sum, so that its logarithm exists.
    """

    coefficients: Mapping[str, float]
    least: float

    def predict(self, terms: Mapping[str, Array]) -> Array:
        """The sum, shape (n,), positive."""
        rows = len(next(iter(terms.values())))
        total = np.zeros(rows)
        for name, coefficient in self.coefficients.items():
            total = total + coefficient * terms[name]
        return np.maximum(total, self.least)


@dataclass(frozen=True, eq=False)
class CostMean:
    """The geometric mean of sums that were fitted to different terms.

    Terms that rise and fall together in training are told apart by chance, and each choice extrapolates another way:
    the mean of a fine and a coarse sum is never as far off as the worse of them.

    Attributes:
        models: The sums, at least one.
    """

    models: tuple[CostModel, ...]

    def predict(self, terms: Mapping[str, Array]) -> Array:
        """The mean, shape (n,), positive."""
        logarithms = [np.log(model.predict(terms)) for model in self.models]
        mean: Array = np.exp(np.mean(logarithms, axis=0))
        return mean


def fit_cost_model(
    terms: Mapping[str, Array], y: Array, weights: Array | None = None, *, robust: bool = True
) -> CostModel:
    """Fit a sum of terms to positive values.

    Args:
        terms: Terms, none negative, each of shape (n,).
        y: What the sum shall be, shape (n,), positive.
        weights: How much each row counts, shape (n,); None for all alike.
        robust: Minimise the squared logarithm of the ratio, odd rows counting less; else the squared relative error.
    """
    from scipy.optimize import nnls  # predicting needs numpy alone

    columns = np.column_stack(list(terms.values()))
    scale = columns.mean(axis=0)
    used = np.flatnonzero(scale > 0.0)
    names = [list(terms)[index] for index in used]
    scaled = columns[:, used] / scale[used]
    least = 0.1 * float(y.min())
    root = np.ones(len(y)) if weights is None else np.sqrt(weights)
    found, _ = nnls(scaled / y[:, None] * root[:, None], root)
    for _ in range(_ROUNDS if robust else 0):
        now = np.maximum(scaled @ found, least)
        ratio = np.log(now / y)
        weight = root / np.sqrt(1.0 + (ratio / _ODD) ** 2)
        # To first order, the logarithm of the sum moves by the relative change of the sum.
        wanted = 1.0 - np.clip(ratio, -_STEP, _STEP)
        step, _ = nnls(scaled / now[:, None] * weight[:, None], wanted * weight)
        found = 0.5 * (found + step)
    values = found / scale[used]
    kept = {name: float(value) for name, value in zip(names, values, strict=True) if value > 0.0}
    return CostModel(kept, least)
