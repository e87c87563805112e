"""How good trained predictors are on networks that were measured since."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewatt.errors import EdgewattError
from edgewatt.formats.run_folders import network_of
from edgewatt.formats.sweep import is_sweep
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import CrossPrediction, measured_rows
from edgewatt.predictors.fleet_data import FleetChoice, fleet_training_data
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.metrics import scores
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training_data import NETWORK, TrainingData
from edgewatt.predictors.transfer_networks import predicted_networks, predicted_rows


@dataclass(frozen=True)
class TrainedScores:
    """Scores of trained predictors.

    Attributes:
        networks: Networks that they were scored on: those that they were not trained on.
        known: Networks of the folder that they were trained on, and so are left out.
        layers: Scores of layers by kind and target; with `fallback`, whether the predictor of all kinds answered.
        left_out: Kinds and targets that no predictor answers.
        network: Scores of whole networks, idle power and the predictors' calibration included, by runtime (ms), energy
            (mJ) and power (W); a sweep is no network.
        whole: Whether these were measured as a whole; else sums over the tables' layers stand in.
    """

    networks: tuple[str, ...]
    known: tuple[str, ...]
    layers: dict[str, dict[str, dict[str, Any]]]
    left_out: tuple[str, ...]
    network: dict[str, dict[str, Any]] = field(default_factory=dict)
    whole: bool = False


def trained_scores(training_dir: Path, predictors: Predictors, choice: FleetChoice | None = None) -> TrainedScores:
    """Score trained predictors on the networks of a folder that they were not trained on, on whichever board.

    Args:
        training_dir: One folder of training tables a network.
        predictors: The predictors.
        choice: Which boards and power modes. Where boards' figures are features of the predictors, several may stand
            together.

    Raises:
        EdgewattError: A table is broken, they were trained on all of its networks, boards would be mixed unawares, or
            the figures of one are not known.
    """
    meant = choice or FleetChoice()
    data = fleet_training_data(training_dir, replace(meant, board_features=bool(predictors.boards)))
    trained_on = set(map(network_of, predictors.networks))
    new = [name for name in data.networks if network_of(name) not in trained_on]
    if not new:
        raise EdgewattError(
            "the predictors were trained on all networks that are there",
            where=training_dir,
            fix="Name a folder with others",
        )
    chosen = data.of(new)
    rows = predicted_rows(chosen, predictors)
    layers: dict[str, dict[str, dict[str, Any]]] = {}
    left_out = []
    for kind in chosen.tables:
        for target in Target:
            found = _scores(chosen, rows, kind, target)
            if found is None:
                left_out.append(f"{kind} {target}")
            elif found:
                layers.setdefault(kind.value, {})[target.value] = found
    known = tuple(name for name in data.networks if name not in new)
    network, whole = _network_scores(chosen, predictors, rows)
    return TrainedScores(tuple(new), known, layers, tuple(left_out), network, whole)


def _network_scores(
    data: TrainingData, predictors: Predictors, rows: CrossPrediction
) -> tuple[dict[str, dict[str, Any]], bool]:
    """Scores of whole networks by what is predicted of them, and whether they were measured as a whole."""
    if all(is_sweep(name) for name in data.networks):
        return {}, False
    networks, values = predicted_networks(data, predictors, rows)
    names, found = np.array(networks.names), {}
    for name, true in networks.values().items():
        known = np.isfinite(true) & np.isfinite(values[name]) & (true > 0.0)
        if known.any():
            found[name] = asdict(scores(true[known], values[name][known], names[known]))
    return found, networks.whole


def _scores(data: TrainingData, predicted: CrossPrediction, kind: LayerKind, target: Target) -> dict[str, Any] | None:
    """Scores of a kind and target; empty where nothing was measured, None where nothing predicts."""
    table = data.tables[kind]
    rows, y = measured_rows(table, target)
    if len(y) == 0:
        return {}
    values = predicted.estimates[kind, target].value[rows]
    if np.isnan(values).all():
        return None
    fallback = bool(predicted.by_fallback[kind, target][0])
    return {**asdict(scores(y, values, table[NETWORK].to_numpy()[rows])), "fallback": fallback}
