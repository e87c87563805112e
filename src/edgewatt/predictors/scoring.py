"""The entries of `metrics.json`: scores of layers and of networks, with the baselines beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import CrossPrediction, measured_rows
from edgewatt.predictors.intervals import LEVEL, Coverage, conformal_factor, cross_coverage, log_errors
from edgewatt.predictors.measured_networks import MeasuredNetworks, Values
from edgewatt.predictors.metrics import scores
from edgewatt.predictors.network_intervals import network_coverage, network_factor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import Array
from edgewatt.predictors.training_data import NETWORK, TrainingData

#: The key of whole networks in `metrics.json`, beside the kinds of layer.
NETWORKS_KEY = "network"


def layer_scores(data: TrainingData, cross: CrossPrediction, kind: LayerKind, target: Target) -> dict[str, Any] | None:
    """Scores of a kind's layers out of folds; None where none was predicted."""
    table = data.tables[kind]
    rows, y = measured_rows(table, target)
    value = cross.estimates[kind, target].value[rows]
    known = np.isfinite(value)
    if not known.any():
        return None
    found = scores(y[known], value[known], table[NETWORK].to_numpy()[rows][known])
    return {**asdict(found), "grouping": cross.folds.grouping[kind]}


def layer_interval(
    data: TrainingData, cross: CrossPrediction, kind: LayerKind, target: Target
) -> tuple[float | None, Coverage | None]:
    """The factor of a kind's intervals, and how often intervals made so hold what they must."""
    rows, y = measured_rows(data.tables[kind], target)
    estimate = cross.estimates[kind, target].take(rows)
    known = np.isfinite(estimate.value)
    estimate = estimate.take(known)
    interval_scores = np.abs(log_errors(y[known], estimate)) / estimate.spread
    return _factor_and_coverage(interval_scores, cross.folds.numbers[kind][rows][known])


def energy_interval(
    data: TrainingData, cross: CrossPrediction, kind: LayerKind
) -> tuple[float | None, Coverage | None]:
    """The same of the energy above idle: errors of power and runtime partly cancel, so it has a factor of its own."""
    table = data.tables[kind]
    rows, power = measured_rows(table, Target.POWER)
    runtime = table["runtime"].cast(float).to_numpy()[rows]
    by_power, by_runtime = (cross.estimates[kind, target].take(rows) for target in Target)
    known = np.isfinite(by_power.value) & np.isfinite(by_runtime.value) & (runtime > 0.0)
    by_power, by_runtime = by_power.take(known), by_runtime.take(known)
    errors = log_errors(power[known], by_power) + log_errors(runtime[known], by_runtime)
    spread = np.hypot(by_power.spread, by_runtime.spread)
    return _factor_and_coverage(np.abs(errors) / spread, cross.folds.numbers[kind][rows][known])


def interval_entry(factor: float | None, coverage: Coverage | None) -> dict[str, Any] | None:
    """An interval as `metrics.json` tells of it."""
    if factor is None:
        return None
    return {"level": LEVEL, "factor": factor, "coverage": None if coverage is None else asdict(coverage)}


def network_entries(
    predictor: str,
    networks: MeasuredNetworks,
    ways: Mapping[str, Values],
    grouping: str,
    groups: NDArray[np.int64] | None = None,
) -> dict[str, dict[str, Any]]:
    """Entries of whole networks, each predicted by predictors and a calibration that had not seen it.

    Args:
        predictor: Name of the predictor that is scored; the other ways are its baselines.
        networks: What the networks took.
        ways: What each way predicts.
        grouping: What was left out together: `network`, `family` or `row`.
        groups: Networks of one number were left out together, shape (n,); None for each alone.
    """
    true = networks.values()
    return {
        target: {
            "predictor": predictor,
            "cv": network_scores(true[target], ways[predictor][target], networks.names, grouping),
            "test": None,
            "baselines": {
                name: {"cv": network_scores(true[target], values[target], networks.names, grouping), "test": None}
                for name, values in ways.items()
                if name != predictor
            },
            "interval": network_interval(true[target], ways[predictor][target], groups),
        }
        for target in true
    }


def network_interval(true: Array, predicted: Array, groups: NDArray[np.int64] | None = None) -> dict[str, Any] | None:
    """The interval of networks, and the share of left-out ones that it holds; None for too few.

    Args:
        true: Measured, shape (n,).
        predicted: Of networks that were not calibrated on, shape (n,).
        groups: As for `network_entries`.
    """
    known = np.isfinite(true) & np.isfinite(predicted) & (predicted > 0.0) & (true > 0.0)
    numbers = np.arange(len(true)) if groups is None else groups
    errors = np.log(true[known] / predicted[known])
    factor = network_factor(errors)
    if factor is None:
        return None
    return {"level": LEVEL, "factor": factor, "covered": network_coverage(errors, numbers[known])}


def network_scores(true: Array, predicted: Array, names: tuple[str, ...], grouping: str) -> dict[str, Any] | None:
    """Scores over networks, each counted once; None where nothing can be compared."""
    known = np.isfinite(true) & np.isfinite(predicted)
    if not known.any():
        return None
    return {**asdict(scores(true[known], predicted[known], list(np.array(names)[known]))), "grouping": grouping}


def _factor_and_coverage(interval_scores: Array, folds: NDArray[np.int64]) -> tuple[float | None, Coverage | None]:
    factor = conformal_factor(interval_scores)
    return factor, None if factor is None else cross_coverage(interval_scores, folds)
