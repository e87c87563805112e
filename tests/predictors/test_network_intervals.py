"""Intervals of whole networks."""

from __future__ import annotations

import numpy as np
import pytest

from edgewatt.predictors.network_intervals import network_coverage, network_factor


def test_from_nine_networks_on_the_quantile_of_the_errors() -> None:
    errors = np.array([0.01, -0.02, 0.03, -0.04, 0.05, -0.06, 0.07, -0.08, 0.2])
    # Nine errors: the ceil(10 x 0.9) = ninth in size.
    assert network_factor(errors) == pytest.approx(0.2)
    # Of nineteen it is the eighteenth.
    assert network_factor(np.append(np.full(17, 0.01), [0.3, -0.9])) == pytest.approx(0.3)


def test_fewer_networks_are_taken_to_be_normal() -> None:
    # Student's 95 % quantile with four degrees of freedom is 2.132 (tables); one network more widens by sqrt(1 + 1/5).
    errors = 0.03 * np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    assert network_factor(errors) == pytest.approx(2.132 * 0.03 * np.sqrt(1.2), rel=1e-3)
    assert network_factor(errors[:3]) is None
    assert network_factor(np.zeros(5)) > 0.0  # type: ignore[operator]


@pytest.mark.parametrize("networks", [5, 8, 12, 20])
def test_intervals_hold_nine_of_ten_new_networks(networks: int) -> None:
    random = np.random.default_rng(3)
    held = []
    for _ in range(2000):
        errors = random.normal(0.0, 0.05, networks + 1)
        factor = network_factor(errors[:networks])
        assert factor is not None
        held.append(abs(errors[-1]) <= factor)
    # Conformal intervals hold at least 90 %, and at most 1 / (n + 1) more.
    assert 0.88 < np.mean(held) < 0.9 + 1.0 / (networks + 1) + 0.02


def test_coverage_leaves_groups_out_together() -> None:
    errors = np.array([0.1] * 10 + [1.0, 1.0])
    alone, together = np.arange(12), np.array([*range(10), 10, 10])
    # Alone each odd network is held by the other's error; together they are outside what the ten say.
    assert network_coverage(errors, alone) == pytest.approx(1.0)
    assert network_coverage(errors, together) == pytest.approx(10 / 12)
    assert network_coverage(errors[:4], np.arange(4)) is None
