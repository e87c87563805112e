"""Whole networks of a training set: what they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.formats.sweep import is_sweep
from edgewatt.predictors.network_calibration import NetworkSums
from edgewatt.predictors.physics import is_detailed, layer_amounts
from edgewatt.predictors.terms import Array
from edgewatt.predictors.training_data import TrainingData

#: A network whose tables hold less than this share of its layers' time is not calibrated on.
_LEAST_TIME_SHARE = 0.9

#: A number of every network by what it is: runtime in ms, energy in mJ, power in W.
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
