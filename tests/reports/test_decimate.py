"""Readings decimated: no peak lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgewatt.reports.decimate import envelope


def test_bins_hold_least_mean_and_greatest() -> None:
    found = envelope(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([1.0, 5.0, 2.0, 4.0, 9.0]), 2)
    # The bins are [0, 2) and [2, 4], the last reading in the last.
    assert found.time_s.tolist() == [1.0, 3.0]
    assert found.low.tolist() == [1.0, 2.0]
    assert found.mean.tolist() == [3.0, 5.0]
    assert found.high.tolist() == [5.0, 9.0]


def test_bins_without_readings_are_left_out() -> None:
    found = envelope(np.array([0.0, 0.1, 10.0]), np.array([1.0, 2.0, 3.0]), 5)
    assert found.time_s.tolist() == [1.0, 9.0]
    assert found.high.tolist() == [2.0, 3.0]


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=300), st.integers(1, 50))
def test_extremes_survive(values: list[float], bins: int) -> None:
    power = np.array(values)
    found = envelope(np.arange(len(values)) / 7, power, bins)
    assert (found.low.min(), found.high.max()) == (power.min(), power.max())
    assert len(found.time_s) <= bins


def test_readings_of_one_time_make_one_bin() -> None:
    found = envelope(np.zeros(3), np.array([1.0, 2.0, 6.0]), 4)
    assert (found.low.min(), found.high.max()) == (1.0, 6.0)
