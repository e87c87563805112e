"""What is trained on what, and with which settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from edgewatt.errors import EdgewattError
from edgewatt.formats.run_folders import network_of
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.folder import PREDICTED_KINDS
from edgewatt.predictors.registry import (
    DEFAULT_PREDICTOR,
    DEGREES,
    PREDICTOR_NAMES,
    Predictor,
    Settings,
    new_predictor,
    settings_of,
)
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training_data import TrainingData


@dataclass(frozen=True, eq=False)
class TrainingPlan:
    """What is trained on what.

    Attributes:
        training: What is trained on.
        test: What is held out.
        predictor: One of `PREDICTOR_NAMES`.
        settings: Its settings where they are not the usual ones.
        progress: Called with each step's name before its turn.
    """

    training: TrainingData
    test: TrainingData
    predictor: str
    settings: Settings
    progress: Callable[[str], None] | None

    @property
    def has_fallback(self) -> bool:
        """Whether kinds with too few rows are answered by a predictor of all kinds."""
        return self.predictor == DEFAULT_PREDICTOR

    @property
    def tables(self) -> dict[LayerKind, pl.DataFrame]:
        """The tables that this predictor is trained on."""
        kinds = tuple(LayerKind) if self.has_fallback else PREDICTED_KINDS
        return {kind: self.training.tables[kind] for kind in kinds if kind in self.training.tables}

    def new(self, kind: LayerKind, target: Target) -> Predictor:
        """An untrained predictor of a kind and target."""
        return new_predictor(self.predictor, kind, target, settings_of(target, self.settings))

    def step(self, name: str) -> None:
        """Tell of the next step."""
        if self.progress:
            self.progress(name)


def predictor_name(predictor: str | None, settings: Settings | None, *, tune_degree: bool = False) -> str:
    """The predictor that is meant: the default one where none is named, or NeuralPower's where its settings are."""
    if predictor is not None:
        return predictor
    return "neuralpower" if settings or tune_degree else DEFAULT_PREDICTOR


def divide(data: TrainingData, holdout: Sequence[str], where: Path) -> tuple[TrainingData, TrainingData]:
    """Divide training data into what is trained on and what is held out.

    Args:
        data: The training data.
        holdout: Names of runs or networks. What is held out is the network, on every board and in every state.
        where: The folder, for the error.

    Raises:
        EdgewattError: A network to hold out is not there, or none is left to train on.
    """
    networks = {network_of(name) for name in data.networks}
    unknown = [name for name in holdout if name not in data.networks and name not in networks]
    if unknown:
        raise EdgewattError(
            f"no network {', '.join(unknown)} to hold out", where=where, fix=f"There are: {', '.join(data.networks)}"
        )
    held = {network_of(name) for name in holdout}
    kept = [name for name in data.networks if network_of(name) not in held]
    if not kept:
        raise EdgewattError("all networks are held out", where=where, fix="Leave some to train on")
    return data.of(kept), data.of([name for name in data.networks if network_of(name) in held])


def checked_settings(predictor: str, settings: Settings, tune_degree: bool) -> Settings:
    """The settings, with the degrees to choose from where one is tuned.

    Raises:
        EdgewattError: There is no such predictor or setting, or they contradict each other.
    """
    if predictor not in PREDICTOR_NAMES:
        raise EdgewattError(f"there is no predictor {predictor!r}", fix=f"Choose one of {', '.join(PREDICTOR_NAMES)}")
    # A setting that does not exist is told before anything is fitted.
    for target in Target:
        new_predictor(predictor, LayerKind.CONVOLUTIONAL, target, settings_of(target, settings))
    if not tune_degree:
        return settings
    if predictor != "neuralpower":
        raise EdgewattError(f"the predictor {predictor} has no degree to tune", fix="Leave --tune-degree out")
    if "degree" in settings:
        raise EdgewattError("a degree is either given or tuned", fix="Leave one of the two out")
    return {**settings, "degree": DEGREES}
