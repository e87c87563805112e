"""Whole networks of a target: predicted by adapted predictors, and by what could be had instead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgewatt.predictors.cross_prediction import CrossPrediction
from edgewatt.predictors.estimate import Estimate, KindFunction
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.folds import Folds
from edgewatt.predictors.measured_networks import MeasuredNetworks, Values, measured_networks, network_values
from edgewatt.predictors.network_calibration import NetworkCalibration, NetworkSums
from edgewatt.predictors.network_intervals import network_factor
from edgewatt.predictors.network_scores import NETWORK_TARGETS, calibrate, calibrated_values, network_sums
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import Array
from edgewatt.predictors.training_data import TrainingData


def adapted_networks(
    sums: NetworkSums, networks: MeasuredNetworks, source: NetworkCalibration | None
) -> tuple[NetworkCalibration, Values, bool]:
    """The calibration of a target's networks: its own or the source's, whichever is nearer to networks left out.

    Args:
        sums: Sums over layers, each predicted without its network.
        networks: What the networks took.
        source: The source's calibration; None where it has none.

    Returns:
        The calibration; what it makes of each network when neither it nor its choice knew that network; and whether it
        is the target's own.
    """
    kept = source or NetworkCalibration()
    by_source = network_values(*kept.predict(sums))
    own = calibrate(sums, networks)
    if own is None or not networks.whole:
        return replace(kept, intervals=_intervals(networks, by_source)), by_source, False
    by_own = calibrated_values(sums, networks)
    errors = [_errors(networks, values) for values in (by_own, by_source)]
    count = len(networks.names)
    without = [np.array([np.delete(one, place).sum() for place in range(count)]) for one in errors]
    takes_own = without[0] <= without[1]
    chosen: Values = {name: np.where(takes_own, by_own[name], by_source[name]) for name in NETWORK_TARGETS}
    is_own = bool(errors[0].sum() <= errors[1].sum())
    calibration = own if is_own else kept
    return replace(calibration, intervals=_intervals(networks, chosen)), chosen, is_own


def predicted_networks(
    data: TrainingData, predictors: Predictors, rows: CrossPrediction | None = None
) -> tuple[MeasuredNetworks, Values]:
    """Measured networks as predictors say that they are, idle power and calibration included.

    Args:
        data: Networks that nothing of the predictors was fitted to.
        predictors: The predictors.
        rows: What `predicted_rows` says of them, where that is known already.
    """
    networks = measured_networks(data)
    sums = network_sums(data, rows or predicted_rows(data, predictors), networks)
    idle_w = np.nan if predictors.idle_power_w is None else predictors.idle_power_w
    sums = replace(sums, idle_power_w=np.full(len(networks.names), idle_w))
    return networks, network_values(*(predictors.calibration or NetworkCalibration()).predict(sums))


def predicted_rows(data: TrainingData, predictors: Predictors) -> CrossPrediction:
    """Every layer as predictors say it is."""
    estimates: dict[tuple[object, Target], Estimate] = {}
    fallback: dict[tuple[object, Target], NDArray[np.bool_]] = {}
    for kind, table in data.tables.items():
        for target in Target:
            stored, other = predictors.get(kind, target), predictors.fallback.get(target)
            if stored is not None:
                estimates[kind, target] = stored.function.estimate(table)
            elif other is not None and isinstance(other.function, KindFunction):
                estimates[kind, target] = other.function.estimate_kind(kind, table)
            else:
                nothing = np.full(table.height, np.nan)
                estimates[kind, target] = Estimate(nothing, nothing, np.zeros(table.height, dtype=np.bool_))
            fallback[kind, target] = np.full(table.height, stored is None)
    zeros = {kind: np.zeros(table.height, dtype=np.int64) for kind, table in data.tables.items()}
    return CrossPrediction(estimates, Folds(zeros, dict.fromkeys(zeros, "network")), fallback)  # type: ignore[arg-type]


def _errors(networks: MeasuredNetworks, values: Values) -> Array:
    """Sum of the logarithmic errors of a network's runtime and energy, shape (n,)."""
    total = np.zeros(len(networks.names))
    for name, true in networks.values().items():
        if name in ("runtime", "energy"):
            with np.errstate(divide="ignore", invalid="ignore"):
                total += np.nan_to_num(np.abs(np.log(values[name] / true)), posinf=10.0, neginf=10.0)
    return total


def _intervals(networks: MeasuredNetworks, values: Values) -> dict[str, float]:
    found = {}
    for name, true in networks.values().items():
        known = np.isfinite(true) & np.isfinite(values[name]) & (true > 0.0) & (values[name] > 0.0)
        factor = network_factor(np.log(true[known] / values[name][known]))
        if factor is not None:
            found[name] = factor
    return found
