"""NeuralPower's predictor: a sparse polynomial of a layer's sizes, chosen by a cross-validated Lasso."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.folds import Split, inner_splits
from edgewatt.predictors.polynomial import Polynomial, constant
from edgewatt.predictors.terms import (
    POLYNOMIAL_FEATURES,
    SPECIAL_FEATURES,
    Array,
    feature_columns,
    informative,
    monomial_exponents,
    stack,
    term_values,
)

#: Fewer rows than this are answered with their mean.
MINIMUM_ROWS = 3

#: Fewest rows that a degree is tried with. Between its folds a Lasso chooses among tens of terms at degree 2
#: and hundreds at degree 3, and finds one that fits a handful of rows by chance.
_ROWS_FOR_DEGREE = {2: 10, 3: 50}

#: The least penalty tried, as a part of the one that leaves no term.
_LEAST_PENALTY = 1e-4

#: Targets below this part of the median weigh, and have logarithms, as if they were there: a power near idle
#: would otherwise count more than all others together.
_FLOOR = 0.02

#: A higher degree is taken where it brings the error of cross-validation below this part of the lower degree's.
_HIGHER_DEGREE_GAIN = 0.98

_SCALERS = ("standard", "minmax", "none")


class NeuralPowerPredictor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Sparse polynomial regression after NeuralPower (arXiv 1710.05420), with scikit-learn's contract.

    All products of a layer's sizes up to a degree, and special terms (operations, memory accesses), are
    candidates; a Lasso keeps few of them, its penalty chosen by cross-validation. Columns that are constant
    or copies of each other in training are dropped first. NeuralPower scores relative errors (RMSPE);
    `relative` makes that what is minimised.

    Outside the range that it was trained in a polynomial goes anywhere. Predictions are therefore limited to
    the range of the training targets widened by `range_factor` at both ends, and are never negative. Below 3
    rows the prediction is the mean of the targets (weighted as the fit is); below 10 rows the degree is 1,
    below 50 at most 2.

    Args:
        kind: The kind of layer, a `LayerKind` or its name.
        degree: Highest total degree of the products; of several, cross-validation chooses.
        log_features: Make the terms of log(1 + feature) instead of the feature.
        log_target: Fit the target's logarithm.
        relative: Weigh rows by 1 / target², so that relative errors are minimised; a fitted logarithm does
            that already, and the two together change nothing.
        scaler: How terms are scaled before they are penalised: `standard`, `minmax` or `none`.
        special_terms: Whether the special features are candidates, each a term of its own; with `log_features`
            their products up to the degree too, for a logarithm of operations per access is a sum of theirs.
        positive: Let no term lower the sum.
        folds: Folds of the choice of penalty; by network where `fit` is told of at least three.
        alphas: Number of penalties tried.
        range_factor: From the least training target divided by it to the greatest times it is predicted.
        seed: Of the assignment of rows to folds.

    Attributes:
        polynomial_: What was fitted.
        degree_: The degree that it has; 0 for a mean.
        alpha_: The penalty that was chosen; None for a mean.
        note_: What was simplified for want of rows; empty where nothing was.
    """

    def __init__(
        self,
        kind: LayerKind | str = LayerKind.CONVOLUTIONAL,
        *,
        degree: int | Sequence[int] = 2,
        log_features: bool = False,
        log_target: bool = False,
        relative: bool = True,
        scaler: str = "standard",
        special_terms: bool = True,
        positive: bool = False,
        folds: int = 5,
        alphas: int = 40,
        range_factor: float = 10.0,
        seed: int = 0,
    ) -> None:
        self.kind = kind
        self.degree = degree
        self.log_features = log_features
        self.log_target = log_target
        self.relative = relative
        self.scaler = scaler
        self.special_terms = special_terms
        self.positive = positive
        self.folds = folds
        self.alphas = alphas
        self.range_factor = range_factor
        self.seed = seed

    def fit(
        self, table: pl.DataFrame | Array, y: Array, groups: Sequence[str] | NDArray[Any] | None = None
    ) -> NeuralPowerPredictor:
        """Fit the polynomial.

        Args:
            table: One row a layer: a training table, or an array as for `feature_columns`.
            y: The target, shape (rows,), finite.
            groups: The network of each row, shape (rows,).

        Raises:
            EdgewattError: There is no row, a target is not finite, or a setting is not possible.
        """
        y = _checked_target(y)
        degrees = self._checked_degrees()
        kind = LayerKind(self.kind)
        columns = feature_columns(kind, table)
        self.n_features_in_ = len(POLYNOMIAL_FEATURES[kind])
        target, weights = self._target_and_weights(y)
        self.degree_, self.alpha_, self.note_ = 0, None, ""
        mean = constant(kind, float(np.average(target, weights=weights)), log_target=self.log_target)
        best = _Fit(np.inf, 0, None, mean)
        if len(y) < MINIMUM_ROWS:
            self.note_ = f"the mean, for want of rows ({len(y)})"
        else:
            affordable = sorted({min(degree, _affordable_degree(len(y))) for degree in degrees})
            if affordable != sorted(set(degrees)):
                self.note_ = f"degree at most {affordable[-1]}, for want of rows ({len(y)})"
            splits = inner_splits(len(y), groups, self.folds, self.seed)
            for degree in affordable:
                found = self._fit_degree(kind, columns, degree, (target, weights), splits)
                best = found if found is not None and found.error < _HIGHER_DEGREE_GAIN * best.error else best
            if best.degree == 0:
                self.note_ = "the mean, for nothing that describes the layers varies with the target"
        self.degree_, self.alpha_ = best.degree, best.alpha
        self.polynomial_ = replace(
            best.polynomial,
            lower=max(float(y.min()), 0.0) / self.range_factor,
            upper=max(float(y.max()), 0.0) * self.range_factor,
        )
        return self

    @property
    def function_(self) -> Polynomial:
        """What was fitted."""
        return self.polynomial_

    def predict(self, table: pl.DataFrame | Array) -> Array:
        """Predict the target, shape (rows,); see `Polynomial.predict`."""
        return self.polynomial_.predict(table)

    def _checked_degrees(self) -> list[int]:
        degrees = [self.degree] if isinstance(self.degree, int) else list(self.degree)
        if not degrees or min(degrees) < 1:
            raise EdgewattError(f"the degree {self.degree} is not possible", fix="Give whole numbers from 1")
        if self.scaler not in _SCALERS:
            raise EdgewattError(f"there is no scaler {self.scaler!r}", fix=f"Choose one of {', '.join(_SCALERS)}")
        if self.folds < 2 or self.alphas < 1 or self.range_factor < 1.0:
            raise EdgewattError("folds must be at least 2, alphas 1 and the range factor 1")
        return degrees

    def _target_and_weights(self, y: Array) -> tuple[Array, Array]:
        floor = _FLOOR * float(np.median(np.abs(y)))
        if floor == 0.0:
            floor = _FLOOR * float(np.abs(y).max()) or 1.0
        if self.log_target:
            return np.log(np.maximum(y, floor)), np.ones(len(y))
        weights = (floor / np.maximum(np.abs(y), floor)) ** 2 if self.relative else np.ones(len(y))
        return y, weights / weights.mean()

    def _fit_degree(
        self,
        kind: LayerKind,
        columns: dict[str, Array],
        degree: int,
        target_and_weights: tuple[Array, Array],
        splits: list[Split],
    ) -> _Fit | None:
        """Choose a penalty for the polynomials of one degree and fit it; None where all terms are constant."""
        names, exponents = self._candidates(kind, columns, degree)
        values = stack(columns, names)
        terms = term_values(np.log1p(values) if self.log_features else values, exponents)
        kept = informative(terms)
        if len(kept) == 0:
            return None
        centre, scale = self._scaling(terms[:, kept])
        scaled = (terms[:, kept] - centre) / scale
        target, weights = target_and_weights
        penalties = _penalties(scaled, target, weights, self.positive, self.alphas)
        if penalties is None:
            return None
        lasso = LassoCV(alphas=penalties, cv=splits, positive=self.positive, precompute=True, max_iter=2000, tol=1e-4)
        with warnings.catch_warnings():
            # The least penalties may not converge; they then score badly and are not chosen.
            warnings.simplefilter("ignore", ConvergenceWarning)
            lasso.fit(scaled, target, sample_weight=weights)
        chosen = np.flatnonzero(lasso.coef_)
        used = exponents[kept][chosen]
        present = np.flatnonzero(used.any(axis=0))
        polynomial = Polynomial(
            kind=kind,
            features=tuple(names[index] for index in present),
            exponents=used[:, present],
            centre=centre[chosen],
            scale=scale[chosen],
            coefficients=lasso.coef_[chosen],
            intercept=float(lasso.intercept_),
            log_features=self.log_features,
            log_target=self.log_target,
        )
        error = float(lasso.mse_path_.mean(axis=-1).min())
        return _Fit(error, degree, float(lasso.alpha_), polynomial)

    def _candidates(
        self, kind: LayerKind, columns: dict[str, Array], degree: int
    ) -> tuple[list[str], NDArray[np.int64]]:
        """Names of features and the exponents of the candidate terms made of them."""
        names = list(POLYNOMIAL_FEATURES[kind])
        kept = informative(stack(columns, names))
        names = [names[index] for index in kept]
        special = list(SPECIAL_FEATURES[kind]) if self.special_terms else []
        products = monomial_exponents(len(names), degree)
        special_products = monomial_exponents(len(special), degree if self.log_features else 1)
        exponents = np.zeros((len(products) + len(special_products), len(names) + len(special)), np.int64)
        exponents[: len(products), : len(names)] = products
        exponents[len(products) :, len(names) :] = special_products
        return [*names, *special], exponents

    def _scaling(self, terms: Array) -> tuple[Array, Array]:
        if self.scaler == "standard":
            return terms.mean(axis=0), terms.std(axis=0)
        if self.scaler == "minmax":
            return terms.min(axis=0), np.ptp(terms, axis=0)
        return np.zeros(terms.shape[1]), np.ones(terms.shape[1])


@dataclass(frozen=True)
class _Fit:
    """A polynomial and its cross-validated error, in the squared unit of what was fitted."""

    error: float
    degree: int
    alpha: float | None
    polynomial: Polynomial


def _checked_target(y: Array) -> Array:
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1 or len(y) == 0:
        raise EdgewattError("a predictor needs at least one row to be trained on")
    if not np.isfinite(y).all():
        raise EdgewattError("a target to be trained on is missing or not finite")
    return y


def _affordable_degree(rows: int) -> int:
    allowed = [degree for degree, least in _ROWS_FOR_DEGREE.items() if rows >= least]
    # From the last degree's rows on there is no limit.
    return 99 if len(allowed) == len(_ROWS_FOR_DEGREE) else max(allowed, default=1)


def _penalties(scaled: Array, target: Array, weights: Array, positive: bool, count: int) -> Array | None:
    """Penalties from the least that leaves no term, downwards in even ratios; None where none has a term."""
    centred = target - np.average(target, weights=weights)
    slopes = (scaled - np.average(scaled, axis=0, weights=weights)).T @ (weights * centred) / weights.sum()
    greatest = float(slopes.max() if positive else np.abs(slopes).max())
    if not greatest > 0.0:
        return None
    return np.geomspace(greatest, greatest * _LEAST_PENALTY, count)
