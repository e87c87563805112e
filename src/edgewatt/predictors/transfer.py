"""What the source's predictors say of a target's layers, and the corrections that move them there.

Every layer is also predicted by corrections that were fitted without its group, so that intervals and scores are those
of layers that were not seen. A group is a network; where there are fewer than three of those, a tenth of the layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.adapted_function import AdaptedFunction, base_estimate
from edgewatt.predictors.correction import (
    FEATURES,
    Correction,
    CorrectionRows,
    choose_strength,
    fit_corrections,
    log_factors,
)
from edgewatt.predictors.cross_prediction import CrossPrediction
from edgewatt.predictors.estimate import Estimate
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.folds import Folds
from edgewatt.predictors.physics_function import PhysicsFunction
from edgewatt.predictors.polynomial import Polynomial
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array
from edgewatt.predictors.training_data import NETWORK, TrainingData

#: Groups that are left out in turn, at most.
_MOST_GROUPS = 10
#: From so many networks on a group is a network.
_LEAST_NETWORKS = 3
#: Targets below this part of the median count as if they were there: they have a logarithm then.
_FLOOR = 0.02


@dataclass(frozen=True, eq=False)
class SourceEstimates:
    """What the source says of all layers of the target, n of them, of one target value.

    Attributes:
        parts: Rows of each kind, in the order of its table.
        estimate: What it says, shape (n,).
        rows: Features and groups; the logarithm of the ratio is NaN where nothing was measured.
        by_fallback: Kinds that the source's predictor of all kinds answered.
    """

    parts: Mapping[LayerKind, slice]
    estimate: Estimate
    rows: CorrectionRows
    by_fallback: frozenset[LayerKind]

    @property
    def measured(self) -> CorrectionRows:
        """The layers that were measured."""
        return self.rows.take(np.isfinite(self.rows.log_ratio))

    def corrected(self, log_factor: Array) -> Estimate:
        """The estimate times a factor that is given by its logarithm, shape (n,)."""
        return replace(self.estimate, value=self.estimate.value * np.exp(log_factor))


def check_source(source: Predictors) -> None:
    """Make sure that predictors can be adapted.

    Raises:
        EdgewattError: They were adapted themselves, or serve several boards.
    """
    if source.boards:
        raise EdgewattError(
            "these predictors know boards by their figures, and answer for another without being adapted",
            fix="Name predictors of one board and power mode",
        )
    if any(isinstance(one.function, AdaptedFunction) for one in source.by_purpose.values()):
        raise EdgewattError("these predictors were adapted themselves", fix="Name those that they were adapted from")


def target_folds(data: TrainingData) -> Folds:
    """The groups of a target's layers."""
    grouping = "network" if len(data.networks) >= _LEAST_NETWORKS else "row"
    place = {name: index % _MOST_GROUPS for index, name in enumerate(data.networks)}
    numbers, begun = {}, 0
    for kind, table in data.tables.items():
        if grouping == "network":
            numbers[kind] = np.array([place[name] for name in table[NETWORK].to_list()], dtype=np.int64)
        else:
            numbers[kind] = (begun + np.arange(table.height, dtype=np.int64)) % _MOST_GROUPS
            begun += table.height
    return Folds(numbers, dict.fromkeys(data.tables, grouping))


def source_estimates(source: Predictors, data: TrainingData, folds: Folds, target: Target) -> SourceEstimates:
    """Ask the source about the target's layers.

    Args:
        source: The source's predictors.
        data: The target's tables.
        folds: The group of each layer.
        target: What is predicted.

    Raises:
        EdgewattError: No layer is of a kind that the source predicts, or none was measured.
    """
    found, features, kinds, groups, ratios, trust = [], [], [], [], [], []
    parts: dict[LayerKind, slice] = {}
    by_fallback, begun = set(), 0
    for kind, table in data.tables.items():
        stored = _stored(source, kind, target)
        if stored is None:
            continue
        assert isinstance(stored.function, PhysicsFunction | Polynomial)
        estimate, own = base_estimate(stored.function, kind, table)
        y = target_values(table, target)
        found.append(estimate)
        features.append(own)
        kinds.append(np.full(len(y), kind.value))
        groups.append(folds.numbers[kind])
        ratios.append(_log_ratio(y, estimate.value))
        # What a sensor says of a layer's power is worth as much as the time that it lasts.
        trust.append(np.exp(own["log time"]) if target is Target.POWER else np.ones(len(y)))
        parts[kind] = slice(begun, begun + len(y))
        begun += len(y)
        if stored.kind is None:
            by_fallback.add(kind)
    if not any(np.isfinite(ratio).any() for ratio in ratios):
        raise EdgewattError(
            f"no layer has a measured {target} and is of a kind that the source predicts",
            fix="Name tables of whole networks, or of layers of the kinds that the source was trained on",
        )
    return SourceEstimates(
        parts,
        Estimate(*(np.concatenate([getattr(one, name) for one in found]) for name in ("value", "spread", "distant"))),
        CorrectionRows(
            {name: np.concatenate([own[name] for own in features]) for name in FEATURES},
            np.concatenate(kinds),
            np.concatenate(groups),
            np.concatenate(ratios),
            np.concatenate(trust),
        ),
        frozenset(by_fallback),
    )


def fitted(estimates: SourceEstimates) -> tuple[float, dict[LayerKind | None, Correction]]:
    """The penalty that was chosen, and the corrections of all kinds."""
    strength = choose_strength(estimates.measured)
    return strength, fit_corrections(estimates.measured, strength)


def cross_adapted(estimates: SourceEstimates) -> Estimate:
    """Every layer by corrections whose penalty and coefficients were found without its group."""
    rows, measured = estimates.rows, estimates.measured
    log_factor = np.zeros(len(rows.log_ratio))
    for group in np.unique(rows.groups):
        others = measured.take(measured.groups != group)
        if len(others.log_ratio) == 0:
            log_factor[rows.groups == group] = np.nan
            continue
        corrections = fit_corrections(others, choose_strength(others))
        own = rows.groups == group
        log_factor[own] = log_factors(rows.take(own), corrections)
    return estimates.corrected(log_factor)


def cross_prediction(
    estimates: Mapping[Target, SourceEstimates], values: Mapping[Target, Estimate], folds: Folds
) -> CrossPrediction:
    """Estimates of all rows as predictions out of folds."""
    by_purpose: dict[tuple[LayerKind, Target], Estimate] = {}
    by_fallback: dict[tuple[LayerKind, Target], NDArray[np.bool_]] = {}
    for target, one in estimates.items():
        for kind, part in one.parts.items():
            value = values[target]
            by_purpose[kind, target] = Estimate(value.value[part], value.spread[part], value.distant[part])
            by_fallback[kind, target] = np.full(part.stop - part.start, kind in one.by_fallback)
    return CrossPrediction(by_purpose, folds, by_fallback)


def _stored(source: Predictors, kind: LayerKind, target: Target) -> StoredPredictor | None:
    return source.get(kind, target) or source.fallback.get(target)


def _log_ratio(y: Array, value: Array) -> Array:
    known = np.isfinite(y)
    floor = _FLOOR * float(np.median(np.abs(y[known]))) if known.any() else 0.0
    ratio: Array = np.log(np.maximum(y, floor or 1e-9) / np.maximum(value, 1e-12))
    return ratio
