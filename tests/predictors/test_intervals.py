"""Conformal intervals cover what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from edgewatt.predictors.estimate import plain_estimate
from edgewatt.predictors.intervals import conformal_factor, cross_coverage, interval, log_errors


def test_factor_is_a_rank() -> None:
    assert conformal_factor(np.arange(1.0, 10.0)) == 9.0  # the 9th of 9, for ceil(10 x 0.9) = 9
    assert conformal_factor(np.arange(1.0, 20.0)) == 18.0  # ceil(20 x 0.9)
    assert conformal_factor(np.arange(1.0, 9.0)) is None


def test_new_draws_are_covered() -> None:
    random = np.random.default_rng(0)
    shares = []
    for _ in range(300):
        factor = conformal_factor(np.abs(random.standard_t(3, 40)))
        assert factor is not None
        shares.append(np.mean(np.abs(random.standard_t(3, 200)) <= factor))
    # 37 of 40 scores: the expected coverage is exactly 37 / 41.
    assert np.mean(shares) == pytest.approx(37 / 41, abs=0.01)


def test_coverage_by_fold_uses_the_other_folds() -> None:
    scores = np.concatenate([np.full(20, 1.0), np.full(20, 2.0), np.full(20, 3.0)])
    found = cross_coverage(scores, np.repeat([0, 1, 2], 20))
    assert found is not None
    assert (found.least, found.greatest, found.rows) == (0.0, 1.0, 60)
    assert found.mean == pytest.approx(2 / 3)


def test_interval_and_errors() -> None:
    assert interval(2.0, 0.5, 2.0) == pytest.approx((2 / np.e, 2 * np.e))
    errors = log_errors(np.array([1.0, 4.0, -1.0]), plain_estimate(np.array([1.0, 2.0, 1.0])))
    # A target below 0 counts as 2 % of the median size.
    assert errors == pytest.approx([0.0, np.log(2), np.log(0.02)])
