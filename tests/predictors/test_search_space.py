"""Settings for one target, and what a search may choose."""

from __future__ import annotations

import pytest

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.physics_predictor import PhysicsPredictor
from edgewatt.predictors.registry import NEURALPOWER_SETTINGS, new_predictor, search_space, settings_of
from edgewatt.predictors.search_space import Choice, Span
from edgewatt.predictors.targets import Target
from small_training import convolutions


def test_a_settings_name_may_begin_with_its_target() -> None:
    settings = {"degree": 2, "power.scaler": "none", "runtime.degree": 3}
    assert settings_of(Target.POWER, settings) == {"degree": 2, "scaler": "none"}
    assert settings_of(Target.RUNTIME, settings) == {"degree": 3}


@pytest.mark.parametrize("name", ["physics", "neuralpower"])
@pytest.mark.parametrize("target", list(Target))
def test_every_setting_that_is_searched_exists_and_its_usual_value_may_be_chosen(name: str, target: Target) -> None:
    space = search_space(name, target)
    assert space
    known = new_predictor(name, LayerKind.CONVOLUTIONAL, target).get_params()
    assert space.keys() <= known.keys()
    for setting, one in space.items():
        if isinstance(one, Choice):
            assert one.usual in one.values
        else:
            assert isinstance(one, Span)
            assert one.low <= one.usual <= one.high
        # A setting that says None says that the target or the number of rows decides.
        if known[setting] is not None:
            assert one.usual == known[setting]


def test_the_mean_has_nothing_to_search_for() -> None:
    assert search_space("mean", Target.POWER) == {}
    assert NEURALPOWER_SETTINGS[Target.POWER]["degree"] == search_space("neuralpower", Target.POWER)["degree"].usual


def test_the_usual_share_is_the_one_that_is_searched_from() -> None:
    table = convolutions(12, seed=1)
    for target in Target:
        y = table[target.value].to_numpy() * (1e-6 if target is Target.POWER else 1.0)
        fitted = PhysicsPredictor(LayerKind.CONVOLUTIONAL, target, trees=2).fit(table, y)
        assert fitted.function_.share == search_space("physics", target)["share"].usual
        other = PhysicsPredictor(LayerKind.CONVOLUTIONAL, target, trees=2, share=0.25).fit(table, y)
        assert other.function_.share == 0.25
