"""Trees as arrays say what scikit-learn says, and find their leaves by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from edgewatt.predictors.forest import LEAF, Forest, forest_from_sklearn, six_digits


def test_a_tree_by_hand() -> None:
    forest = Forest(
        roots=np.array([0, 3]),
        feature=np.array([1, LEAF, LEAF, LEAF]),
        threshold=np.array([2.5, 0.0, 0.0, 0.0]),
        left=np.array([1, 1, 2, 3]),
        right=np.array([2, 1, 2, 3]),
        value=np.array([0.0, 10.0, 20.0, 7.0]),
    )
    rows = np.array([[9.0, 2.5], [0.0, 2.6]])
    assert forest.predict_trees(rows).tolist() == [[10.0, 7.0], [20.0, 7.0]]
    assert forest.leaves(rows).tolist() == [[1, 3], [2, 3]]


def test_says_what_scikit_learn_says() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 5))
    y = x[:, 0] ** 2 + np.sin(3 * x[:, 1])
    ensemble = ExtraTreesRegressor(10, random_state=0).fit(x, y)
    forest = forest_from_sklearn(ensemble.estimators_)
    new = random.normal(size=(300, 5))
    assert forest.predict_trees(new).mean(axis=1) == pytest.approx(ensemble.predict(new), abs=1e-4)


def test_six_digits() -> None:
    assert six_digits(np.array([123456789.0, -0.00012345678, 0.0])).tolist() == [123457000.0, -0.000123457, 0.0]
