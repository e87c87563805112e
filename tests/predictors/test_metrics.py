"""Scores, by hand."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from edgewatt.predictors.metrics import scores


def test_by_hand() -> None:
    found = scores(np.array([1.0, 2.0, 4.0]), np.array([1.5, 1.0, 4.0]), ["a", "a", "b"])
    assert found.mape == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert found.rmspe == pytest.approx(sqrt((0.25 + 0.25) / 3))
    assert found.rmse == pytest.approx(sqrt((0.25 + 1) / 3))
    assert found.mae == pytest.approx(0.5)
    # The squared deviations from the mean 7/3 sum to 14/3.
    assert found.r2 == pytest.approx(1 - 1.25 / (14 / 3))
    assert (found.rows, found.networks, found.zero_rows) == (3, 2, 0)


def test_relative_error_of_a_negative_value_is_positive() -> None:
    assert scores(np.array([-2.0, 1.0]), np.array([-1.0, 1.0]), ["a", "b"]).mape == pytest.approx(0.25)


def test_zero_values_are_left_out_of_relative_errors() -> None:
    found = scores(np.array([0.0, 2.0]), np.array([1.0, 3.0]), ["a", "a"])
    assert (found.mape, found.rmspe, found.zero_rows) == (0.5, 0.5, 1)
    assert found.mae == 1.0
    nothing = scores(np.zeros(2), np.ones(2), ["a", "a"])
    assert (nothing.mape, nothing.rmspe, nothing.zero_rows) == (None, None, 2)


def test_one_row_and_equal_rows_have_no_r2() -> None:
    assert scores(np.array([2.0]), np.array([1.0]), ["a"]).r2 is None
    assert scores(np.array([2.0, 2.0]), np.array([1.0, 2.0]), ["a", "b"]).r2 is None


def test_rounding_noise_is_no_variation() -> None:
    true = np.array([0.1 + 0.2, 0.3, 0.3, 0.3])  # 0.1 + 0.2 differs from 0.3 in the last bit
    assert np.ptp(true) > 0.0
    found = scores(true, np.array([0.29, 0.3, 0.31, 0.3]), ["a"] * 4)
    assert found.r2 is None
    assert found.rank_correlation is None
