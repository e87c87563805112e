"""From sums over layers to whole networks: what measured networks took, beside the sums over their layers.

    overhead = a layer's cost x layers + a cycle's cost
    runtime  = scale x sum of runtimes + overhead
    energy   = scale x sum of energies above idle + idle power x runtime + overhead power x overhead

A profiler slows layers down, and the time between layers and that of the call is in none of them: what lies beside the
layers is found from the layers that were measured, whose errors are small. How far predictions are off on the whole is
found from predicted layers afterwards. Both scales are held near where they should be by one more network, made up,
whose layers add up exactly; no other coefficient is negative. Relative errors are what is minimised, and networks that
are further off than the others count less, as in P. J. Huber, "Robust estimation of a location parameter" (1964).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat

from edgewatt.formats.checked import FileModel
from edgewatt.predictors.terms import Array

#: From so many networks on there is a calibration.
LEAST_NETWORKS = 3
#: Errors larger than so many standard deviations count less: the usual value, 95 % as efficient as least squares where
#: errors are normal.
_HUBER = 1.345
#: Smallest standard deviation that is told from so few networks.
_LEAST_DEVIATION = 0.005
_ROUNDS = 10


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
    layer_overhead_s: NonNegativeFloat
    cycle_overhead_s: NonNegativeFloat
    energy_scale: NonNegativeFloat
    overhead_power_w: NonNegativeFloat
    intervals: dict[str, PositiveFloat]


@dataclass(frozen=True)
class NetworkCalibration:
    """The coefficients; as they are by default, networks are plain sums over their layers.

    Attributes:
        networks: Number of networks that they were fitted to.
        runtime_scale: Of the sum of runtimes.
        layer_overhead_s: Time beside it of each layer.
        cycle_overhead_s: Time beside it of each cycle.
        energy_scale: Of the sum of energies above idle.
        overhead_power_w: Power above idle of the time beside the layers.
        intervals: 90 % of networks that were not calibrated on lie within the value times or divided by the
            exponential of this; of `runtime`, `energy` and `power` where there were enough networks to tell.
    """

    networks: int = 0
    runtime_scale: float = 1.0
    layer_overhead_s: float = 0.0
    cycle_overhead_s: float = 0.0
    energy_scale: float = 1.0
    overhead_power_w: float = 0.0
    intervals: dict[str, float] = field(default_factory=dict)

    def overhead_s(self, sums: NetworkSums) -> Array:
        """Time of a cycle that no layer takes, shape (n,)."""
        return self.layer_overhead_s * sums.layers + self.cycle_overhead_s

    def predict(self, sums: NetworkSums) -> tuple[Array, Array]:
        """Runtimes in s and energies in J with idle power, each of shape (n,); NaN where idle power is missing."""
        overhead_s = self.overhead_s(sums)
        runtime_s = self.runtime_scale * sums.runtime_s + overhead_s
        above_idle_j = self.energy_scale * sums.energy_above_idle_j + self.overhead_power_w * overhead_s
        return runtime_s, above_idle_j + sums.idle_power_w * runtime_s

    def fields(self) -> CalibrationFields:
        """As it is stored."""
        return CalibrationFields(**vars(self))

    @classmethod
    def of(cls, fields: CalibrationFields) -> NetworkCalibration:
        """From what was stored."""
        return cls(**{name: getattr(fields, name) for name in CalibrationFields.model_fields})


def fit_calibration(
    predicted: NetworkSums, measured: NetworkSums, runtime_s: Array, energy_j: Array
) -> NetworkCalibration | None:
    """Fit a calibration; None where there are fewer than three networks.

    Args:
        predicted: Sums of what was predicted by predictors that were trained without the network.
        measured: The same of what was measured of the layers; energies may be NaN.
        runtime_s: Measured of whole networks, shape (n,).
        energy_j: Measured of them, idle power included, shape (n,).
    """
    networks = len(runtime_s)
    if networks < LEAST_NETWORKS:
        return None
    terms = [predicted.layers, np.ones(networks)]
    profiled, layer_s, cycle_s = scaled_and_non_negative(measured.runtime_s, terms, runtime_s)
    overhead_s = layer_s * terms[0] + cycle_s * terms[1]
    (runtime_scale,) = scaled_and_non_negative(profiled * predicted.runtime_s, [], runtime_s, overhead_s)
    # Relative errors are those of the energy with idle power, which is what is asked for.
    idle_w = np.where(np.isfinite(predicted.idle_power_w), predicted.idle_power_w, 0.0)
    known = np.flatnonzero(np.isfinite(measured.energy_above_idle_j))
    overhead_w = 0.0
    if len(known) >= LEAST_NETWORKS:
        _, overhead_w = scaled_and_non_negative(
            measured.energy_above_idle_j[known], [overhead_s[known]], energy_j[known], (idle_w * runtime_s)[known]
        )
    total_s = profiled * runtime_scale * predicted.runtime_s + overhead_s
    (energy_scale,) = scaled_and_non_negative(
        predicted.energy_above_idle_j, [], energy_j, idle_w * total_s + overhead_w * overhead_s
    )
    return NetworkCalibration(networks, profiled * runtime_scale, layer_s, cycle_s, energy_scale, overhead_w)


def scaled_and_non_negative(main: Array, others: Sequence[Array], y: Array, known: Array | None = None) -> list[float]:
    """Coefficients of y = known + scale x main + others, the scale near 1 and none negative.

    Args:
        main: What the scale is of, shape (n,).
        others: Further terms, each of shape (n,).
        y: What shall come out, shape (n,), positive.
        known: What is part of y and has no coefficient, shape (n,).

    Returns:
        The scale, and the coefficients of the other terms.
    """
    rest = y - (np.zeros(len(y)) if known is None else known)
    columns = np.column_stack([main, *others]) / y[:, None]
    # The network made up: its relative error is the scale's distance from 1, weighted by the usual share of `main`.
    share = float(np.median(main / y))
    made_up = np.zeros((1, columns.shape[1]))
    made_up[0, 0] = share
    weights = np.ones(len(y))
    found = np.zeros(columns.shape[1])
    for _ in range(_ROUNDS):
        found = _non_negative(np.vstack([columns * weights[:, None], made_up]), np.append(rest / y * weights, share))
        errors = np.abs(columns @ found - rest / y)
        deviation = max(1.4826 * float(np.median(errors)), _LEAST_DEVIATION)
        weights = np.sqrt(np.minimum(1.0, _HUBER * deviation / np.maximum(errors, 1e-12)))
    return [float(value) for value in found]


def relative_non_negative(terms: Sequence[Array], y: Array) -> list[float]:
    """Coefficients of terms, none negative, with the least sum of squared relative errors.

    Args:
        terms: Each of shape (n,).
        y: What their sum shall be, shape (n,), positive.
    """
    columns = np.column_stack(list(terms))
    return [float(value) for value in _non_negative(columns / y[:, None], np.ones(len(y)))]


def _non_negative(columns: Array, y: Array) -> Array:
    """Least squares without negative coefficients, whatever the columns' units."""
    from scipy.optimize import nnls  # predicting needs numpy alone

    sizes = np.abs(columns).mean(axis=0)
    scale = np.where(sizes > 0.0, sizes, 1.0)
    found: Array = nnls(columns / scale, y)[0] / scale
    return found
