"""Whole networks of a training set: what their layers add up to, and how well each is predicted from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.run_folders import network_of
from edgewatt.predictors.cross_prediction import CrossPrediction
from edgewatt.predictors.measured_networks import MeasuredNetworks, Values, network_values
from edgewatt.predictors.network_calibration import (
    NetworkCalibration,
    NetworkSums,
    fit_calibration,
    relative_non_negative,
)
from edgewatt.predictors.network_intervals import network_factor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training_data import TrainingData

#: What is predicted of a network, and its unit.
NETWORK_TARGETS = {"runtime": "ms", "energy": "mJ", "power": "W"}

#: The way of predicting a network that leaves the calibration out.
SUM_OF_LAYERS = "sum of layers"


def network_groups(names: Sequence[str]) -> NDArray[np.int64]:
    """One number for each network, the same on every board and in every state; shape (n,)."""
    own = [network_of(name) for name in names]
    first = {name: number for number, name in enumerate(dict.fromkeys(own))}
    return np.array([first[name] for name in own], dtype=np.int64)


def network_sums(data: TrainingData, cross: CrossPrediction, networks: MeasuredNetworks) -> NetworkSums:
    """Sums over each network's layers of what was predicted without its fold."""
    index = {name: position for position, name in enumerate(networks.names)}
    runtime_s, energy_j, layers = (np.zeros(len(index)) for _ in range(3))
    for kind, table in data.tables.items():
        if (kind, Target.POWER) not in cross.estimates:
            continue
        power_w, time_s = cross.power_and_runtime(kind)
        known = np.isfinite(power_w) & np.isfinite(time_s)
        if not networks.whole:
            known &= table["power"].is_not_null().to_numpy()
        for row, name in enumerate(table["network"].to_list()):
            if name in index and known[row]:
                runtime_s[index[name]] += time_s[row]
                energy_j[index[name]] += power_w[row] * time_s[row]
                layers[index[name]] += 1
    return NetworkSums(runtime_s, energy_j, layers, networks.idle_power_w)


def calibrate(sums: NetworkSums, networks: MeasuredNetworks) -> NetworkCalibration | None:
    """Fit the calibration to all networks, with intervals from predicting each by the others.

    Where no network was measured as a whole, the sums over layers are left as they are, and the intervals say how far
    such sums were off.
    """
    usable = _usable(sums, networks)
    if len(usable) == 0:
        return None
    chosen = sums.take(usable)
    if networks.whole:
        measured = networks.take(usable)
        fitted = fit_calibration(chosen, measured.layer_sums, measured.runtime_s, measured.energy_j)
    else:
        fitted = NetworkCalibration()
    if fitted is None:
        return None
    true = networks.values()
    found = calibrated_values(sums, networks)
    intervals = {}
    for name in NETWORK_TARGETS:
        errors = np.log(true[name][usable] / found[name][usable])
        factor = network_factor(errors[np.isfinite(errors)])
        if factor is not None:
            intervals[name] = factor
    return replace(fitted, intervals=intervals)


def calibrated_values(sums: NetworkSums, networks: MeasuredNetworks, groups: NDArray[np.int64] | None = None) -> Values:
    """Each network by the calibration of the others; by plain sums where there is none.

    Args:
        sums: Sums over layers.
        networks: What they took.
        groups: Networks of one number are left out together, shape (n,); None for each alone, on all boards.
    """
    numbers = network_groups(networks.names) if groups is None else groups
    usable = _usable(sums, networks)
    runtime_s, energy_j = NetworkCalibration().predict(sums)
    if networks.whole:
        for number in np.unique(numbers):
            others = usable[numbers[usable] != number]
            known = networks.take(others)
            fitted = fit_calibration(sums.take(others), known.layer_sums, known.runtime_s, known.energy_j)
            rows = np.flatnonzero(numbers == number)
            if fitted is not None:
                runtime_s[rows], energy_j[rows] = fitted.predict(sums.take(rows))
    return network_values(runtime_s, energy_j)


def ways_to_predict(
    predictor: str,
    sums: Mapping[str, NetworkSums],
    networks: MeasuredNetworks,
    groups: NDArray[np.int64] | None = None,
) -> dict[str, Values]:
    """Each network by all that can predict it, fitted to the others.

    Args:
        predictor: The predictor that is scored.
        sums: Sums over layers, by predictor; those of the mean are left out, for the mean network stands beside.
        networks: What the networks took.
        groups: As for `calibrated_values`.

    Returns:
        Values by the predictors' names, by `sum of layers` (the predictor's, not calibrated), and by the names of
        `baseline_predictions`.
    """
    calibrated = {
        name: calibrated_values(one, networks, groups)
        for name, one in sums.items()
        if name != "mean" or name == predictor
    }
    plain = network_values(*NetworkCalibration().predict(sums[predictor]))
    return {**baseline_values(networks, groups), SUM_OF_LAYERS: plain, **calibrated}


def baseline_values(networks: MeasuredNetworks, groups: NDArray[np.int64] | None = None) -> dict[str, Values]:
    """Each network by the simplest predictors fitted to the others; arguments as for `calibrated_values`."""
    numbers = network_groups(networks.names) if groups is None else groups
    found: dict[str, Values] = {}
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        one = baseline_predictions(networks.take(np.flatnonzero(numbers != number)), networks.take(rows))
        for name, values in one.items():
            for target, value in values.items():
                whole = found.setdefault(name, {}).setdefault(target, np.full(len(numbers), np.nan))
                whole[rows] = value
    return found


def baseline_predictions(training: MeasuredNetworks, test: MeasuredNetworks) -> dict[str, Values]:
    """The simplest predictors of networks, fitted to some and asked of others.

    Returns:
        `macs+bytes+layers`: a x MACs + b x bytes + c x layers, not negative, fitted in relative errors; and `mean`:
        the geometric mean. NaN where there is nothing to be fitted to.
    """
    linear, mean = (np.full((2, len(test.names)), np.nan) for _ in range(2))
    for index, target in enumerate((training.runtime_s, training.energy_j)):
        known = np.flatnonzero(np.isfinite(target) & (target > 0.0))
        if len(known) == 0:
            continue
        weights = relative_non_negative([term[known] for term in training.terms], target[known])
        linear[index] = sum(weight * term for weight, term in zip(weights, test.terms, strict=True))
        mean[index] = np.exp(np.log(target[known]).mean())
    return {"macs+bytes+layers": network_values(*linear), "mean": network_values(*mean)}


def _usable(sums: NetworkSums, networks: MeasuredNetworks) -> NDArray[np.int64]:
    """Networks that a calibration can be fitted to."""
    known = np.isfinite(networks.energy_j) & (networks.energy_j > 0.0) & (networks.runtime_s > 0.0)
    return np.flatnonzero(known & (sums.runtime_s > 0.0) & (sums.energy_above_idle_j > 0.0))
