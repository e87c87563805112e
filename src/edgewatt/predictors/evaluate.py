"""How good predictors are on layers and networks that they have not seen, by three ways of leaving out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgewatt.errors import EdgewattError
from edgewatt.formats.run_folders import network_of
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import CrossPrediction, cross_predict
from edgewatt.predictors.families import families
from edgewatt.predictors.fleet_data import FleetChoice, check_board_features, fleet_training_data
from edgewatt.predictors.folder import PREDICTED_KINDS
from edgewatt.predictors.folds import Folds, network_folds, row_folds
from edgewatt.predictors.measured_networks import measured_networks
from edgewatt.predictors.network_scores import network_sums, ways_to_predict
from edgewatt.predictors.registry import DEFAULT_PREDICTOR, PREDICTOR_NAMES, new_predictor
from edgewatt.predictors.scoring import (
    interval_entry,
    layer_interval,
    layer_scores,
    network_entries,
)
from edgewatt.predictors.training_data import TrainingData
from edgewatt.tabular import Tabular

#: What is left out, and what that says.
PROTOCOLS: Mapping[str, str] = {
    "network": "leave one network out: a new network",
    "family": "leave one family out: a new design",
    "board": "leave one board out, where their figures are features: a new board, its networks known on others",
    "row": "leave out random rows: a lower bound, for a network's layers resemble each other",
}

#: Rows are left out in so many folds.
_ROW_FOLDS = 10

Scores = dict[str, Any]


@dataclass(frozen=True)
class Evaluation(Tabular):
    """Scores of a predictor and of the baselines.

    Attributes:
        predictor: The predictor's name.
        networks: Names of the networks.
        families: The family of each.
        measured_whole: Whether networks were measured as a whole; else the sums over their layers stand in.
        layers: For each protocol, kind, target and predictor the scores of layers.
        intervals: For each protocol, kind and target the intervals and their coverage.
        whole: For each protocol and target the scores of networks, as `network_entries` makes them.
        coverage: For each protocol how many layers the predictor of their kind, the fallback, or none predicted.
    """

    predictor: str
    networks: tuple[str, ...]
    families: Mapping[str, str]
    measured_whole: bool
    layers: dict[str, dict[str, dict[str, dict[str, Scores]]]]
    intervals: dict[str, dict[str, dict[str, Scores | None]]]
    whole: dict[str, dict[str, dict[str, Any]]]
    coverage: dict[str, dict[str, int]]


def evaluate(
    training_dir: Path,
    *,
    predictor: str = DEFAULT_PREDICTOR,
    named_families: Mapping[str, str] | None = None,
    choice: FleetChoice | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Score a predictor, with NeuralPower's, the mean and the linear model of networks beside it.

    A protocol that needs two networks, families or boards where there is one is left out.

    Args:
        training_dir: One folder of training tables a network.
        predictor: One of `PREDICTOR_NAMES`.
        named_families: Families of networks whose names do not tell.
        choice: Which boards and power modes, and whether boards' figures are features; as for `train`.
        progress: Called with each step's name before its turn.

    Raises:
        EdgewattError: There is no such predictor or network, a table is broken, or boards would be mixed unawares.
    """
    if predictor not in PREDICTOR_NAMES:
        raise EdgewattError(f"there is no predictor {predictor!r}", fix=f"Choose one of {', '.join(PREDICTOR_NAMES)}")
    check_board_features(predictor, choice)
    data = fleet_training_data(training_dir, choice)
    unknown = sorted(set(named_families or {}) - set(data.networks) - set(map(network_of, data.networks)))
    if unknown:
        raise EdgewattError(f"there is no network {unknown[0]!r}", fix=f"There are: {', '.join(data.networks)}")
    family_of = families(data.networks, named_families)
    result = Evaluation(
        predictor,
        data.networks,
        family_of,
        measured_networks(data).whole,
        layers={},
        intervals={},
        whole={},
        coverage={},
    )
    for protocol in PROTOCOLS:
        if protocol != "row" and len(set(_groups(data, protocol, family_of).values())) < 2:
            continue
        _add_protocol(result, data, protocol, _folds(data, protocol, family_of), progress)
    return result


def _folds(data: TrainingData, protocol: str, family_of: Mapping[str, str]) -> Folds:
    if protocol == "row":
        return row_folds(data.tables, _ROW_FOLDS)
    groups = _groups(data, protocol, family_of)
    return network_folds(data.tables, len(set(groups.values())), groups=groups, grouping=protocol)


def _groups(data: TrainingData, protocol: str, family_of: Mapping[str, str]) -> Mapping[str, str]:
    """What each run is left out with."""
    if protocol == "family":
        return family_of
    if protocol == "network":
        return {name: network_of(name) for name in data.networks}
    return {name: str(data.condition(name)) if data.boards else "" for name in data.networks}


def _add_protocol(
    result: Evaluation, data: TrainingData, protocol: str, folds: Folds, progress: Callable[[str], None] | None
) -> None:
    names = dict.fromkeys((result.predictor, "neuralpower", "mean"))
    crossed = {name: _cross(data, folds, name, protocol, progress) for name in names}
    own = crossed[result.predictor]
    result.layers[protocol], result.intervals[protocol] = {}, {}
    for kind, target in own.estimates:
        found = {
            name: scored
            for name, cross in crossed.items()
            if (kind, target) in cross.estimates and (scored := layer_scores(data, cross, kind, target)) is not None
        }
        if found:
            factor, coverage = layer_interval(data, own, kind, target)
            result.layers[protocol].setdefault(kind.value, {})[target.value] = found
            result.intervals[protocol].setdefault(kind.value, {})[target.value] = interval_entry(factor, coverage)
    result.coverage[protocol] = own.coverage()
    result.whole[protocol] = _whole(result, data, protocol, crossed)


def _cross(
    data: TrainingData, folds: Folds, name: str, protocol: str, progress: Callable[[str], None] | None
) -> CrossPrediction:
    has_fallback = name == DEFAULT_PREDICTOR
    kinds = tuple(LayerKind) if has_fallback else PREDICTED_KINDS
    return cross_predict(
        {kind: table for kind, table in data.tables.items() if kind in kinds},
        folds,
        lambda kind, target: new_predictor(name, kind, target),
        with_fallback=has_fallback,
        progress=None if progress is None else lambda step: progress(f"by {protocol}, {name}: {step}"),
    )


def _whole(
    result: Evaluation, data: TrainingData, protocol: str, crossed: Mapping[str, CrossPrediction]
) -> dict[str, dict[str, Any]]:
    """Networks: calibrated as the layers are left out; by rows each network alone, for no network is in two folds."""
    networks = measured_networks(data)
    group_of = _groups(data, "network" if protocol == "row" else protocol, result.families)
    groups = np.unique([group_of[name] for name in networks.names], return_inverse=True)[1]
    sums = {name: network_sums(data, cross, networks) for name, cross in crossed.items()}
    ways = ways_to_predict(result.predictor, sums, networks, groups)
    return network_entries(result.predictor, networks, ways, protocol, groups)
