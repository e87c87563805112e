"""Whole networks from their layers' sums."""

from __future__ import annotations

import numpy as np
import pytest

from edgewatt.predictors.network_calibration import NetworkCalibration, NetworkSums, fit_calibration


def _sums(count: int) -> NetworkSums:
    random = np.random.default_rng(2)
    runtime = random.uniform(1e-3, 1e-2, count)
    return NetworkSums(
        runtime, runtime * random.uniform(2, 6, count), random.integers(10, 90, count) * 1.0, np.full(count, 4.0)
    )


def test_finds_scale_and_costs_of_layers() -> None:
    sums = _sums(12)
    runtime = 0.8 * sums.runtime_s + 5e-6 * sums.layers
    found = fit_calibration(sums, runtime, 1.1 * sums.energy_above_idle_j + 1e-5 * sums.layers + 4.5 * runtime)
    assert found is not None
    assert (found.runtime_scale, found.runtime_per_layer_s) == pytest.approx((0.8, 5e-6), rel=1e-6)
    assert (found.energy_scale, found.energy_per_layer_j, found.base_power_w) == pytest.approx(
        (1.1, 1e-5, 4.5), rel=1e-6
    )
    assert NetworkCalibration.of(found.fields()) == found


def test_few_networks_give_scales_alone() -> None:
    sums = _sums(4)
    found = fit_calibration(sums, 0.5 * sums.runtime_s, 2.0 * sums.energy_above_idle_j + 4.0 * 0.5 * sums.runtime_s)
    assert found is not None
    assert (found.runtime_scale, found.energy_scale, found.energy_per_layer_j) == pytest.approx((0.5, 2.0, 0.0))
    runtime, energy = found.predict(sums)
    assert energy == pytest.approx(2.0 * sums.energy_above_idle_j + 4.0 * runtime)
    assert fit_calibration(_sums(3), np.ones(3), np.ones(3)) is None
