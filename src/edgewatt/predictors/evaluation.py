"""Scores of predictors on rows, and where there are enough on networks, that they were not trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.predictors.folds import outer_splits
from edgewatt.predictors.metrics import Scores, scores
from edgewatt.predictors.registry import Predictor
from edgewatt.predictors.terms import Array

#: At most so many folds.
FOLDS = 10


@dataclass(frozen=True)
class CrossValidation:
    """What cross-validation found.

    Attributes:
        scores: Over all rows, each predicted by the fold that it was left out of.
        grouping: `network` where each fold's networks were left out whole, `row` where single rows were.
        predicted: The predictions scored, shape (rows,).
    """

    scores: Scores
    grouping: str
    predicted: Array


def cross_validate(
    new_predictor: Callable[[], Predictor],
    table: pl.DataFrame,
    y: Array,
    networks: Sequence[str] | NDArray[Any],
    *,
    folds: int = FOLDS,
    seed: int = 0,
) -> CrossValidation:
    """Predict every row by a predictor that was trained without it.

    Folds are of networks where there are at least five, else of single rows. Each fold makes a new predictor
    and fits it to the fold's training rows alone, so that the choices that a predictor makes itself (penalty,
    degree) are nested in the fold.

    Args:
        new_predictor: Makes an untrained predictor.
        table: One row a layer.
        y: The target, shape (rows,), at least two rows.
        networks: The network of each row.
        folds: At most so many folds.
        seed: Of the assignment of rows to folds.
    """
    names = np.asarray(networks)
    grouping, splits = outer_splits(names, folds, seed)
    predicted = np.full(len(y), np.nan)
    for training, test in splits:
        predictor = new_predictor()
        predictor.fit(table[training], y[training], names[training])
        predicted[test] = predictor.predict(table[test])
    return CrossValidation(scores(y, predicted, names), grouping, predicted)
