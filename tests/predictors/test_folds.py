"""Folds leave whole networks out where there are enough."""

from __future__ import annotations

import numpy as np
import pytest

from edgewatt.predictors.folds import inner_splits, outer_splits


def _networks(count: int) -> list[str]:
    return [f"net{index}" for index in range(count) for _ in range(index + 1)]


@pytest.mark.parametrize("count", [5, 8, 14])
def test_by_network_from_five_on(count: int) -> None:
    networks = np.array(_networks(count))
    grouping, splits = outer_splits(networks, 10)
    assert grouping == "network"
    assert len(splits) == min(count, 10)
    for training, test in splits:
        assert not set(networks[training]) & set(networks[test])
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(networks)))


def test_by_row_below_five() -> None:
    networks = _networks(4)
    grouping, splits = outer_splits(networks, 10)
    assert grouping == "row"
    assert len(splits) == 10
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(10))


def test_fewer_rows_than_folds() -> None:
    assert [len(test) for _, test in outer_splits(["a", "a", "b"], 10)[1]] == [1, 1, 1]


def test_inner_folds_are_by_network_from_three_on() -> None:
    networks = np.array(_networks(3))
    for training, validation in inner_splits(6, networks, 5, 0):
        assert not set(networks[training]) & set(networks[validation])
    assert len(inner_splits(6, networks, 5, 0)) == 3
    assert len(inner_splits(6, ["a"] * 6, 5, 0)) == 5
    assert len(inner_splits(6, None, 5, 0)) == 5
