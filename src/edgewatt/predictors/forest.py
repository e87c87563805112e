"""Trees as arrays: predicting needs numpy alone, whichever library grew them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.predictors.terms import Array

#: Marks a leaf in the place of a feature.
LEAF = -1

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Forest:
    """Regression trees, the nodes of all of them one after another.

    Attributes:
        roots: Index of each tree's first node, shape (trees,).
        feature: Column that a node splits on, `LEAF` for a leaf, shape (nodes,).
        threshold: A row goes left where the column is at most this; at a leaf unused, shape (nodes,).
        left: Index of the left child, shape (nodes,); a leaf's own.
        right: Index of the right child, shape (nodes,); a leaf's own.
        value: What a leaf predicts, shape (nodes,).
    """

    roots: Integers
    feature: Integers
    threshold: Array
    left: Integers
    right: Integers
    value: Array

    def predict_trees(self, features: Array) -> Array:
        """What each tree says, shape (rows, trees).

        Args:
            features: Shape (rows, columns).
        """
        values: Array = self.value[self.leaves(features)]
        return values

    def leaves(self, features: Array) -> Integers:
        """Index of the leaf that each row arrives at in each tree, shape (rows, trees).

        Args:
            features: Shape (rows, columns).
        """
        rows = np.arange(len(features))[:, None]
        node: Integers = np.broadcast_to(self.roots, (len(features), len(self.roots))).copy()
        while True:
            split = self.feature[node]
            if (split == LEAF).all():
                return node
            # A leaf is its own child, so rows that have arrived stay.
            goes_left = features[rows, np.maximum(split, 0)] <= self.threshold[node]
            node = np.where(goes_left, self.left[node], self.right[node])


def forest_from_sklearn(estimators: list[Any]) -> Forest:
    """The trees of a scikit-learn ensemble, numbers rounded to six digits so that files stay small."""
    parts: list[tuple[Any, int]] = []
    start = 0
    for estimator in estimators:
        parts.append((estimator.tree_, start))
        start += estimator.tree_.node_count
    return Forest(
        roots=np.array([first for _, first in parts], dtype=np.int64),
        feature=np.concatenate([np.where(_is_leaf(tree), LEAF, tree.feature) for tree, _ in parts]).astype(np.int64),
        threshold=np.concatenate([np.where(_is_leaf(tree), 0.0, six_digits(tree.threshold)) for tree, _ in parts]),
        left=np.concatenate([_children(tree, tree.children_left, first) for tree, first in parts]),
        right=np.concatenate([_children(tree, tree.children_right, first) for tree, first in parts]),
        value=np.concatenate([np.where(_is_leaf(tree), six_digits(tree.value[:, 0, 0]), 0.0) for tree, _ in parts]),
    )


def six_digits(values: Array) -> Array:
    """Values rounded to six significant digits."""
    size = np.abs(values)
    exponent = np.floor(np.log10(np.where(size > 0.0, size, 1.0)))
    places = 10.0 ** (5.0 - exponent)
    rounded: Array = np.round(values * places) / places
    return rounded


def _is_leaf(tree: Any) -> NDArray[np.bool_]:
    leaf: NDArray[np.bool_] = tree.children_left == LEAF
    return leaf


def _children(tree: Any, children: Integers, first: int) -> Integers:
    own = np.arange(tree.node_count)
    found: Integers = np.where(_is_leaf(tree), own, children).astype(np.int64) + first
    return found
