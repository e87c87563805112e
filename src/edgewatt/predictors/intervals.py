"""Intervals that hold for layers and networks that were not trained on (conformal prediction).

Every layer is predicted by a predictor that was trained without its network. How far the logarithm was off, in units
of how sure the predictor was, is a score; the interval of a new layer reaches as far as 90 % of these scores did.
With exchangeable networks it covers 90 % of new layers, whatever the predictor (Vovk, Gammerman and Shafer,
"Algorithmic Learning in a Random World", 2005; scores out of folds after Barber et al., "Predictive inference with
the jackknife+", arXiv 1905.02928; normalised after Papadopoulos et al., "Regression conformal prediction with nearest
neighbours", arXiv 1401.3880).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp

import numpy as np
from numpy.typing import NDArray

from edgewatt.predictors.estimate import Estimate
from edgewatt.predictors.network_prediction import Interval
from edgewatt.predictors.terms import Array

#: Share of new layers, and of new networks, that an interval is meant to hold.
LEVEL = 0.9

#: A target below this part of the median counts as if it was there, as it does in training: it has a logarithm then.
_FLOOR = 0.02

#: No interval is wider than a factor of this on either side.
_WIDEST = 100.0


@dataclass(frozen=True)
class Coverage:
    """How often intervals held what was measured, each fold's with the scores of the others.

    Attributes:
        mean: Share of all rows.
        least: Share in the worst fold.
        greatest: Share in the best fold.
        rows: Number of rows.
    """

    mean: float
    least: float
    greatest: float
    rows: int


def log_errors(true: Array, estimate: Estimate) -> Array:
    """Logarithms of true over predicted, shape (rows,)."""
    floor = _FLOOR * float(np.median(np.abs(true))) if len(true) else 0.0
    floor = floor or 1e-9
    errors: Array = np.log(np.maximum(true, floor)) - np.log(np.maximum(estimate.value, floor))
    return errors


def conformal_factor(scores: Array) -> float | None:
    """The score that 90 % of new scores stay below; None where there are too few scores to tell.

    Args:
        scores: Of layers or networks that were not trained on, shape (n,), none negative.
    """
    rank = ceil((len(scores) + 1) * LEVEL)
    return None if rank > len(scores) else max(float(np.sort(scores)[rank - 1]), 1e-6)


def cross_coverage(scores: Array, folds: NDArray[np.int64]) -> Coverage | None:
    """Coverage of each fold by the factor that the other folds give; None where there are too few scores to tell.

    Args:
        scores: Scores out of folds, shape (n,).
        folds: Number of each row's fold.
    """
    shares = fold_coverage(scores, folds)
    if not shares:
        return None
    sizes = [int((folds == fold).sum()) for fold in shares]
    mean = float(np.average(list(shares.values()), weights=sizes))
    return Coverage(mean, min(shares.values()), max(shares.values()), len(scores))


def fold_coverage(scores: Array, folds: NDArray[np.int64]) -> dict[int, float]:
    """The share of each fold's rows that the factor of the other folds holds.

    Args:
        scores: Scores out of folds, shape (n,).
        folds: Number of each row's fold.

    Returns:
        A share by number of the fold; nothing where the others are too few for a factor.
    """
    shares = {}
    for fold in np.unique(folds):
        factor = conformal_factor(scores[folds != fold])
        if factor is None:
            return {}
        shares[int(fold)] = float((scores[folds == fold] <= factor).mean())
    return shares


def interval(value: float, spread: float, factor: float) -> Interval:
    """The interval of a positive value.

    Args:
        value: What is predicted.
        spread: How sure that is, see `Estimate`.
        factor: See `conformal_factor`.
    """
    width = min(exp(min(spread * factor, 50.0)), _WIDEST)
    return Interval(value / width, value * width)
