"""From sums over layers to whole networks: what measured networks took, beside the sums over their layers.

    runtime = scale x sum of runtimes + a layer's cost x layers
    energy  = scale x sum of energies above idle + a layer's cost x layers + base power x runtime

A profiler slows every layer down, and the time between layers is in none; the base power is the idle power and what
the host adds to it. No coefficient is negative, and relative errors are what is minimised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat

from edgewatt.formats.checked import FileModel
from edgewatt.predictors.terms import Array

#: From so many networks on every coefficient is fitted; with fewer, one common scale.
NETWORKS_FOR_ALL = 6
#: From so many on there is a calibration.
NETWORKS_FOR_SCALE = 4


@dataclass(frozen=True, eq=False)
class NetworkSums:
    """Sums over the layers of networks, n of them.

    Attributes:
        runtime_s: Predicted, shape (n,).
        energy_above_idle_j: Predicted, shape (n,).
        layers: Number of executed layers, shape (n,).
        idle_power_w: Idle power, shape (n,); NaN where it is not known.
    """

    runtime_s: Array
    energy_above_idle_j: Array
    layers: Array
    idle_power_w: Array

    def take(self, rows: NDArray[np.int64]) -> NetworkSums:
        """Some of the networks."""
        return NetworkSums(
            self.runtime_s[rows], self.energy_above_idle_j[rows], self.layers[rows], self.idle_power_w[rows]
        )


class CalibrationFields(FileModel):
    """A calibration as it is stored."""

    networks: NonNegativeInt
    runtime_scale: NonNegativeFloat
    runtime_per_layer_s: NonNegativeFloat
    energy_scale: NonNegativeFloat
    energy_per_layer_j: NonNegativeFloat
    base_power_w: NonNegativeFloat | None = None
    intervals: dict[str, PositiveFloat]


@dataclass(frozen=True)
class NetworkCalibration:
    """The coefficients.

    Attributes:
        networks: Number of networks that they were fitted to.
        runtime_scale: Of the sum of runtimes.
        runtime_per_layer_s: Of each layer.
        energy_scale: Of the sum of energies above idle.
        energy_per_layer_j: Of each layer.
        base_power_w: Of the runtime; None for the network's own idle power.
        intervals: 90 % of networks that were not calibrated on lie within the value times or divided by the
            exponential of this; of `runtime`, `energy` and `power` where there were enough networks to tell.
    """

    networks: int
    runtime_scale: float
    runtime_per_layer_s: float
    energy_scale: float
    energy_per_layer_j: float
    base_power_w: float | None
    intervals: dict[str, float]

    def predict(self, sums: NetworkSums) -> tuple[Array, Array]:
        """Runtimes in s and energies in J with idle power, each of shape (n,); NaN where idle power is missing."""
        runtime_s = self.runtime_scale * sums.runtime_s + self.runtime_per_layer_s * sums.layers
        base_w = sums.idle_power_w if self.base_power_w is None else self.base_power_w
        energy_j = self.energy_scale * sums.energy_above_idle_j + self.energy_per_layer_j * sums.layers
        return runtime_s, energy_j + base_w * runtime_s

    def fields(self) -> CalibrationFields:
        """As it is stored."""
        return CalibrationFields(**vars(self))

    @classmethod
    def of(cls, fields: CalibrationFields) -> NetworkCalibration:
        """From what was stored."""
        return cls(**{name: getattr(fields, name) for name in CalibrationFields.model_fields})


def fit_calibration(sums: NetworkSums, runtime_s: Array, energy_j: Array) -> NetworkCalibration | None:
    """Fit a calibration; None where there are fewer than four networks.

    Args:
        sums: Predicted by predictors that were trained without the network.
        runtime_s: Measured, shape (n,).
        energy_j: Measured, idle power included, shape (n,).
    """
    networks = len(runtime_s)
    if networks < NETWORKS_FOR_SCALE:
        return None
    if networks < NETWORKS_FOR_ALL:
        runtime_scale = float(np.exp(np.log(runtime_s / sums.runtime_s).mean()))
        idle_j = np.where(np.isfinite(sums.idle_power_w), sums.idle_power_w, 0.0) * runtime_scale * sums.runtime_s
        above_j = np.maximum(energy_j - idle_j, 0.02 * energy_j)
        energy_scale = float(np.exp(np.log(above_j / sums.energy_above_idle_j).mean()))
        return NetworkCalibration(networks, runtime_scale, 0.0, energy_scale, 0.0, None, {})
    runtime_scale, runtime_per_layer = relative_non_negative([sums.runtime_s, sums.layers], runtime_s)
    fitted_s = runtime_scale * sums.runtime_s + runtime_per_layer * sums.layers
    scale, per_layer, base = relative_non_negative([sums.energy_above_idle_j, sums.layers, fitted_s], energy_j)
    return NetworkCalibration(networks, runtime_scale, runtime_per_layer, scale, per_layer, base, {})


def relative_non_negative(terms: Sequence[Array], y: Array) -> list[float]:
    """Coefficients of terms, none negative, with the least sum of squared relative errors.

    Args:
        terms: Each of shape (n,).
        y: What their sum shall be, shape (n,), positive.
    """
    from scipy.optimize import nnls  # predicting needs numpy alone

    columns = np.column_stack(list(terms))
    scale = np.where(columns.mean(axis=0) > 0.0, columns.mean(axis=0), 1.0)
    found, _ = nnls(columns / scale / y[:, None], np.ones(len(y)))
    return [float(value) for value in found / scale]
