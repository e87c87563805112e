"""The mean."""

from __future__ import annotations

import numpy as np
import pytest

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.baselines import MeanPredictor

ROWS = np.array([[1.0, 4.0, 10.0], [2.0, 3.0, 5.0]])


def test_geometric_mean() -> None:
    predictor = MeanPredictor(LayerKind.DENSE).fit(ROWS, np.array([1.0, 9.0]))
    assert predictor.predict(ROWS) == pytest.approx([3.0, 3.0])
    assert predictor.note_ == ""


def test_arithmetic_mean_where_a_value_is_not_positive() -> None:
    predictor = MeanPredictor("dense").fit(ROWS, np.array([-1.0, 4.0]))
    assert predictor.predict(ROWS).tolist() == [1.5, 1.5]
    assert "arithmetic" in predictor.note_


def test_no_rows() -> None:
    with pytest.raises(EdgewattError, match="at least one row"):
        MeanPredictor("dense").fit(ROWS[:0], np.zeros(0))
