"""Scores over networks, and whether a gain is luck."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from edgewatt.tuning.folds import Errors
from edgewatt.tuning.score import chance_of_luck, combined, score


def _errors(values: list[float]) -> dict[str, Errors]:
    return {f"n{i}": Errors(log=2 * value, relative=4 * value, layers=2) for i, value in enumerate(values)}


def test_each_network_counts_once() -> None:
    found = score(
        {"small": Errors(log=1.0, relative=2.0, layers=1), "large": Errors(log=30.0, relative=10.0, layers=100)}
    )
    assert found.log == pytest.approx((1.0 + 0.3) / 2)
    assert found.mape == pytest.approx((2.0 + 0.1) / 2)
    assert found.networks == 2
    assert math.isinf(score({}).log)


def test_folds_add_up() -> None:
    parts = [{"a": Errors(1.0, 2.0, 3)}, {"b": Errors(4.0, 5.0, 6)}, {"a": Errors(1.0, 1.0, 1)}]
    assert combined(parts) == {"a": Errors(2.0, 3.0, 4), "b": Errors(4.0, 5.0, 6)}


def test_luck_is_that_of_the_best_of_all_trials() -> None:
    usual, tuned = [0.30, 0.25, 0.4, 0.2, 0.35, 0.3], [0.27, 0.24, 0.35, 0.2, 0.3, 0.27]
    single = ttest_rel(usual, tuned, alternative="greater").pvalue
    assert chance_of_luck(_errors(usual), _errors(tuned), 1) == pytest.approx(single)
    assert chance_of_luck(_errors(usual), _errors(tuned), 3) == pytest.approx(3 * single)
    assert chance_of_luck(_errors(tuned), _errors(usual), 50) == 1.0


def test_a_gain_that_every_network_has_is_none_of_luck() -> None:
    usual = list(np.linspace(0.25, 0.5, 6))
    assert chance_of_luck(_errors(usual), _errors([value - 0.125 for value in usual]), 100) == pytest.approx(
        0.0, abs=1e-9
    )
    assert chance_of_luck(_errors(usual), _errors(usual), 1) == 1.0


def test_few_networks_tell_nothing() -> None:
    assert chance_of_luck(_errors([1.0] * 4), _errors([0.1] * 4), 1) is None
