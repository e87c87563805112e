"""The layers that were trained on, as points: how far a new layer is from the nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.predictors.forest import six_digits
from edgewatt.predictors.terms import Array, stack

#: At most so many points are kept; more do not change who is near.
_MOST_POINTS = 2000
#: A feature that varies less in training counts as if it varied so, so that any change of it is seen.
_LEAST_SCALE = 0.5
#: Shares of the training's own distances up to which a layer counts as near, and as not yet far.
_NEAR, _FAR = 0.9, 0.99
_LEAST_NEAR = 0.05
#: From so many networks on, near means near to a layer of another network.
_NETWORKS = 3


@dataclass(frozen=True, eq=False)
class Anchors:
    """Points in scaled features.

    Attributes:
        features: Names of the features.
        centre: Shape (features,).
        scale: Shape (features,), positive.
        points: Scaled features of the layers trained on, shape (points, features).
        near: Distance within which 90 % of the layers trained on have a neighbour.
        far: Distance within which 99 % have one.
    """

    features: tuple[str, ...]
    centre: Array
    scale: Array
    points: Array
    near: float
    far: float

    def distances(self, features: Mapping[str, Array]) -> Array:
        """Distance of each layer from the nearest point, shape (rows,)."""
        return _nearest(self._scaled(features), self.points)

    def _scaled(self, features: Mapping[str, Array]) -> Array:
        scaled: Array = (stack(features, self.features) - self.centre) / self.scale
        return scaled


def fit_anchors(
    features: Mapping[str, Array], names: Sequence[str], networks: Sequence[str] | NDArray[Any] | None, seed: int = 0
) -> Anchors:
    """Take layers as points.

    Args:
        features: Features of the layers, each of shape (rows,), at least one row.
        names: Those that distances are measured in.
        networks: The network of each row; None where it is not known.
        seed: Of the choice of points where there are very many layers.
    """
    values = stack(features, names)
    centre, scale = six_digits(values.mean(axis=0)), six_digits(np.maximum(values.std(axis=0), _LEAST_SCALE))
    scaled = np.round((values - centre) / scale, 4)
    groups = np.arange(len(scaled))
    if networks is not None and len(set(networks)) >= _NETWORKS:
        groups = np.unique(np.asarray(networks), return_inverse=True)[1]
    if len(scaled) > _MOST_POINTS:
        chosen = np.sort(np.random.default_rng(seed).choice(len(scaled), _MOST_POINTS, replace=False))
        scaled, groups = scaled[chosen], groups[chosen]
    own = _nearest(scaled, scaled, groups)
    own = own[np.isfinite(own)]
    near = max(float(np.quantile(own, _NEAR)) if len(own) else 0.0, _LEAST_NEAR)
    far = max(float(np.quantile(own, _FAR)) if len(own) else 0.0, 1.5 * near)
    return Anchors(tuple(names), centre, scale, np.unique(scaled, axis=0), near, far)


def _nearest(rows: Array, points: Array, groups: NDArray[np.int64] | None = None) -> Array:
    """Distance of each row from the nearest point of another group; infinite where there is none."""
    nearest = np.empty(len(rows))
    for start in range(0, len(rows), 512):
        part = slice(start, start + 512)
        squares = (rows[part] ** 2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2.0 * rows[part] @ points.T
        if groups is not None:
            squares = np.where(groups[part, None] == groups, np.inf, squares)
        nearest[part] = np.sqrt(np.maximum(squares.min(axis=1), 0.0))
    return nearest
