"""What moves a predictor from one board or power mode to another: a factor that follows from a few physical features.

    log(target's value / source's value) = constant + sum of slope x feature, within what was seen

A mode that changes the GPU's clock and not the memory's slows what computes and not what waits for bytes, so the factor
depends on what a layer waits for: on its rates of operations and bytes, as the source's predictor has them.

All kinds of layer share the slopes, and each has an offset. Slopes and offsets are held back by a penalty (ridge
regression; A. Hoerl and R. Kennard, Technometrics 12, 1970), the constant is not: with a strong penalty a plain scale
is left. Every network counts the same, and layers that are further off than the others count less (P. J. Huber, "Robust
estimation of a location parameter", 1964): a short layer's power may be off by a factor. Of the penalties the strongest
is taken that is worse than the best by less than a standard error of the difference, network by network (after L.
Breiman et al., "Classification and Regression Trees", 1984): with a few networks the least error is often so by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.physics import LayerAmounts
from edgewatt.predictors.terms import Array

#: The features, in order.
FEATURES = ("log value", "log time", "log macs rate", "log bytes rate", "depthwise")
#: Penalties that are chosen from, the weakest first; infinite for a plain scale.
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, np.inf)
_TINY = 1e-9
#: Errors above so many standard deviations count less: the usual value; and the least deviation, in the logarithm.
_HUBER, _LEAST_DEVIATION = 1.345, 0.01
_ROUNDS = 6


@dataclass(frozen=True)
class Correction:
    """The factor of a kind's layers.

    Attributes:
        constant: Logarithm of it where all features are 0.
        slopes: Of each of `FEATURES`, for the logarithm; those that are 0 may be absent.
        lower: Least logarithm.
        upper: Greatest logarithm.
    """

    constant: float
    slopes: Mapping[str, float]
    lower: float
    upper: float

    def log_factor(self, features: Mapping[str, Array]) -> Array:
        """The factor's logarithm for layers, shape (n,)."""
        total = np.full(len(next(iter(features.values()))), self.constant)
        for name, slope in self.slopes.items():
            total = total + slope * features[name]
        kept: Array = np.clip(total, self.lower, self.upper)
        return kept


@dataclass(frozen=True, eq=False)
class CorrectionRows:
    """Layers that were measured on the target, n of them, of one target value.

    Attributes:
        features: Each of `FEATURES`, shape (n,).
        kinds: Kind of each.
        groups: What each belongs to when some are left out: its network, shape (n,).
        log_ratio: Logarithm of measured over what the source predicts, shape (n,).
        trust: How much each layer counts beside the others of its network, shape (n,), positive.
    """

    features: Mapping[str, Array]
    kinds: NDArray[np.str_]
    groups: NDArray[np.int64]
    log_ratio: Array
    trust: Array

    def take(self, rows: NDArray[np.bool_]) -> CorrectionRows:
        """Some of the layers."""
        features = {name: values[rows] for name, values in self.features.items()}
        return CorrectionRows(features, self.kinds[rows], self.groups[rows], self.log_ratio[rows], self.trust[rows])


def correction_features(amounts: LayerAmounts, value: Array, time: Array | None) -> dict[str, Array]:
    """The features of layers, each of shape (n,).

    Args:
        amounts: The layers.
        value: What the source predicts of them, positive.
        time: Their runtimes as far as the source's predictor knows them; None where it does not.
    """
    log_time = np.zeros(len(value)) if time is None else np.log(time)
    return {
        "log value": np.log(value),
        "log time": log_time,
        "log macs rate": np.log1p(amounts["macs"]) - log_time,
        "log bytes rate": np.log1p(amounts.total_bytes) - log_time,
        "depthwise": amounts["depthwise"],
    }


def fit_corrections(rows: CorrectionRows, strength: float) -> dict[LayerKind | None, Correction]:
    """The correction of every kind, and under None that of any.

    Args:
        rows: At least one measured layer.
        strength: The penalty, one of `STRENGTHS`.
    """
    usual = _weights(rows)
    weights, corrections = usual, _fit_once(rows, usual, strength)
    for _ in range(_ROUNDS):
        errors = np.abs(rows.log_ratio - log_factors(rows, corrections))
        weights = usual * np.minimum(1.0, _limit(errors) / np.maximum(errors, _TINY))
        corrections = _fit_once(rows, weights / weights.sum(), strength)
    return corrections


def _fit_once(rows: CorrectionRows, weights: Array, strength: float) -> dict[LayerKind | None, Correction]:
    """The corrections with the least weighted squared error; weights add up to 1."""
    mean = float(weights @ rows.log_ratio)
    lower, upper = float(rows.log_ratio.min()), float(rows.log_ratio.max())
    if not np.isfinite(strength):
        plain = Correction(mean, {}, lower, upper)
        return dict.fromkeys((*LayerKind, None), plain)
    columns = np.column_stack([rows.features[name] for name in FEATURES])
    centre = weights @ columns
    scale = np.sqrt(weights @ (columns - centre) ** 2)
    used = scale > _TINY
    scaled = np.where(used, (columns - centre) / np.where(used, scale, 1.0), 0.0)
    offsets = np.column_stack([(rows.kinds == kind.value).astype(np.float64) for kind in LayerKind])
    found = _ridge(np.hstack([scaled, offsets]), rows.log_ratio, weights, strength)
    slopes = np.where(used, found[1 : 1 + len(FEATURES)] / np.where(used, scale, 1.0), 0.0)
    constant = float(found[0] - slopes @ centre)
    by_name = {name: float(slope) for name, slope in zip(FEATURES, slopes, strict=True) if slope != 0.0}
    result: dict[LayerKind | None, Correction] = {None: Correction(constant, by_name, lower, upper)}
    for kind, offset in zip(LayerKind, found[1 + len(FEATURES) :], strict=True):
        result[kind] = Correction(constant + float(offset), by_name, lower, upper)
    return result


def choose_strength(rows: CorrectionRows) -> float:
    """The strongest penalty that is as good as any on groups left out; a plain scale for under three groups."""
    groups = np.unique(rows.groups)
    if len(groups) < 3:
        return float("inf")
    errors = {strength: _squared_errors(rows, groups, strength) for strength in STRENGTHS}
    best = min(errors, key=lambda strength: float(np.mean(errors[strength])))
    worse = {strength: np.subtract(found, errors[best]) for strength, found in errors.items()}
    root = np.sqrt(len(groups))
    return max(strength for strength, more in worse.items() if more.mean() <= more.std(ddof=1) / root)


def log_factors(rows: CorrectionRows, corrections: Mapping[LayerKind | None, Correction]) -> Array:
    """The factor's logarithm of every row, shape (n,)."""
    result = np.zeros(len(rows.log_ratio))
    for kind in LayerKind:
        own = rows.kinds == kind.value
        if own.any():
            result[own] = corrections[kind].log_factor({name: values[own] for name, values in rows.features.items()})
    return result


def _squared_errors(rows: CorrectionRows, groups: NDArray[np.int64], strength: float) -> list[float]:
    """Mean squared error of each group, left out in turn."""
    found = []
    for group in groups:
        left_out = rows.groups == group
        corrections = fit_corrections(rows.take(~left_out), strength)
        test = rows.take(left_out)
        off = np.abs(test.log_ratio - log_factors(test, corrections))
        found.append(float(np.average(np.minimum(off, _limit(off)) ** 2, weights=test.trust)))
    return found


def _limit(errors: Array) -> float:
    """Errors above this count less."""
    return _HUBER * max(1.4826 * float(np.median(errors)), _LEAST_DEVIATION)


def _weights(rows: CorrectionRows) -> Array:
    """Weights that add up to 1, every group's to the same."""
    _, place = np.unique(rows.groups, return_inverse=True)
    totals = np.bincount(place, weights=rows.trust)
    weights: Array = rows.trust / (totals[place] * len(totals))
    return weights


def _ridge(columns: Array, y: Array, weights: Array, strength: float) -> Array:
    """A constant and coefficients, all but the constant penalised as so many average rows would."""
    design = np.column_stack([np.ones(len(y)), columns])
    weighted = design * (weights * len(y))[:, None]
    penalty = np.diag(np.append(0.0, np.full(columns.shape[1], strength)))
    found: Array = np.linalg.solve(design.T @ weighted + penalty, weighted.T @ y)
    return found
