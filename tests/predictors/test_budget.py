"""Limits that a predicted network must keep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.budget import Budget, exceeded
from edgewatt.predictors.network_prediction import Interval, LayerPrediction, NetworkPrediction, Status, WholeNetwork
from edgewatt.predictors.prior import prior_prediction, read_calibration


def _layer(name: str, power_w: float, runtime_s: float) -> LayerPrediction:
    layer = Layer(name, LayerKind.DENSE, "gemm", (1, 4), (1, 4), macs=16)
    return LayerPrediction(layer, LayerKind.DENSE, Status.PREDICTED, power_w, runtime_s)


LAYERS = (_layer("large", 3.0, 3e-3), _layer("small", 1.0, 1e-3))
WHOLE = WholeNetwork(5e-3, 40e-3, 9, Interval(4e-3, 6e-3), Interval(30e-3, 50e-3), Interval(7.0, 9.0))


def test_the_upper_end_of_the_whole_network_must_keep_the_limit() -> None:
    prediction = NetworkPrediction(LAYERS, 4.0, WHOLE)
    assert exceeded(prediction, Budget(50.0, 9.0, 6.0)) == []
    energy, power, runtime = exceeded(prediction, Budget(40.0, 8.5, 5.5))
    assert energy.startswith(
        "energy 50 mJ (upper end of its interval; predicted 40), at most 40 mJ allowed: over by 10 mJ"
    )
    # 9 of 10 mJ above idle are the large layer's.
    assert "25%; most of it goes to large (90%), small (10%)" in energy
    assert "mean power 9 W (upper end of its interval; predicted 8), at most 8.5 W" in power
    assert "runtime 6 ms (upper end" in runtime
    assert "large (75%), small (25%)" in runtime
    assert exceeded(prediction, Budget(40.0, 8.0, 5.0), at="mean") == []
    assert len(exceeded(prediction, Budget(39.9, 7.9, 4.9), at="mean")) == 3


def test_sums_stand_in_for_a_whole_network_that_is_not_known() -> None:
    # 4 ms of layers with 10 mJ above idle, and 4 W of idle power.
    prediction = NetworkPrediction(LAYERS, 4.0)
    assert exceeded(prediction, Budget(26.01, 6.51, 4.01)) == []
    assert len(exceeded(prediction, Budget(25.9, 6.4, 3.9))) == 3
    assert exceeded(NetworkPrediction(LAYERS), Budget(max_energy_mj=10.01)) == []


def test_what_is_not_known_keeps_no_limit() -> None:
    timed = replace(LAYERS[0], status=Status.UNCOVERED, power_w=None)
    prediction = NetworkPrediction((timed,), 4.0)
    assert prediction.runtime_s == pytest.approx(3e-3)
    assert prediction.energy_above_idle_j is None
    assert prediction.power_including_idle_w is None
    energy, power = exceeded(prediction, Budget(1e6, 1e6, 3.1))
    assert energy == "energy is not known of 1 of 1 layer, so that at most 1e+06 mJ cannot be promised"
    assert power.startswith("mean power is not known of 1 of 1 layer")
    assert "runtime 3 ms, at most 2.9 ms" in exceeded(prediction, Budget(max_runtime_ms=2.9))[0]
    unknown = replace(timed, runtime_s=None)
    (runtime,) = exceeded(NetworkPrediction((LAYERS[1], unknown)), Budget(max_runtime_ms=100.0))
    assert runtime.startswith("runtime is not known of 1 of 2 layers")


@pytest.mark.parametrize(("quantity", "limit"), [("energy", "max_energy_mj"), ("power", "max_power_w")])
def test_a_prior_is_held_at_the_end_of_its_interval(quantity: str, limit: str) -> None:
    prediction = prior_prediction(network_layers("resnet18"), "orin-nano")
    whole, known = prediction.whole, read_calibration()
    assert whole is not None
    value = (whole.energy_j or 0.0) * 1e3 if quantity == "energy" else whole.power_w or 0.0
    factor = known.energy_factor if quantity == "energy" else known.power_factor
    assert len(exceeded(prediction, Budget(**{limit: value * factor * 0.99}))) == 1
    assert exceeded(prediction, Budget(**{limit: value * factor * 1.01})) == []
    assert exceeded(prediction, Budget(**{limit: value * 1.01}), at="mean") == []


def test_what_is_no_budget() -> None:
    with pytest.raises(EdgewattError, match="max_power_w is not a number"):
        Budget(max_power_w=float("nan"))
    with pytest.raises(EdgewattError, match="cannot be held at 'most'"):
        exceeded(NetworkPrediction(LAYERS), Budget(1.0), at="most")
