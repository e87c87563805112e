"""The fitted function of the physics predictor: costs that extrapolate, corrected by trees where layers are known.

    log value = share x log costs + fade x (what the trees say)       fade = min(1, near / distance)

Far from the layers trained on trees repeat what they saw last, which is worst where a layer is much larger than any
of them. There the correction fades out and the costs alone remain.

What the trees say is the mean of their middle half. A library runs similar layers by algorithms whose times differ by
factors, so that trees that disagree say one time or another, and the mean of all is none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.anchors import Anchors
from edgewatt.predictors.cost_model import CostMean, CostModel
from edgewatt.predictors.estimate import Estimate
from edgewatt.predictors.forest import Forest
from edgewatt.predictors.physical_features import cost_terms, physical_features, power_terms, rate_features
from edgewatt.predictors.physics import LayerAmounts, layer_amounts
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import Array

#: Trees count as their predictions to the minus this power when that half is taken. Near 1 the mean relative error,
#: |predicted / true - 1|, is least, but sums over layers come out low; a half has most of the gain and half of the
#: loss. Powers vary less, and lose by it. Chosen on ranges and clusters of measured convolutions that were left out
#: (0, 1/4, 1/2, 1 and 3/2 were tried for runtimes; 0, 1/2, 1 and 2 for powers).
_LEANING = {Target.POWER: 0.0, Target.RUNTIME: 0.5}

#: Quantiles of the trees that lie a standard deviation from the middle where they are spread as errors are.
_QUANTILES = (0.16, 0.84)

#: No prediction is surer than this, in the logarithm: repeated measurements of a layer differ by some per cent.
_LEAST_SPREAD = 0.03

#: A far layer's spread grows with its distance, up to this factor.
_MOST_WIDENING = 4.0


@dataclass(frozen=True, eq=False)
class PhysicsFunction:
    """Costs and trees.

    Attributes:
        kind: The kind of layer that it is for; None for all.
        target: What it predicts.
        detailed: Whether layers are described by their own bytes and precisions, see `layer_amounts`.
        features: Names of the columns that the trees split on.
        time: Costs of the runtime in ms.
        power: Costs of the power in W, made with the runtime that `time` predicts; None where the runtime is
            the target.
        share: Share of the costs in the logarithm.
        fades: Whether the trees' correction fades with distance.
        forest: The trees.
        residual: Standard deviation of what the trees correct.
        anchors: Layers that were trained on.
        lower: Least value predicted.
        upper: Greatest value predicted.
    """

    kind: LayerKind | None
    target: Target
    detailed: bool
    features: tuple[str, ...]
    time: CostMean
    power: CostModel | None
    share: float
    fades: bool
    forest: Forest
    residual: float
    anchors: Anchors
    lower: float
    upper: float

    def predict(self, table: pl.DataFrame) -> Array:
        """Predict the target, shape (rows,).

        Raises:
            EdgewattError: A column is missing.
        """
        return self.estimate(table).value

    def estimate(self, table: pl.DataFrame) -> Estimate:
        """Predict the target and how sure it is; see `predict`."""
        assert self.kind is not None, "a function for all kinds must be told which"
        return self.estimate_kind(self.kind, table)

    def estimate_kind(self, kind: LayerKind, table: pl.DataFrame) -> Estimate:
        """The same of layers of a kind, for a function for all kinds.

        Raises:
            EdgewattError: A column is missing.
        """
        return self.estimate_amounts(layer_amounts(kind, table, self.detailed))

    def leaves(self, table: pl.DataFrame) -> NDArray[np.int64]:
        """The leaf of each tree that each layer is in: layers in one leaf are not told apart, shape (rows, trees).

        Raises:
            EdgewattError: A column is missing.
        """
        assert self.kind is not None, "a function for all kinds must be told which"
        amounts = layer_amounts(self.kind, table, self.detailed)
        return self.forest.leaves(tree_columns(tree_features(amounts, self.time), amounts, self.features))

    def estimate_amounts(self, amounts: LayerAmounts) -> Estimate:
        """Predict layers given by their amounts."""
        costs = log_costs(amounts, self.time, self.power)
        features = tree_features(amounts, self.time)
        trees = self.forest.predict_trees(tree_columns(features, amounts, self.features))
        distances = self.anchors.distances(features)
        fade = np.minimum(1.0, self.anchors.near / np.maximum(distances, 1e-9))
        kept = fade if self.fades else np.ones(len(fade))
        correction = middle_mean(trees, _LEANING[self.target])
        value = np.exp(np.clip(self.share * costs + kept * correction, -700.0, 700.0))
        low, high = np.quantile(trees, _QUANTILES, axis=1)
        variance = (kept * (high - low) / 2.0) ** 2 + ((1.0 - fade) * self.residual) ** 2 + _LEAST_SPREAD**2
        widening = np.clip(distances / self.anchors.far, 1.0, _MOST_WIDENING)
        return Estimate(
            value=np.clip(value, self.lower, self.upper),
            spread=np.sqrt(variance) * widening,
            distant=distances > self.anchors.far,
        )


def middle_mean(logarithms: Array, leaning: float) -> Array:
    """Mean of the middle half of each row's values, each weighted by its exponential to the minus `leaning`.

    Args:
        logarithms: Shape (rows, values), at least one value a row.
        leaning: 0 for equal weights; the greater, the lower the mean comes out where values differ.

    Returns:
        Shape (rows,).
    """
    ordered = np.sort(logarithms, axis=1)
    weights = np.exp(-leaning * (ordered - ordered[:, :1]))
    upper = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    lower = np.hstack([np.zeros((len(upper), 1)), upper[:, :-1]])
    kept = np.maximum(np.minimum(upper, 0.75) - np.maximum(lower, 0.25), 0.0)
    mean: Array = (kept * ordered).sum(axis=1) / kept.sum(axis=1)
    return mean


def log_costs(amounts: LayerAmounts, time: CostMean, power: CostModel | None) -> Array:
    """Logarithm of the costs, shape (n,): of the power where its model is given, else of the runtime."""
    runtime = time.predict(cost_terms(amounts))
    return np.log(runtime if power is None else power.predict(power_terms(amounts, runtime)))


def tree_features(amounts: LayerAmounts, time: CostMean) -> dict[str, Array]:
    """Everything that trees may split on and distances are measured in, by name."""
    return {**physical_features(amounts), **rate_features(amounts, time.predict(cost_terms(amounts)))}


def tree_columns(features: dict[str, Array], amounts: LayerAmounts, names: Sequence[str]) -> Array:
    """The columns that trees split on, shape (n, names); `is max` is 1 where a layer's operation is `max`."""
    columns = []
    for name in names:
        operation = name.removeprefix("is ")
        columns.append(
            features[name]
            if operation == name
            else np.array([float(own == operation) for own in amounts.operations], dtype=np.float64)
        )
    return np.column_stack(columns) if columns else np.zeros((len(amounts), 0))
