"""Numbers and names as the page shows them."""

from __future__ import annotations

import pytest

from edgewatt.reports.text import interval, short_name, significant, with_interval
from edgewatt.results.estimate import Estimate


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (15.119, "15.1"),
        (0.0143, "0.0143"),
        (1234.5, "1,234"),
        (0.0, "0"),
        (-2.5, "-2.50"),
        (None, "–"),
        (9.999, "10.00"),
    ],
)
def test_three_digits(value: float | None, shown: str) -> None:
    assert significant(value) == shown


def test_intervals() -> None:
    assert interval(Estimate(15.0, 14.8, 15.2)) == "± 0.20"
    assert interval(Estimate(0.015, 0.0148, 0.0152), 1e3) == "± 0.20"
    assert interval(Estimate(10.0, 9.0, 13.0)) == "(9.00 to 13.0)"
    assert interval(Estimate(10.0)) == ""
    assert interval(None) == ""


def test_a_number_has_the_digits_that_its_interval_leaves_it() -> None:
    assert with_interval(Estimate(0.0151187, 0.0150697, 0.0151677), "mJ", 1e3) == "15.119 ± 0.049 mJ"
    assert with_interval(Estimate(8.1234), "W") == "8.123 W"
    assert with_interval(None, "W") == "–"


def test_names_are_shortened_to_where_they_differ() -> None:
    assert short_name("/conv1/Conv + /relu/Relu") == "/conv1/Conv"
    long = short_name("/features/features.15/conv/conv.1/conv.1.0/Conv + /features/x")
    assert long == "…" + "/features/features.15/conv/conv.1/conv.1.0/Conv"[-25:]
