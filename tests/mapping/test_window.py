from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.power_log import PowerLog
from edgewatt.formats.timestamps import format_timestamp, parse_timestamps
from edgewatt.mapping.window import (
    compute_latency_start_end_times,
    compute_layer_metrics_by_cycle,
    reading_ranges,
    window_power,
)

INCLUDING = "layer_power_including_idle_power_micro_watt"
EXCLUDING = "layer_power_excluding_idle_power_micro_watt"


def us(text: str) -> int:
    return int(parse_timestamps(pl.Series([text]))[0])


def test_the_documented_start() -> None:
    start, end = compute_latency_start_end_times([0.03030399978160858], [us("20241121-05:22:50.156286")])
    assert format_timestamp(start[0]) == "20241121-05:22:50.156256"
    assert format_timestamp(end[0]) == "20241121-05:22:50.156286"


@pytest.mark.parametrize(
    ("latency_ms", "microseconds"), [(0.0005, 0), (0.0015, 2), (0.0025, 2), (1.0005, 1000), (2.5, 2500)]
)
def test_ties_go_to_the_even_microsecond(latency_ms: float, microseconds: int) -> None:
    assert compute_latency_start_end_times([latency_ms], [0])[0][0] == -microseconds


@given(st.floats(0, 1e7))
def test_start_agrees_with_datetime(latency_ms: float) -> None:
    end = datetime(2024, 11, 21, 5, 22, 50, 156286)
    expected = end - timedelta(milliseconds=latency_ms)
    start, _ = compute_latency_start_end_times([latency_ms], [us(end.strftime("%Y%m%d-%H:%M:%S.%f"))])
    assert start[0] == us(expected.strftime("%Y%m%d-%H:%M:%S.%f"))


def test_a_start_before_midnight() -> None:
    start, _ = compute_latency_start_end_times([1.0], [us("20250101-00:00:00.0005")])
    assert format_timestamp(start[0]) == "20241231-23:59:59.999500"


def two_layers() -> LayerCycles:
    return LayerCycles(("conv0", "fc0"), ("C", "D"), np.array([[400.0], [800.0]]), np.array([[1_500_000], [2_700_000]]))


def test_two_layers_by_hand() -> None:
    """Samples of 1100, 1200, ... 2100 mA every 0.2 s from 1.00 s at 5 V: means of 1200-1300 and 1600-1900 mA."""
    log = PowerLog(np.arange(1_000_000, 3_000_001, 200_000), np.full(11, 5000.0), np.arange(1100.0, 2101.0, 100.0))
    rows = compute_layer_metrics_by_cycle(two_layers(), log, 4e6).to_dicts()
    assert [row[INCLUDING] for row in rows] == [6.25e6, 8.75e6]
    assert [row[EXCLUDING] for row in rows] == [2.25e6, 4.75e6]
    assert [(row["cycle"], row["layer_name"], row["layer_run_time"]) for row in rows] == [
        (1, "conv0", 400.0),
        (1, "fc0", 800.0),
    ]


def test_both_ends_are_included() -> None:
    log = PowerLog(np.array([1_100_000, 1_500_000, 1_500_001]), np.full(3, 1000.0), np.array([1.0, 3.0, 100.0]))
    assert window_power(reading_ranges(two_layers(), log), log)[0, 0] == 2000.0


def test_no_reading_gives_none() -> None:
    log = PowerLog(np.array([0, 1_099_999, 1_500_001]), np.full(3, 1000.0), np.array([1.0, 3.0, 100.0]))
    row = compute_layer_metrics_by_cycle(two_layers(), log, 0.0).to_dicts()[0]
    assert row[INCLUDING] is None
    assert row[EXCLUDING] is None


def test_power_of_zero_and_below_idle_are_values() -> None:
    log = PowerLog(np.array([1_200_000, 2_000_000]), np.full(2, 5000.0), np.array([0.0, -8.0]))
    rows = compute_layer_metrics_by_cycle(two_layers(), log, 4e6).to_dicts()
    assert [row[INCLUDING] for row in rows] == [0.0, -40_000.0]
    assert [row[EXCLUDING] for row in rows] == [-4e6, -4_040_000.0]


layer = st.tuples(st.integers(0, 60), st.sampled_from([0.0, 0.001, 0.0005, 0.005, 0.0123, 0.03, 0.06]))


@settings(max_examples=2000, deadline=None)
@given(
    st.lists(st.lists(layer, min_size=2, max_size=2), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(-20, 70), st.integers(-3, 9)), min_size=1, max_size=25),
)
def test_agrees_with_the_definition(cycles: list[list[tuple[int, float]]], readings: list[tuple[int, int]]) -> None:
    readings = sorted(readings, key=lambda reading: reading[0])
    log = PowerLog(
        np.array([time for time, _ in readings]),
        np.full(len(readings), 5000.0),
        np.array([float(i) for _, i in readings]),
    )
    ends, latencies = (
        np.array([[end for end, _ in c] for c in cycles]).T,
        np.array([[ms for _, ms in c] for c in cycles]).T,
    )
    rows = compute_layer_metrics_by_cycle(LayerCycles(("a", "b"), ("", ""), latencies, ends), log, 7.0).to_dicts()
    assert len(rows) == 2 * len(cycles)
    for row in rows:
        end, latency_ms = cycles[row["cycle"] - 1][0 if row["layer_name"] == "a" else 1]
        start = datetime(2024, 1, 1) + timedelta(microseconds=end) - timedelta(milliseconds=latency_ms)
        inside = [
            5000.0 * current
            for time, current in readings
            if start
            <= datetime(2024, 1, 1) + timedelta(microseconds=time)
            <= datetime(2024, 1, 1) + timedelta(microseconds=end)
        ]
        if inside:
            assert row[INCLUDING] == pytest.approx(sum(inside) / len(inside), rel=1e-12, abs=1e-9)
            assert row[EXCLUDING] == pytest.approx(sum(inside) / len(inside) - 7.0, rel=1e-12, abs=1e-9)
        else:
            assert row[INCLUDING] is None
