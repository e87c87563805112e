from __future__ import annotations

import numpy as np
import pytest

from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.power_log import PowerLog
from edgewatt.mapping.closure import energy_closure
from edgewatt.mapping.summary import mean_interval, summarise, summarise_layer
from edgewatt.mapping.window import reading_ranges


def test_one_layer_by_hand() -> None:
    layer = summarise_layer("a", "T", np.array([5e6, np.nan, 7e6]), np.array([0.1, 0.2, 0.3]), 4.0)
    assert layer.runtime_ms == pytest.approx(0.2)
    assert (layer.power_w, layer.power_above_idle_w, layer.samples, layer.identifiable) == (6.0, 2.0, 2, None)
    assert layer.energy_mj == pytest.approx(1.2)
    # Two values: mean 6, standard error 1, Student's t at 95 % with one degree of freedom 6.3138.
    assert layer.power_low_w == pytest.approx(6 - 6.3138, abs=1e-4)
    assert layer.power_high_w == pytest.approx(6 + 6.3138, abs=1e-4)
    # Three runtimes: standard error 0.1 / sqrt(3), Student's t with two degrees of freedom 2.9200.
    assert (layer.runtime_low_ms, layer.runtime_high_ms) == pytest.approx((0.2 - 0.16859, 0.2 + 0.16859), abs=1e-5)


def test_a_layer_without_readings_has_a_runtime_and_no_power() -> None:
    layer = summarise_layer("a", "T", np.array([np.nan, np.nan]), np.array([0.1, 0.3]), 4.0)
    assert (layer.runtime_ms, layer.power_w, layer.energy_mj, layer.samples) == (pytest.approx(0.2), None, None, 0)


def test_unknown_idle_power_leaves_power_above_idle_unknown() -> None:
    layer = summarise_layer("a", "T", np.array([5e6]), np.array([0.1]), None)
    assert (layer.power_w, layer.power_above_idle_w, layer.power_low_w) == (5.0, None, None)


def test_the_interval_of_repeated_values_is_not_too_narrow() -> None:
    """Each value repeated 50 times: the interval must be that of the distinct values, not 7 times narrower."""
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        low, high = mean_interval(np.repeat(random.normal(0, 1, 200), 50))
        assert low is not None
        assert high is not None
        hits += low <= 0 <= high
    assert 0.86 <= hits / 400 <= 0.94


def cycles_of(latency_ms: list[list[float]], end_us: list[list[int]]) -> LayerCycles:
    names = tuple(f"l{i}" for i in range(len(latency_ms)))
    return LayerCycles(names, ("",) * len(names), np.array(latency_ms), np.array(end_us))


def test_energies_add_up_where_windows_are_right() -> None:
    """2 W in the layer, 1 W in the gap: 1 ms and 3 ms a cycle, 10 cycles, a reading every 0.1 ms."""
    ends = [4000 * cycle + 1000 for cycle in range(10)]
    layers = cycles_of([[1.0] * 10], [ends])
    times = np.arange(0, 40_001, 100)
    power_mw = np.where((times % 4000) <= 1000, 2000.0, 1000.0)
    log = PowerLog(times, np.full(len(times), 1000.0), power_mw)
    power = np.full((1, 10), 2e6)
    closure = energy_closure(layers, log, reading_ranges(layers, log), summarise(layers, power, 0.0))
    assert closure is not None
    assert closure.layers_j == pytest.approx(10 * 2e-3)
    assert closure.gaps_j == pytest.approx(9 * 3e-3)
    assert closure.measured_j == pytest.approx(0.020 + 0.027, rel=0.03)
    assert abs(closure.difference) < 0.03
    assert (closure.layers_w, closure.gaps_w) == pytest.approx((2.0, 1.0))


def test_no_closure_without_power_or_cover() -> None:
    layers = cycles_of([[1.0]], [[2000]])
    short = PowerLog(np.array([1500, 1800]), np.full(2, 1000.0), np.full(2, 1.0))
    assert (
        energy_closure(layers, short, reading_ranges(layers, short), summarise(layers, np.array([[1e6]]), 0.0)) is None
    )
    whole = PowerLog(np.array([0, 3000]), np.full(2, 1000.0), np.full(2, 1.0))
    assert (
        energy_closure(layers, whole, reading_ranges(layers, whole), summarise(layers, np.array([[np.nan]]), 0.0))
        is None
    )
    assert (
        energy_closure(layers, whole, reading_ranges(layers, whole), summarise(layers, np.array([[1e6]]), 0.0))
        is not None
    )
