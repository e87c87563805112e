"""Whole networks of a training set: what they took, what their layers add up to, and how well each is predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.formats.run_folders import network_of
from edgewatt.formats.sweep import is_sweep
from edgewatt.predictors.cross_prediction import CrossPrediction
from edgewatt.predictors.network_calibration import (
    NetworkCalibration,
    NetworkSums,
    fit_calibration,
    relative_non_negative,
)
from edgewatt.predictors.network_intervals import network_factor
from edgewatt.predictors.physics import is_detailed, layer_amounts
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import Array
from edgewatt.predictors.training_data import TrainingData

#: A network whose tables hold less than this share of its layers' time is not calibrated on.
_LEAST_TIME_SHARE = 0.9

#: What is predicted of a network, and its unit.
NETWORK_TARGETS = {"runtime": "ms", "energy": "mJ", "power": "W"}

#: The way of predicting a network that leaves the calibration out.
SUM_OF_LAYERS = "sum of layers"

#: Predicts every network's runtime and energy from those of other networks.
Values = dict[str, Array]


@dataclass(frozen=True, eq=False)
class MeasuredNetworks:
    """What networks took, n of them.

    Attributes:
        names: Their names.
        runtime_s: Shape (n,).
        energy_j: With idle power, shape (n,); NaN where it is not known.
        idle_power_w: Shape (n,); NaN where it is not known.
        macs: Multiply-accumulates of the tables' layers, shape (n,).
        total_bytes: Bytes of the tables' layers, shape (n,).
        layers: Number of them, shape (n,).
        whole: Whether runtimes and energies are of the whole networks; else sums over the tables' layers.
        layer_sums: Sums of what was measured of the layers.
    """

    names: tuple[str, ...]
    runtime_s: Array
    energy_j: Array
    idle_power_w: Array
    macs: Array
    total_bytes: Array
    layers: Array
    whole: bool
    layer_sums: NetworkSums

    def values(self) -> Values:
        """Runtime in ms, energy in mJ and mean power in W."""
        return network_values(self.runtime_s, self.energy_j)

    @property
    def terms(self) -> tuple[Array, Array, Array]:
        """What a network's cost is most simply made of."""
        return self.macs, self.total_bytes, self.layers

    def take(self, rows: NDArray[np.int64]) -> MeasuredNetworks:
        """Some of the networks."""
        return MeasuredNetworks(
            tuple(self.names[row] for row in rows),
            self.runtime_s[rows],
            self.energy_j[rows],
            self.idle_power_w[rows],
            self.macs[rows],
            self.total_bytes[rows],
            self.layers[rows],
            self.whole,
            self.layer_sums.take(rows),
        )


def measured_networks(data: TrainingData) -> MeasuredNetworks:
    """The networks that can be scored: those measured as a whole where there are any, else all.

    Without whole measurements the sums over the tables' layers stand in, so that predictors can be compared. A sweep's
    layers are no network.
    """
    whole = [name for name in data.networks if _is_whole(data, name)]
    names = whole or [name for name in data.networks if _layer_count(data, name) and not is_sweep(name)]
    runtime_s, energy_j, idle_w, sums_s, sums_j = [], [], [], [], []
    for name in names:
        info = data.measured.get(name)
        time_s, energy, idle = _summed(data, name)
        all_s = (info.sum_of_layers_s if info is not None else None) or time_s
        sums_s.append(all_s)
        # What few layers have no power, or are in no table, is taken to be like the rest.
        sums_j.append((energy - idle * time_s) * all_s / time_s if time_s > 0.0 else np.nan)
        if whole and info is not None:
            time_s, energy = info.runtime_s or time_s, info.energy_j or np.nan
            idle = idle if info.idle_power_w is None else info.idle_power_w
        runtime_s.append(time_s)
        energy_j.append(energy)
        idle_w.append(idle)
    macs, total_bytes, layers = _work(data, names)
    idle_power_w = np.array(idle_w, dtype=np.float64)
    return MeasuredNetworks(
        tuple(names),
        np.array(runtime_s, dtype=np.float64),
        np.array(energy_j, dtype=np.float64),
        idle_power_w,
        macs,
        total_bytes,
        layers,
        bool(whole),
        NetworkSums(np.array(sums_s, dtype=np.float64), np.array(sums_j, dtype=np.float64), layers, idle_power_w),
    )


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


def network_values(runtime_s: Array, energy_j: Array) -> Values:
    """Runtime in ms, energy in mJ and mean power in W."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"runtime": runtime_s * 1e3, "energy": energy_j * 1e3, "power": energy_j / runtime_s}


def _is_whole(data: TrainingData, name: str) -> bool:
    info = data.measured.get(name)
    if info is None or info.runtime_s is None or info.energy_j is None:
        return False
    return info.time_share is None or info.time_share >= _LEAST_TIME_SHARE


def _layer_count(data: TrainingData, name: str) -> int:
    return sum(int((table["network"] == name).sum()) for table in data.tables.values())


def _summed(data: TrainingData, name: str) -> tuple[float, float, float]:
    """Runtime in s and energy in J with idle power of a network's layers that have power, and its idle power."""
    time_s, energy_j, idle_w = 0.0, 0.0, np.nan
    for table in data.tables.values():
        rows = table.filter((pl.col("network") == name) & pl.col("power").is_not_null())
        seconds = rows["runtime"].cast(pl.Float64).to_numpy() * 1e-3
        time_s += float(seconds.sum())
        energy_j += float((rows["power"].cast(pl.Float64).to_numpy() * 1e-6 * seconds).sum())
        if "idle_power_w" in rows.columns and rows["idle_power_w"].drop_nulls().len():
            idle_w = float(rows["idle_power_w"].drop_nulls().to_numpy().mean())
    return time_s, energy_j + idle_w * time_s, idle_w


def _work(data: TrainingData, names: Sequence[str]) -> tuple[Array, Array, Array]:
    index = {name: position for position, name in enumerate(names)}
    totals: Mapping[str, Array] = {name: np.zeros(len(names)) for name in ("macs", "bytes", "layers")}
    for kind, table in data.tables.items():
        amounts = layer_amounts(kind, table, is_detailed(table))
        at = np.array([index.get(name, -1) for name in table["network"].to_list()], dtype=np.int64)
        known = at >= 0
        np.add.at(totals["macs"], at[known], amounts["macs"][known])
        np.add.at(totals["bytes"], at[known], amounts.total_bytes[known])
        np.add.at(totals["layers"], at[known], 1.0)
    return totals["macs"], totals["bytes"], totals["layers"]
