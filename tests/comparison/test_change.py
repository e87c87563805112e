"""Changes and noise: against scipy's tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from edgewatt.comparison.change import Change, change, changes, holm
from edgewatt.results.estimate import Estimate


def test_two_means_are_tested_as_welch_did() -> None:
    random = np.random.default_rng(3)
    first, second = random.normal(8.0, 0.1, 20), random.normal(8.06, 0.3, 20)
    found = change(Estimate.of_values(first), Estimate.of_values(second))
    expected = stats.ttest_ind(second, first, equal_var=False)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.90)))
    assert found.beyond_noise == (expected.pvalue <= 0.05)


def test_difference_and_relative_change() -> None:
    found = change(Estimate(4.0), Estimate(5.0))
    assert (found.difference, found.relative, found.p_value, found.beyond_noise) == (1.0, 0.25, None, None)
    assert change(Estimate(0.0), Estimate(5.0)).relative is None
    assert change(None, Estimate(5.0)).difference is None


def test_without_scatter_any_difference_counts() -> None:
    still = Estimate(1.0, 1.0, 1.0, 19)
    assert change(still, still).beyond_noise is False
    assert change(still, Estimate(1.1, 1.1, 1.1, 19)).beyond_noise is True


def test_holm_holds_the_smallest_against_the_smallest_share() -> None:
    # 0.05 / 4 = 0.0125, / 3 = 0.0167, / 2 = 0.025: the third fails, and the fourth with it.
    tested = [Change(None, None, p) for p in (0.03, 0.012, 0.016, 0.04)] + [Change(None, None)]
    assert [item.beyond_noise for item in holm(tested)] == [False, True, True, False, None]


def test_among_many_that_did_not_change_hardly_any_is_called_changed() -> None:
    random = np.random.default_rng(5)
    false_alarms = 0
    for _ in range(200):
        pairs = [(Estimate.of_values(a), Estimate.of_values(b)) for a, b in random.normal(5, 1, (30, 2, 20))]
        false_alarms += any(item.beyond_noise for item in changes(pairs))
    # At most 5 % of 200, and three standard deviations of that.
    assert false_alarms <= 10 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_an_increase_counts_only_beyond_the_noise() -> None:
    before, after = Estimate(10.0, 9.9, 10.1), Estimate(10.6, 10.5, 10.7)
    assert change(before, after).rose_by_more_than(0.02)
    # 6 % is more than 5.5 %, but not by more than the noise.
    assert not change(before, after).rose_by_more_than(0.055)
    assert change(Estimate(10.0), Estimate(10.6)).rose_by_more_than(0.055)
    assert not change(after, before).rose_by_more_than(0.0)
    assert not change(None, after).rose_by_more_than(0.0)
