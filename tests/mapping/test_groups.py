from __future__ import annotations

import numpy as np
import pytest

from edgewatt.mapping.groups import group_layers, one_group

TIME_S = np.array([1.0, 3.0, 1.0, 0.0, 1.0])
POWER_W = np.array([6.0, 8.0, 12.0, 7.0, 9.0])


def test_layers_that_are_told_keep_their_powers() -> None:
    grouped = group_layers(POWER_W, np.diag(np.full(5, 1e-4)), TIME_S, 0.1, 2.0)
    assert grouped.groups == []
    assert grouped.identifiable.tolist() == [True, True, True, False, True]
    np.testing.assert_array_equal(grouped.power_w, POWER_W)


def test_neighbours_that_only_their_sum_tells_share_their_mean_by_time() -> None:
    # Layers 0 and 1: 1 s and 3 s whose energies trade against each other.
    covariance = np.diag(np.full(5, 1e-4))
    covariance[:2, :2] = 4.0 * np.array([[9.0, -3.0], [-3.0, 1.0]]) / 3
    grouped = group_layers(POWER_W, covariance, TIME_S, 0.1, 2.0)
    assert grouped.groups == [[0, 1]]
    assert grouped.power_w[0] == grouped.power_w[1] == pytest.approx(7.5)
    assert grouped.power_w @ TIME_S == pytest.approx(POWER_W @ TIME_S)
    # How far layer 0 is from the shared power: its own error, and 1.5 W from its own estimate.
    assert grouped.deviation_w[0] == pytest.approx(np.hypot(np.sqrt(12.0), 1.5))
    assert not grouped.identifiable[:2].any()


def test_a_layer_that_takes_no_time_does_not_part_its_neighbours() -> None:
    grouped = group_layers(POWER_W, np.diag([1e-4, 1e-4, 9.0, 9.0, 9.0]), TIME_S, 0.1, 2.0)
    assert grouped.groups == [[2, 4]]


def test_an_uncertain_layer_that_is_not_hidden_keeps_its_power() -> None:
    grouped = group_layers(POWER_W, np.diag(np.full(5, 0.25)), TIME_S, 0.1, 2.0)
    assert grouped.groups == []
    assert not grouped.identifiable.any()


def test_all_layers_share_their_mean_by_time() -> None:
    grouped = one_group(POWER_W, np.diag(np.full(5, 0.06)), TIME_S, 2.0)
    assert grouped.groups == [[0, 1, 2, 4]]
    np.testing.assert_allclose(grouped.power_w[[0, 1, 2, 4]], (6 + 3 * 8 + 12 + 9) / 6)
    # The mean's variance is 0.06 (1 + 9 + 1 + 1) / 36, and layers differ from it by 2 W.
    np.testing.assert_allclose(grouped.deviation_w[[0, 1, 2, 4]], np.sqrt(0.02 + 4.0))
    assert not grouped.identifiable.any()
