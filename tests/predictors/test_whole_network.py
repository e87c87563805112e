"""Predicted networks as a whole."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import pytest

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.network_calibration import NetworkCalibration
from edgewatt.predictors.network_prediction import LayerPrediction, Status
from edgewatt.predictors.whole_network import whole_network

CALIBRATION = NetworkCalibration(12, 1.0, 5e-6, 90e-6, 1.0, 0.5, {"runtime": 0.02, "energy": 0.05})
PREDICTORS = Predictors({}, ("a",), idle_power_w=4.0, calibration=CALIBRATION)
LAYER = LayerPrediction(
    Layer("c", LayerKind.DENSE, "gemm", (1, 4), (1, 4), macs=16), LayerKind.DENSE, Status.PREDICTED, 3.0, 1e-3
)
FREE = replace(LAYER, status=Status.FREE, power_w=0.0, runtime_s=0.0)


def test_a_network_is_its_layers_the_overhead_and_idle_power() -> None:
    found = whole_network([LAYER, FREE, LAYER], PREDICTORS)
    assert found is not None
    # Two layers of 1 ms and 3 mJ; 2 x 5 + 90 us beside them at 0.5 W; 4 W of idle power all the time.
    assert found.runtime_s == pytest.approx(2.1e-3)
    assert found.energy_j == pytest.approx(6e-3 + 0.05e-3 + 4.0 * 2.1e-3)
    assert found.power_w == pytest.approx((found.energy_j or 0.0) / 2.1e-3)
    assert found.calibrated_on == 12
    assert found.runtime_interval_s == pytest.approx((2.1e-3 / exp(0.02), 2.1e-3 * exp(0.02)))
    assert found.power_interval_w is None


def test_the_interval_widens_with_what_is_extrapolated() -> None:
    half = whole_network([LAYER, replace(LAYER, distant=True)], PREDICTORS)
    whole = whole_network([replace(LAYER, outside=("kernel_0",))] * 2, PREDICTORS)
    for found, widening in ((half, 1.5), (whole, 2.0)):
        assert found is not None
        assert found.energy_interval_j is not None
        assert found.energy_j is not None
        assert found.energy_interval_j.high / found.energy_j == pytest.approx(exp(0.05 * widening))


def test_a_network_that_is_not_covered_is_not_told() -> None:
    assert whole_network([LAYER, replace(LAYER, status=Status.UNCOVERED, power_w=None)], PREDICTORS) is None
    assert whole_network([LAYER], replace(PREDICTORS, calibration=None)) is None
    assert whole_network([FREE], PREDICTORS) is None


def test_energy_is_not_known_without_idle_power() -> None:
    found = whole_network([LAYER], replace(PREDICTORS, idle_power_w=None))
    assert found is not None
    assert (found.energy_j, found.energy_interval_j, found.power_w) == (None, None, None)
    assert found.runtime_s == pytest.approx(1.095e-3)
