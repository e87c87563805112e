"""What `metrics.json` says of trained predictors: their scores, their intervals, and the baselines beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import polars as pl

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import CrossPrediction, cross_predict, measured_rows
from edgewatt.predictors.fit_plan import fit_one
from edgewatt.predictors.fleet_data import networks_by_condition
from edgewatt.predictors.fleet_scores import BoardScore, board_folds_prediction, fleet_scores, new_board_intervals
from edgewatt.predictors.folder import PREDICTED_KINDS
from edgewatt.predictors.folds import network_folds
from edgewatt.predictors.measured_networks import measured_networks
from edgewatt.predictors.metrics import scores
from edgewatt.predictors.network_calibration import NetworkCalibration
from edgewatt.predictors.network_scores import calibrate, network_groups, network_sums, ways_to_predict
from edgewatt.predictors.registry import DEFAULT_PREDICTOR, new_predictor
from edgewatt.predictors.repeat_error import repeat_error
from edgewatt.predictors.scoring import (
    NETWORKS_KEY,
    energy_interval,
    interval_entry,
    layer_interval,
    layer_scores,
    network_entries,
)
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training_data import NETWORK, TrainingData
from edgewatt.predictors.training_plan import TrainingPlan

Metrics = dict[str, dict[str, dict[str, Any]]]


def cross_predicted(plan: TrainingPlan, predictor: str, most_folds: int) -> CrossPrediction:
    """Predictions out of folds of one of the predictors, named in the progress where it is a baseline."""
    own = predictor == plan.predictor
    tables = plan.tables if predictor == DEFAULT_PREDICTOR else _without_other(plan.tables)
    return cross_predict(
        tables,
        network_folds(plan.training.tables, most_folds),
        plan.new if own else lambda kind, target: new_predictor(predictor, kind, target),
        with_fallback=predictor == DEFAULT_PREDICTOR,
        progress=None if not plan.progress else lambda name: plan.step(name if own else f"{predictor}: {name}"),
    )


def _without_other(tables: Mapping[LayerKind, pl.DataFrame]) -> dict[LayerKind, pl.DataFrame]:
    return {kind: table for kind, table in tables.items() if kind in PREDICTED_KINDS}


def layer_metrics(
    plan: TrainingPlan, cross: CrossPrediction, stored: Mapping[tuple[LayerKind, Target], StoredPredictor]
) -> tuple[Metrics, dict[tuple[str, str], float]]:
    """The entries of each kind and target, and the factors of intervals, of energies too."""
    metrics: Metrics = {}
    intervals: dict[tuple[str, str], float] = {}
    for (kind, target), one in stored.items():
        entry = {
            "predictor": plan.predictor,
            "cv": layer_scores(plan.training, cross, kind, target),
            "test": _test_scores(one, plan.test, kind, target),
            "baselines": {},
            "repeat_error": _repeat_entry(plan, kind, target),
        }
        factor, coverage = layer_interval(plan.training, cross, kind, target)
        entry["interval"] = interval_entry(factor, coverage)
        if factor is not None:
            intervals[kind.value, target.value] = factor
        metrics.setdefault(kind.value, {})[target.value] = entry
    for kind in {kind for kind, _ in stored}:
        if all((kind, target) in stored for target in Target):
            factor, _ = energy_interval(plan.training, cross, kind)
            if factor is not None:
                intervals[kind.value, "energy"] = factor
    return metrics, intervals


def _repeat_entry(plan: TrainingPlan, kind: LayerKind, target: Target) -> dict[str, Any] | None:
    """What repeated measurements of the kind's layers differ by; None where it is not known."""
    found = repeat_error(kind, plan.training.tables[kind], target)
    return None if found is None else asdict(found)


def add_baseline(plan: TrainingPlan, name: str, cross: CrossPrediction, metrics: Metrics) -> None:
    """Score a baseline on the same kinds and targets."""
    for kind_name, targets in metrics.items():
        kind = LayerKind(kind_name)
        for target_name, entry in targets.items():
            target = Target(target_name)
            if (kind, target) not in cross.estimates:
                continue
            entry["baselines"][name] = {
                "cv": layer_scores(plan.training, cross, kind, target),
                "test": _baseline_test_scores(plan, name, kind, target),
            }


def _baseline_test_scores(plan: TrainingPlan, name: str, kind: LayerKind, target: Target) -> Mapping[str, Any] | None:
    if plan.test.tables.get(kind) is None:
        return None
    _, one = fit_one(replace(plan, predictor=name, settings={}), kind, target, plan.tables[kind])
    return _test_scores(one, plan.test, kind, target)


def _test_scores(one: StoredPredictor, test: TrainingData, kind: LayerKind, target: Target) -> Mapping[str, Any] | None:
    table = test.tables.get(kind)
    if table is None:
        return None
    rows, y = measured_rows(table, target)
    if len(y) == 0:
        return None
    return asdict(scores(y, one.function.predict(table[rows]), table[NETWORK].to_numpy()[rows]))


def network_metrics(
    plan: TrainingPlan, crossed: Mapping[str, CrossPrediction], metrics: Metrics
) -> NetworkCalibration | None:
    """Score whole networks, add their entries, and calibrate."""
    networks = measured_networks(plan.training)
    if len(networks.names) < 2:
        return None
    sums = {name: network_sums(plan.training, cross, networks) for name, cross in crossed.items()}
    ways = ways_to_predict(plan.predictor, sums, networks)
    groups = network_groups(networks.names)
    metrics[NETWORKS_KEY] = network_entries(plan.predictor, networks, ways, "network", groups)
    return calibrate(sums[plan.predictor], networks)


def fleet_metrics(
    plan: TrainingPlan, cross: CrossPrediction, most_folds: int
) -> tuple[tuple[BoardScore, ...], dict[str, float]]:
    """Scores on each board, and factors of intervals on boards that are not among them.

    Args:
        plan: What is trained; nothing is scored where boards are no features of it, or there is one only.
        cross: Every layer predicted without its network.
        most_folds: Folds of predictors of one board alone.
    """
    if len(plan.training.boards) < 2 or len(networks_by_condition(plan.training)) < 2:
        return (), {}
    other_boards = board_folds_prediction(
        plan.training,
        plan.new,
        with_fallback=plan.has_fallback,
        progress=None if plan.progress is None else lambda name: plan.step(f"boards left out: {name}"),
    )
    scored = fleet_scores(
        plan.training,
        cross,
        other_boards,
        plan.new,
        most_folds,
        with_fallback=plan.has_fallback,
        progress=plan.progress,
    )
    return tuple(scored), new_board_intervals(plan.training, other_boards)
