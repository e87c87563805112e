"""Predictors by name."""

from __future__ import annotations

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.registry import new_predictor
from edgewatt.predictors.targets import Target


def test_settings_depend_on_the_target_and_can_be_given() -> None:
    runtime = new_predictor("neuralpower", LayerKind.DENSE, Target.RUNTIME).get_params()
    power = new_predictor("neuralpower", LayerKind.DENSE, Target.POWER, {"degree": 1}).get_params()
    assert runtime["positive"]
    assert not power["positive"]
    assert power["log_features"]
    assert power["degree"] == 1


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [("magic", {}, "neuralpower"), ("neuralpower", {"depth": 3}, "depth"), ("mean", {"degree": 1}, "no settings")],
)
def test_unknown(name: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(EdgewattError, match=message):
        new_predictor(name, LayerKind.DENSE, Target.POWER, settings)
