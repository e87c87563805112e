"""How far predictions are from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.predictors.terms import Array

#: Values that differ by less than this part of the greatest are equal but for rounding in how they were worked out.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Scores:
    """Errors over all rows together.

    Attributes:
        mape: Mean absolute relative error, a fraction; None where every true value is 0.
        rmspe: Root mean square relative error, a fraction; None where every true value is 0.
        rmse: Root mean square error, in the target's unit.
        mae: Mean absolute error, in the target's unit.
        r2: Share of the variance explained; None for one row or where the true values do not vary.
        rows: Number of rows.
        networks: Number of networks that they come from.
        zero_rows: Rows whose true value is 0, which the relative errors leave out.
        median: Median absolute relative error, a fraction; None where every true value is 0.
        rank_correlation: Spearman's, of the order of rows; None where there are fewer than three or none varies.
    """

    mape: float | None
    rmspe: float | None
    rmse: float
    mae: float
    r2: float | None
    rows: int
    networks: int
    zero_rows: int
    median: float | None
    rank_correlation: float | None


def scores(true: Array, predicted: Array, networks: Sequence[str] | NDArray[Any]) -> Scores:
    """Score predictions.

    Args:
        true: What was measured, shape (rows,), at least one row.
        predicted: Shape (rows,).
        networks: The network of each row.
    """
    error = predicted - true
    valid = true != 0.0
    relative = np.abs(error[valid] / true[valid])
    return Scores(
        mape=float(relative.mean()) if valid.any() else None,
        rmspe=float(np.sqrt((relative**2).mean())) if valid.any() else None,
        rmse=float(np.sqrt((error**2).mean())),
        mae=float(np.abs(error).mean()),
        r2=1.0 - float((error**2).sum() / ((true - true.mean()) ** 2).sum()) if _varies(true) else None,
        rows=len(true),
        networks=len(set(networks)),
        zero_rows=int((~valid).sum()),
        median=float(np.median(relative)) if valid.any() else None,
        rank_correlation=rank_correlation(true, predicted),
    )


def rank_correlation(true: Array, predicted: Array) -> float | None:
    """Spearman's rank correlation: whether the order is right, which is what choosing between networks needs.

    Args:
        true: Shape (rows,).
        predicted: Shape (rows,).

    Returns:
        From -1 to 1; None for fewer than three rows, or where a side does not vary.
    """
    if len(true) < 3 or not _varies(true) or not _varies(predicted):
        return None
    return float(np.corrcoef(_ranks(true), _ranks(predicted))[0, 1])


def _varies(values: Array) -> bool:
    """Whether values differ by more than rounding, so that what varies can be explained at all."""
    return bool(np.ptp(values) > _ROUNDING * np.abs(values).max())


def _ranks(values: Array) -> Array:
    """Ranks from 1, equal values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Array = (last - (counts - 1) / 2.0)[inverse]
    return ranks
