"""Whether the energies of layers and gaps add up to what was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.power_log import PowerLog
from edgewatt.formats.recording import LayerCycles
from edgewatt.mapping.window import compute_latency_start_end_times


@dataclass(frozen=True)
class EnergyClosure:
    """Energies from the first layer's start to the last layer's end, in J.

    Attributes:
        measured_j: Integral of the power log.
        layers_j: Sum over layers of power x runtime x cycles.
        gaps_j: Power of the readings outside every window, over the time that no layer takes.
        difference: (layers + gaps - measured) / measured.
    """

    measured_j: float
    layers_j: float
    gaps_j: float
    difference: float


def energy_closure(layers: LayerCycles, log: PowerLog, powers: list[LayerPower]) -> EnergyClosure | None:
    """Add up the energies of a recording.

    Args:
        layers: Runtimes of the layers.
        log: Readings of the total rail.
        powers: The power of each layer, in the same order.

    Returns:
        The energies; None where a layer that takes time has no power, or the log does not cover the run.
    """
    start, end = compute_latency_start_end_times(layers.latency_ms, layers.end_us)
    begin, finish = int(start.min()), int(end.max())
    energies = [layer.energy_mj for layer in powers if layer.runtime_ms > 0]
    if any(energy is None for energy in energies) or begin < log.times_us[0] or finish > log.times_us[-1]:
        return None
    measured_j = _integral_j(log, begin, finish)
    layers_j = sum(energy for energy in energies if energy is not None) * layers.cycles / 1e3
    layer_time_s = float(layers.latency_ms.sum()) / 1e3
    gap_time_s = max(0.0, (finish - begin) / 1e6 - layer_time_s)
    gaps_j = _gap_power_w(log, start, end, begin, finish) * gap_time_s
    if measured_j == 0:
        return None
    return EnergyClosure(measured_j, layers_j, gaps_j, (layers_j + gaps_j - measured_j) / measured_j)


def _integral_j(log: PowerLog, begin: int, finish: int) -> float:
    """Integral of the power in W over time, each reading held until the next one."""
    edges = np.clip(np.append(log.times_us, log.times_us[-1]), begin, finish)
    return float(np.sum(np.diff(edges) * log.power_uw) / 1e12)


def _gap_power_w(log: PowerLog, start: NDArray[np.int64], end: NDArray[np.int64], begin: int, finish: int) -> float:
    """Mean power of the readings of the run that fell into no window; of all of its readings, if none did."""
    # A reading lies in a window where more windows have started than have ended before it.
    opened = np.searchsorted(np.sort(start, axis=None), log.times_us, side="right")
    closed = np.searchsorted(np.sort(end, axis=None), log.times_us, side="left")
    during = (log.times_us >= begin) & (log.times_us <= finish)
    outside = during & (opened == closed)
    chosen = outside if outside.any() else during
    return float(log.power_uw[chosen].mean()) / 1e6 if chosen.any() else 0.0
