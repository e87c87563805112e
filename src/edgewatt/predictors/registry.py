"""The predictors by name, and what each is set to for each target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.formats.run_folders import network_of
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.baselines import MeanPredictor
from edgewatt.predictors.estimate import Function
from edgewatt.predictors.neuralpower import NeuralPowerPredictor
from edgewatt.predictors.physics_predictor import SEARCH_SPACES, PhysicsPredictor
from edgewatt.predictors.search_space import Choice, SearchSpace, Span
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import Array

Settings = Mapping[str, Any]


class Predictor(Protocol):
    """What a predictor is: scikit-learn's fit and predict, told of networks, and a function to store.

    Attributes:
        note_: What was simplified, in words; empty where nothing was.
    """

    note_: str

    @property
    def function_(self) -> Function:
        """What was fitted, as it is stored."""

    def fit(self, table: pl.DataFrame, y: Array, groups: Sequence[str] | NDArray[Any] | None = None) -> Any:
        """Fit to one row a layer and its target, shape (rows,)."""

    def predict(self, table: pl.DataFrame) -> Array:
        """Predict the target, shape (rows,)."""

    def get_params(self) -> dict[str, Any]:
        """The settings."""


#: NeuralPower's settings for each target, chosen by cross-validation: runtimes add up, so that no term of
#: one is negative, and grow with products of sizes; power saturates, as logarithms do, and no layer draws
#: several times the power of all others.
NEURALPOWER_SETTINGS: Mapping[Target, Settings] = {
    Target.POWER: {"degree": 2, "log_features": True, "range_factor": 2.0},
    Target.RUNTIME: {"degree": 3, "positive": True},
}

#: What a search for better settings of NeuralPower's chooses from; the penalty is chosen within each fit.
NEURALPOWER_SEARCH: Mapping[Target, SearchSpace] = {
    target: {
        "degree": Span(1, 3, usual=settings["degree"], whole=True),
        "log_features": Choice((False, True), usual=settings.get("log_features", False)),
        "special_terms": Choice((False, True), usual=True),
        "scaler": Choice(("standard", "minmax"), usual="standard"),
        "range_factor": Span(1.5, 30.0, usual=settings.get("range_factor", 10.0), log=True),
    }
    for target, settings in NEURALPOWER_SETTINGS.items()
}

#: What `tune_degree` chooses from.
DEGREES = (1, 2, 3)


def _neuralpower(kind: LayerKind, target: Target, settings: Settings) -> Predictor:
    predictor: Predictor = NeuralPowerPredictor(kind, **{**NEURALPOWER_SETTINGS[target], **settings})
    return predictor


def _mean(kind: LayerKind, target: Target, settings: Settings) -> Predictor:
    if settings:
        raise EdgewattError(f"the mean of {target} has no settings", fix="Leave them out")
    predictor: Predictor = MeanPredictor(kind)
    return predictor


def _physics(kind: LayerKind, target: Target, settings: Settings) -> Predictor:
    predictor: Predictor = PhysicsPredictor(kind, target, **settings)
    return predictor


_PREDICTORS: Mapping[str, Callable[[LayerKind, Target, Settings], Predictor]] = {
    "physics": _physics,
    "neuralpower": _neuralpower,
    "mean": _mean,
}

#: The predictor that is trained where none is named.
DEFAULT_PREDICTOR = "physics"

#: Names that `new_predictor` knows.
PREDICTOR_NAMES = tuple(_PREDICTORS)


def fit_predictor(
    predictor: Predictor,
    table: pl.DataFrame,
    y: Array,
    networks: NDArray[Any],
    others: Mapping[LayerKind, pl.DataFrame],
) -> None:
    """Fit a predictor; one that can learn costs from other kinds of layer is told of their tables.

    Args:
        predictor: Untrained.
        table: One row a layer.
        y: The target, shape (rows,).
        networks: The run of each row, shape (rows,); runs of one network count as one.
        others: Training tables of all kinds.
    """
    groups = np.array([network_of(name) for name in networks.tolist()], dtype=np.str_)
    if isinstance(predictor, PhysicsPredictor):
        predictor.fit(table, y, groups, others)
    else:
        predictor.fit(table, y, groups)


def search_space(name: str, target: Target) -> SearchSpace:
    """What a search for a predictor's settings may choose; empty for one without settings.

    Args:
        name: One of `PREDICTOR_NAMES`.
        target: What it predicts.
    """
    spaces: Mapping[str, Mapping[Target, SearchSpace]] = {"physics": SEARCH_SPACES, "neuralpower": NEURALPOWER_SEARCH}
    return spaces.get(name, {}).get(target, {})


def settings_of(target: Target, settings: Settings) -> Settings:
    """The settings for one target: those without a target in their name, and those with this one's.

    Args:
        target: What is predicted.
        settings: Settings by name; `power.degree` is the degree of predictors of power.
    """
    common = {name: value for name, value in settings.items() if name.partition(".")[0] not in tuple(Target)}
    prefix = f"{target.value}."
    return {**common, **{name[len(prefix) :]: value for name, value in settings.items() if name.startswith(prefix)}}


def new_predictor(name: str, kind: LayerKind, target: Target, settings: Settings | None = None) -> Predictor:
    """Make an untrained predictor.

    Args:
        name: One of `PREDICTOR_NAMES`.
        kind: The kind of layer.
        target: What it predicts.
        settings: Its settings where they are not the usual ones.

    Raises:
        EdgewattError: There is no such predictor or setting.
    """
    if name not in _PREDICTORS:
        raise EdgewattError(f"there is no predictor {name!r}", fix=f"Choose one of {', '.join(_PREDICTORS)}")
    try:
        return _PREDICTORS[name](kind, target, settings or {})
    except TypeError as error:
        raise EdgewattError(f"the predictor {name} has no such setting: {error}") from error
