"""The default predictor: a layer's costs after physics, corrected by extremely randomised trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.anchors import fit_anchors
from edgewatt.predictors.cost_model import CostMean, CostModel, fit_cost_model
from edgewatt.predictors.forest import forest_from_sklearn
from edgewatt.predictors.measured_amounts import MeasuredAmounts, amounts_of_others, runtimes_ms
from edgewatt.predictors.physical_features import (
    BOARD_FEATURES,
    BOARD_POWER_TERMS,
    COARSE_COST_TERMS,
    DISTANCE_FEATURES,
    FINE_COST_TERMS,
    cost_terms,
    power_terms,
)
from edgewatt.predictors.physics import (
    LayerAmounts,
    concatenated,
    differs_by_board,
    is_detailed,
    layer_amounts,
)
from edgewatt.predictors.physics_function import PhysicsFunction, log_costs, tree_columns, tree_features
from edgewatt.predictors.search_space import SearchSpace, Span
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import Array

#: Share of the costs in the logarithm of what is predicted, chosen by cross-validation and by extrapolation: the
#: costs extrapolate a runtime well; a power, which saturates, they do only half.
_SHARE = {Target.POWER: 0.5, Target.RUNTIME: 1.0}

#: From the least training target divided by it to the greatest times it is predicted. Runtimes span decades and
#: the costs extrapolate them; no layer draws several times the power of all others.
_RANGE_FACTOR = {Target.POWER: 2.0, Target.RUNTIME: 1000.0}

#: Targets below this part of the median count as if they were there: they have a logarithm then, and a power near
#: idle does not count more than all others together.
_FLOOR = 0.02

#: From so many rows on leaves hold two, from twice as many three, so that files stay small.
_ROWS_A_LEAF = 1500


#: When costs are fitted, all rows of other kinds together count as this share of the kind's own rows, and at least as
#: so many of them: a dozen rows of one size cannot tell a launch from a byte.
_SHARE_OF_OTHERS = 0.1
_LEAST_OF_OTHERS = 50.0

#: What a search for better settings chooses from. More trees change little and cost time, so they stay as they are.
SEARCH_SPACES: Mapping[Target, SearchSpace] = {
    target: {
        "share": Span(0.0, 1.0, usual=_SHARE[target]),
        "max_features": Span(0.2, 1.0, usual=0.5),
        "min_samples_leaf": Span(1, 8, usual=1, whole=True, log=True),
    }
    for target in Target
}


class PhysicsPredictor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Costs times a learned correction, with scikit-learn's contract; see `PhysicsFunction`.

    The costs are non-negative sums of terms that a layer's time and power are made of: a launch, operations, padded
    operations, bytes. The correction of their logarithm is learned by extremely randomised trees (Geurts, Ernst and
    Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006) from the layer's amounts, its arithmetic
    intensity, how well its matrix product fills blocks, and the rates that the costs imply.

    Args:
        kind: The kind of layer, a `LayerKind` or its name.
        target: What is predicted, a `Target` or its name.
        trees: Number of trees.
        share: Share of the costs in the logarithm of what is predicted; None for the usual one of the target.
        max_features: Share of the features that each split of a tree chooses from.
        min_samples_leaf: Rows that each leaf of a tree holds at least; None for one, and more where there are many.
        seed: Of the trees.

    Attributes:
        function_: What was fitted.
        note_: What was simplified; empty where nothing was.
    """

    def __init__(
        self,
        kind: LayerKind | str = LayerKind.CONVOLUTIONAL,
        target: Target | str = Target.RUNTIME,
        *,
        trees: int = 64,
        share: float | None = None,
        max_features: float = 0.5,
        min_samples_leaf: int | None = None,
        seed: int = 0,
    ) -> None:
        self.kind = kind
        self.target = target
        self.trees = trees
        self.share = share
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.seed = seed

    def fit(
        self,
        table: pl.DataFrame,
        y: Array,
        groups: Sequence[str] | NDArray[Any] | None = None,
        others: Mapping[LayerKind, pl.DataFrame] | None = None,
    ) -> PhysicsPredictor:
        """Fit costs and trees.

        Args:
            table: A training table, one row a layer; a power's costs use its runtimes where it has them.
            y: The target, shape (rows,), finite.
            groups: The network of each row, shape (rows,).
            others: Training tables of other kinds. A launch, an operation and a byte cost much the same there, so
                they settle what this kind's rows leave open: where all have one row, a dense layer's operations
                cannot be told from its weights.

        Raises:
            EdgewattError: There is no row, or a target is not finite.
        """
        kind, target = LayerKind(self.kind), Target(self.target)
        detailed = is_detailed(table)
        known = amounts_of_others(others or {}, kind, target, detailed)
        self.n_features_in_ = table.width
        self.note_ = ""
        self.function_ = fit_physics(
            MeasuredAmounts(layer_amounts(kind, table, detailed), np.asarray(y, dtype=np.float64), runtimes_ms(table)),
            groups,
            kind=kind,
            target=target,
            others=known,
            detailed=detailed,
            trees=self.trees,
            share=self.share,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf,
            seed=self.seed,
        )
        return self

    def predict(self, table: pl.DataFrame) -> Array:
        """Predict the target, shape (rows,)."""
        return self.function_.predict(table)


def fit_physics(
    layers: MeasuredAmounts,
    networks: Sequence[str] | NDArray[Any] | None,
    *,
    kind: LayerKind | None,
    target: Target,
    detailed: bool,
    others: MeasuredAmounts | None = None,
    trees: int = 64,
    share: float | None = None,
    max_features: float = 0.5,
    min_samples_leaf: int | None = None,
    seed: int = 0,
) -> PhysicsFunction:
    """Fit costs and trees to layers given by their amounts.

    Args:
        layers: The layers, n of them.
        networks: The network of each layer.
        kind: The kind of all of them; None where there are several.
        target: What is predicted.
        detailed: How they are described, see `layer_amounts`.
        others: Layers of other kinds, which settle what these leave open of the costs.
        trees: Number of trees.
        share: Share of the costs in the logarithm of what is predicted; None for the usual one of the target.
        max_features: Share of the features that each split chooses from.
        min_samples_leaf: Rows that each leaf holds at least; None for one, and more where there are many rows.
        seed: Of the trees.

    Raises:
        EdgewattError: There is no row, or a target is not finite.
    """
    amounts, y = layers.amounts, layers.y
    if len(y) == 0 or not np.isfinite(y).all():
        raise EdgewattError("a predictor needs at least one row, and finite targets")
    positive = _positive(y)
    time, power = _costs(layers, others, target)
    features = tree_features(amounts, time)
    share = _SHARE[target] if share is None else share
    corrected = np.log(positive) - share * log_costs(amounts, time, power)
    names = _varying(features, amounts)
    ensemble = ExtraTreesRegressor(
        trees,
        min_samples_leaf=1 + len(y) // _ROWS_A_LEAF if min_samples_leaf is None else min_samples_leaf,
        max_features=max_features,
        n_jobs=2 if len(y) > 300 else 1,
        random_state=seed,
    )
    columns = tree_columns(features, amounts, names)
    ensemble.fit(columns if names else np.zeros((len(y), 1)), corrected)
    distances_in = [name for name in DISTANCE_FEATURES if kind is None or np.ptp(features[name]) > 0 or "log" in name]
    factor = _RANGE_FACTOR[target]
    return PhysicsFunction(
        kind=kind,
        target=target,
        detailed=detailed,
        features=tuple(names),
        time=time,
        power=power,
        share=share,
        fades=target is Target.RUNTIME,
        forest=forest_from_sklearn(ensemble.estimators_),
        residual=float(corrected.std()),
        anchors=fit_anchors(features, distances_in, networks, seed),
        lower=float(positive.min()) / factor,
        upper=float(positive.max()) * factor,
    )


def _positive(y: Array) -> Array:
    floor = _FLOOR * float(np.median(np.abs(y)))
    if floor == 0.0:
        floor = _FLOOR * float(np.abs(y).max()) or 1e-9
    return np.maximum(y, floor)


def _costs(
    layers: MeasuredAmounts, others: MeasuredAmounts | None, target: Target
) -> tuple[CostMean, CostModel | None]:
    """Costs of the runtime, and of the power where that is the target."""
    parts = [layers] if others is None else [layers, others]
    amounts = concatenated([part.amounts for part in parts])
    y = np.concatenate([_positive(part.y) for part in parts])
    weights = np.ones(len(y))
    if others is not None:
        weights[len(layers.y) :] = max(_SHARE_OF_OTHERS * len(layers.y), _LEAST_OF_OTHERS) / len(others.y)
    terms = cost_terms(amounts)
    if target is Target.RUNTIME:
        return _time_costs(terms, y, weights), None
    # Without runtimes there are no rates; each layer then counts as lasting as long.
    runtimes = [np.ones(len(part.y)) if part.runtime_ms is None else _positive(part.runtime_ms) for part in parts]
    time = _time_costs(terms, np.concatenate(runtimes), weights)
    used = power_terms(amounts, time.predict(terms))
    if not differs_by_board(amounts):
        used = {name: values for name, values in used.items() if name not in BOARD_POWER_TERMS}
    return time, fit_cost_model(used, y, weights)


def _time_costs(terms: Mapping[str, Array], runtime: Array, weights: Array) -> CostMean:
    fine, coarse = ({name: terms[name] for name in names} for names in (FINE_COST_TERMS, COARSE_COST_TERMS))
    return CostMean(
        (fit_cost_model(fine, runtime, weights), fit_cost_model(coarse, runtime, weights, robust=False)),
    )


def _varying(features: dict[str, Array], amounts: LayerAmounts) -> list[str]:
    """Names of columns that differ between rows, operations among them."""
    names = [name for name, values in features.items() if np.ptp(values) > 1e-9]
    if not differs_by_board(amounts):
        names = [name for name in names if name not in BOARD_FEATURES]
    operations = sorted(set(amounts.operations) - {""})
    return names + ([f"is {name}" for name in operations] if len(operations) > 1 else [])
