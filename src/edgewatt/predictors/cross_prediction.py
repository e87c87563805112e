"""Every layer of a training set predicted by predictors that were trained without its fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.estimate import Estimate
from edgewatt.predictors.folds import Folds
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array

if TYPE_CHECKING:
    from edgewatt.predictors.registry import Predictor

MakePredictor: TypeAlias = "Callable[[LayerKind, Target], Predictor]"


@dataclass(frozen=True, eq=False)
class CrossPrediction:
    """Predictions out of folds.

    Attributes:
        estimates: For each kind and target, of every row of the kind's table; NaN where a fold had nothing to be
            trained on and no fallback stood in.
        folds: The folds.
        by_fallback: For each kind and target whether the fallback made a row's prediction, shape (rows,).
    """

    estimates: Mapping[tuple[LayerKind, Target], Estimate]
    folds: Folds
    by_fallback: Mapping[tuple[LayerKind, Target], NDArray[np.bool_]]

    def power_and_runtime(self, kind: LayerKind) -> tuple[Array, Array]:
        """Powers in W and runtimes in s of the layers of a kind, each of shape (rows,)."""
        return self.estimates[kind, Target.POWER].value, self.estimates[kind, Target.RUNTIME].value * 1e-3

    def coverage(self) -> dict[str, int]:
        """Numbers of layers whose power and runtime were predicted, as `NetworkPrediction` counts them."""
        counts = dict.fromkeys(("predicted_layers", "fallback_layers", "uncovered_layers"), 0)
        for kind in {kind for kind, _ in self.estimates}:
            purposes = [(kind, target) for target in Target]
            known = np.all([np.isfinite(self.estimates[purpose].value) for purpose in purposes], axis=0)
            fallback = np.any([self.by_fallback[purpose] for purpose in purposes], axis=0)
            counts["predicted_layers"] += int((known & ~fallback).sum())
            counts["fallback_layers"] += int((known & fallback).sum())
            counts["uncovered_layers"] += int((~known).sum())
        return counts


def cross_predict(
    tables: Mapping[LayerKind, pl.DataFrame],
    folds: Folds,
    new_predictor: MakePredictor,
    *,
    with_fallback: bool,
    progress: Callable[[str], None] | None = None,
) -> CrossPrediction:
    """Predict every layer without its fold.

    Args:
        tables: Training tables with the column `network`.
        folds: The fold of each row.
        new_predictor: Makes an untrained predictor of a kind and target.
        with_fallback: Whether a fallback predicts where a fold leaves too few rows of a kind.
        progress: Called with the name of each kind and target before its turn.
    """
    estimates, by_fallback = {}, {}
    for kind in tables:
        for target in Target:
            if progress:
                progress(f"{kind} {target}, cross-validation")
            found = _cross_estimate(tables, folds, new_predictor, kind, target, with_fallback)
            estimates[kind, target], by_fallback[kind, target] = found
    return CrossPrediction(estimates, folds, by_fallback)


def _cross_estimate(
    tables: Mapping[LayerKind, pl.DataFrame],
    folds: Folds,
    new_predictor: MakePredictor,
    kind: LayerKind,
    target: Target,
    with_fallback: bool,
) -> tuple[Estimate, NDArray[np.bool_]]:
    # Who reads predictions imports this module too, and needs no scikit-learn, which takes a second to load.
    from edgewatt.predictors.neuralpower import MINIMUM_ROWS
    from edgewatt.predictors.registry import fit_predictor

    table, numbers = tables[kind], folds.numbers[kind]
    y = target_values(table, target)
    networks = table["network"].to_numpy().astype(np.str_)
    value, spread = np.full(len(y), np.nan), np.full(len(y), np.nan)
    distant, by_fallback = np.zeros(len(y), dtype=np.bool_), np.zeros(len(y), dtype=np.bool_)
    for fold in np.unique(numbers):
        test = np.flatnonzero(numbers == fold)
        training = np.flatnonzero((numbers != fold) & np.isfinite(y))
        found: Estimate | None = None
        if len(training) >= (MINIMUM_ROWS if with_fallback else 1):
            predictor = new_predictor(kind, target)
            rest = _training_part(tables, folds, int(fold))
            fit_predictor(predictor, table[training], y[training], networks[training], rest)
            found = predictor.function_.estimate(table[test])
        elif with_fallback:
            found = _fallback_estimate(tables, folds, int(fold), kind, target, table[test])
            by_fallback[test] = found is not None
        if found is not None:
            value[test], spread[test], distant[test] = found.value, found.spread, found.distant
    return Estimate(value, spread, distant), by_fallback


def _fallback_estimate(
    tables: Mapping[LayerKind, pl.DataFrame],
    folds: Folds,
    fold: int,
    kind: LayerKind,
    target: Target,
    rows: pl.DataFrame,
) -> Estimate | None:
    from edgewatt.predictors.fallback import fit_fallback

    function = fit_fallback(_training_part(tables, folds, fold), target)
    return None if function is None else function.estimate_kind(kind, rows)


def _training_part(tables: Mapping[LayerKind, pl.DataFrame], folds: Folds, fold: int) -> dict[LayerKind, pl.DataFrame]:
    return {kind: table.filter(pl.Series(folds.numbers[kind] != fold)) for kind, table in tables.items()}


def measured_rows(table: pl.DataFrame, target: Target) -> tuple[NDArray[np.int64], Array]:
    """Rows that have a target, and it."""
    y = target_values(table, target)
    rows = np.flatnonzero(np.isfinite(y))
    return rows, y[rows]
