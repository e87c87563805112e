"""A predicted network as a whole: its layers' sums, calibrated on measured networks."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np

from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.network_calibration import NetworkSums
from edgewatt.predictors.network_prediction import Interval, LayerPrediction, Status, WholeNetwork


def whole_network(layers: Sequence[LayerPrediction], predictors: Predictors) -> WholeNetwork | None:
    """The whole network; None where no calibration is known, no layer is covered, or one that runs is not.

    Intervals are those of networks, not sums of layers' intervals. They widen with the share of the energy that goes
    to layers that are unlike those trained on: their logarithmic width doubles where that is all of it.

    Args:
        layers: The network's layers.
        predictors: What predicted them.
    """
    calibration = predictors.calibration
    covered = [layer for layer in layers if layer.covered]
    if calibration is None or not covered or any(layer.status is Status.UNCOVERED for layer in layers):
        return None
    energies_j = [layer.energy_j or 0.0 for layer in covered]
    idle_w = np.nan if predictors.idle_power_w is None else predictors.idle_power_w
    sums = NetworkSums(
        np.array([sum(layer.runtime_s or 0.0 for layer in covered)]),
        np.array([sum(energies_j)]),
        np.array([float(len(covered))]),
        np.array([idle_w]),
    )
    runtime_s, energy_j = (float(value[0]) for value in calibration.predict(sums))
    if runtime_s <= 0.0:
        return None
    known_j = energy_j if np.isfinite(energy_j) else None
    unlike_j = sum(energy for energy, layer in zip(energies_j, covered, strict=True) if layer.extrapolated)
    widening = 1.0 + (unlike_j / sum(energies_j) if sum(energies_j) > 0.0 else 0.0)

    def around(value: float | None, name: str) -> Interval | None:
        factor = calibration.intervals.get(name)
        if value is None or factor is None:
            return None
        width = exp(factor * widening)
        return Interval(value / width, value * width)

    return WholeNetwork(
        runtime_s=runtime_s,
        energy_j=known_j,
        calibrated_on=calibration.networks,
        runtime_interval_s=around(runtime_s, "runtime"),
        energy_interval_j=around(known_j, "energy"),
        power_interval_w=around(None if known_j is None else known_j / runtime_s, "power"),
    )
