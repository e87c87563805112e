"""Whole networks from their layers' sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgewatt.predictors.network_calibration import (
    NetworkCalibration,
    NetworkSums,
    fit_calibration,
    scaled_and_non_negative,
)

IDLE_W = 4.0


def _sums(count: int, seed: int = 2) -> NetworkSums:
    random = np.random.default_rng(seed)
    runtime = random.uniform(1e-3, 1e-2, count)
    return NetworkSums(
        runtime, runtime * random.uniform(2, 6, count), random.integers(10, 90, count) * 1.0, np.full(count, IDLE_W)
    )


def test_a_cycle_is_its_layers_and_what_lies_between() -> None:
    sums = NetworkSums(np.array([2e-3]), np.array([6e-3]), np.array([20.0]), np.array([IDLE_W]))
    known = NetworkCalibration(9, 1.1, 4e-6, 50e-6, 0.9, 0.5, {})
    runtime, energy = known.predict(sums)
    # 20 x 4 + 50 = 130 us beside 2.2 ms of layers, at 0.5 W above idle.
    assert known.overhead_s(sums)[0] == pytest.approx(130e-6)
    assert runtime[0] == pytest.approx(2.33e-3)
    assert energy[0] == pytest.approx(0.9 * 6e-3 + 0.5 * 130e-6 + IDLE_W * 2.33e-3)


def test_plain_sums_by_default() -> None:
    sums = _sums(5)
    runtime, energy = NetworkCalibration().predict(sums)
    assert runtime == pytest.approx(sums.runtime_s)
    assert energy == pytest.approx(sums.energy_above_idle_j + IDLE_W * sums.runtime_s)


def test_finds_what_lies_between_the_layers() -> None:
    sums = _sums(12)
    truth = NetworkCalibration(12, 1.0, 5e-6, 80e-6, 1.0, 0.6)
    runtime, energy = truth.predict(sums)
    found = fit_calibration(sums, sums, runtime, energy)
    assert found is not None
    assert (found.runtime_scale, found.energy_scale) == pytest.approx((1.0, 1.0), rel=1e-6)
    assert (found.layer_overhead_s, found.cycle_overhead_s) == pytest.approx((5e-6, 80e-6), rel=1e-6)
    assert found.overhead_power_w == pytest.approx(0.6, rel=1e-4)
    assert NetworkCalibration.of(found.fields()) == found


def test_what_lies_between_is_found_whatever_was_predicted() -> None:
    measured = _sums(12)
    truth = NetworkCalibration(12, 1.0, 5e-6, 80e-6, 1.0, 0.6)
    runtime, energy = truth.predict(measured)
    random = np.random.default_rng(5)
    predicted = replace(
        measured,
        runtime_s=measured.runtime_s * 1.25 * random.uniform(0.9, 1.1, 12),
        energy_above_idle_j=measured.energy_above_idle_j * 0.8 * random.uniform(0.9, 1.1, 12),
    )
    found = fit_calibration(predicted, measured, runtime, energy)
    assert found is not None
    assert (found.layer_overhead_s, found.cycle_overhead_s) == pytest.approx((5e-6, 80e-6), rel=1e-6)
    assert found.overhead_power_w == pytest.approx(0.6, rel=1e-4)
    # Predictions are a quarter too long and a fifth too small; the network made up holds the scales back a little.
    assert 0.8 < found.runtime_scale < 0.85
    assert 1.15 < found.energy_scale < 1.3


def test_without_measured_energies_of_layers_the_overhead_draws_idle_power() -> None:
    sums = _sums(8)
    unknown = replace(sums, energy_above_idle_j=np.full(8, np.nan))
    runtime, energy = NetworkCalibration(8, 1.0, 5e-6, 80e-6, 1.0, 0.6).predict(sums)
    found = fit_calibration(sums, unknown, runtime, energy)
    assert found is not None
    assert found.overhead_power_w == 0.0
    assert found.predict(sums)[1] == pytest.approx(energy, rel=0.05)


def test_scales_are_held_near_one_by_one_network_more() -> None:
    sums = _sums(60)
    plain = NetworkSums(sums.runtime_s, sums.energy_above_idle_j, sums.layers * 0.0, sums.idle_power_w)
    for count in (6, 60):
        some = plain.take(np.arange(count))
        scale, none = scaled_and_non_negative(some.runtime_s, [some.layers], 0.8 * some.runtime_s)
        # y = 0.8 x, so relative columns are x / y = 1.25: n rows (1.25 s - 1) and one of 1.25 (s - 1), squared.
        expected = (count * 1.25 + 1.25**2) / (count * 1.25**2 + 1.25**2)
        assert scale == pytest.approx(expected, rel=1e-6)
        assert none == 0.0
    assert abs(expected - 0.8) < 0.005


def test_a_network_that_was_measured_wrongly_hardly_counts() -> None:
    sums = _sums(15)
    truth = NetworkCalibration(15, 1.0, 5e-6, 80e-6, 1.0, 0.6)
    runtime, energy = truth.predict(sums)
    wrong = runtime.copy()
    wrong[3] *= 2.0
    found = fit_calibration(sums, sums, wrong, energy)
    assert found is not None
    again, _ = found.predict(sums)
    assert np.delete(again / runtime, 3) == pytest.approx(np.ones(14), rel=0.01)


def test_energy_without_idle_power_is_not_known() -> None:
    sums = replace(_sums(8), idle_power_w=np.full(8, np.nan))
    found = fit_calibration(sums, sums, sums.runtime_s, 9.0 * sums.energy_above_idle_j)
    assert found is not None
    runtime, energy = found.predict(sums)
    assert runtime == pytest.approx(sums.runtime_s, rel=1e-6)
    assert np.isnan(energy).all()


def test_too_few_networks() -> None:
    assert fit_calibration(_sums(2), _sums(2), np.ones(2), np.ones(2)) is None
