"""How far predictions are from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.predictors.terms import Array


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
    """

    mape: float | None
    rmspe: float | None
    rmse: float
    mae: float
    r2: float | None
    rows: int
    networks: int
    zero_rows: int


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
    variation = float(((true - true.mean()) ** 2).sum())
    return Scores(
        mape=float(relative.mean()) if valid.any() else None,
        rmspe=float(np.sqrt((relative**2).mean())) if valid.any() else None,
        rmse=float(np.sqrt((error**2).mean())),
        mae=float(np.abs(error).mean()),
        r2=1.0 - float((error**2).sum()) / variation if len(true) > 1 and variation > 0.0 else None,
        rows=len(true),
        networks=len(set(networks)),
        zero_rows=int((~valid).sum()),
    )
