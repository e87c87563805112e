"""Numbers with intervals: against scipy's own statistics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from edgewatt.results.estimate import Estimate, added, product


def test_mean_of_twenty_values_has_students_interval() -> None:
    values = np.random.default_rng(1).normal(5.0, 0.3, 20)
    found = Estimate.of_values(values)
    low, high = stats.t.interval(0.90, 19, loc=values.mean(), scale=stats.sem(values))
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert found.standard_error == pytest.approx(stats.sem(values))


def test_values_that_are_not_known_are_left_out() -> None:
    found = Estimate.of_values([1.0, float("nan"), 3.0])
    assert found is not None
    assert found.value == 2.0
    assert Estimate.of_values([float("nan")]) is None
    assert Estimate.of_values([]) is None


def test_one_value_has_no_interval() -> None:
    found = Estimate.of_values([2.0])
    assert found == Estimate(2.0, None, None, 1)
    assert found.standard_error is None


def test_units_change_all_three_numbers() -> None:
    watts = Estimate(8.0, 7.5, 8.5, 19)
    assert watts.scaled(1e3) == Estimate(8000.0, 7500.0, 8500.0, 19)
    assert watts.shifted(-4.0) == Estimate(4.0, 3.5, 4.5, 19)


def test_relative_errors_of_a_product_add_in_squares() -> None:
    # 3 % and 4 % make 5 %.
    quantile = stats.norm.ppf(0.95)
    power = Estimate(10.0, 10.0 - 0.3 * quantile, 10.0 + 0.3 * quantile)
    runtime = Estimate(2.0, 2.0 - 0.08 * quantile, 2.0 + 0.08 * quantile)
    energy = product(power, runtime)
    assert energy is not None
    assert energy.value == 20.0
    assert energy.standard_error == pytest.approx(1.0)
    assert product(Estimate(10.0), runtime) == Estimate(20.0)
    assert product(None, runtime) is None


def test_a_sum_is_as_wide_as_if_all_erred_together() -> None:
    assert added([Estimate(1.0, 0.5, 2.0), Estimate(10.0, 9.0, 12.0), None]) == Estimate(11.0, 9.5, 14.0)
    assert added([Estimate(1.0, 0.5, 2.0), Estimate(10.0)]) == Estimate(11.0)
    assert added([None, None]) is None
