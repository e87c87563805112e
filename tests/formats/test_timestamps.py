from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewatt.formats.timestamps import backward_jumps, format_timestamp, format_timestamps, parse_timestamps

EPOCH = datetime(1970, 1, 1)


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


@given(st.lists(st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)), min_size=1, max_size=20))
def test_agrees_with_strptime_and_back(moments: list[datetime]) -> None:
    text = [moment.strftime("%Y%m%d-%H:%M:%S.%f") for moment in moments]
    parsed = parse_timestamps(pl.Series(text))
    assert parsed.to_list() == [micros(datetime.strptime(t, "%Y%m%d-%H:%M:%S.%f")) for t in text]
    assert format_timestamps(parsed.to_numpy()).to_list() == text


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("20241121-05:20:04.5", 500_000),
        ("20241121-05:20:04.05", 50_000),
        ("20241121-05:20:04", 0),
        (" 20241121-05:20:04.000001 ", 1),
    ],
)
def test_fewer_fractional_digits(text: str, microseconds: int) -> None:
    assert parse_timestamps(pl.Series([text]))[0] == micros(datetime(2024, 11, 21, 5, 20, 4)) + microseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "nan",
        "20241121-05:20:60.1",
        "20241121-24:00:00",
        "20241321-05:20:04",
        "20240230-05:20:04.1",
        "20241121-05:20:04.",
        "20241121 05:20:04",
        "2024-11-21-05:20:04",
        "20241121-5:20:04",
        "20241121-05:20:04.1234567",
    ],
)
def test_what_is_no_timestamp_is_null(text: str) -> None:
    assert parse_timestamps(pl.Series([text, "20241121-05:20:04"])).is_null().to_list() == [True, False]


def test_midnight_is_nothing_special() -> None:
    before, after = parse_timestamps(pl.Series(["20241231-23:59:59.999999", "20250101-00:00:00.000001"]))
    assert after - before == 2


def test_backward_jumps() -> None:
    assert backward_jumps(np.array([1, 2, 2, 3])) == (0, -1, 0.0)
    assert backward_jumps(np.array([10, 2_000_000, 500_000, 600_000, 0])) == (2, 2, 1.5)
    assert backward_jumps(np.array([7])) == (0, -1, 0.0)


def test_format_one() -> None:
    assert format_timestamp(micros(datetime(2024, 11, 21, 5, 22, 50, 156256))) == "20241121-05:22:50.156256"
