"""Whether the energies of layers and gaps add up to what was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.power_log import PowerLog
from edgewatt.mapping.window import ReadingRanges


@dataclass(frozen=True)
class EnergyClosure:
    """Energies from the first layer's start to the last layer's end, in J.

    Attributes:
        measured_j: Integral of the power log.
        layers_j: Sum over layers of power x runtime x cycles.
        gaps_j: Power of the readings outside every window, over the time that no layer takes.
        difference: (layers + gaps - measured) / measured.
        layers_s: Time that layers take of it.
        gaps_s: The rest of the time.
    """

    measured_j: float
    layers_j: float
    gaps_j: float
    difference: float
    layers_s: float
    gaps_s: float

    @property
    def layers_w(self) -> float | None:
        """Mean power while a layer runs; None where none takes time."""
        return self.layers_j / self.layers_s if self.layers_s > 0.0 else None

    @property
    def gaps_w(self) -> float | None:
        """Mean power while none does; None where one always runs."""
        return self.gaps_j / self.gaps_s if self.gaps_s > 0.0 else None


def energy_closure(
    layers: LayerCycles, log: PowerLog, ranges: ReadingRanges, powers: list[LayerPower]
) -> EnergyClosure | None:
    """Add up the energies of a recording.

    Args:
        layers: Runtimes of the layers.
        log: Readings of the total rail.
        ranges: The readings in each layer's window.
        powers: The power of each layer, in the same order.

    Returns:
        The energies; None where a layer that takes time has no power, or the log does not cover the run.
    """
    begin, finish = ranges.begin_us, int(layers.end_us.max())
    energies = [layer.energy_mj for layer in powers if layer.runtime_ms > 0]
    if any(energy is None for energy in energies) or begin < log.times_us[0] or finish > log.times_us[-1]:
        return None
    measured_j = _integral_j(log, begin, finish)
    layers_j = sum(energy for energy in energies if energy is not None) * layers.cycles / 1e3
    layer_time_s = float(layers.latency_ms.sum()) / 1e3
    gap_time_s = max(0.0, (finish - begin) / 1e6 - layer_time_s)
    gaps_j = _gap_power_w(log, ranges, begin, finish) * gap_time_s
    if measured_j == 0:
        return None
    difference = (layers_j + gaps_j - measured_j) / measured_j
    return EnergyClosure(measured_j, layers_j, gaps_j, difference, layer_time_s, gap_time_s)


def _integral_j(log: PowerLog, begin: int, finish: int) -> float:
    """Integral of the power in W over time, each reading held until the next one."""
    edges = np.clip(np.append(log.times_us, log.times_us[-1]), begin, finish)
    return float(np.sum(np.diff(edges) * log.power_uw) / 1e12)


def _gap_power_w(log: PowerLog, ranges: ReadingRanges, begin: int, finish: int) -> float:
    """Mean power of the readings of the run that fell into no window; of all of its readings, if none did."""
    opened = np.bincount(ranges.first.ravel(), minlength=len(log) + 1)
    closed = np.bincount(ranges.last.ravel(), minlength=len(log) + 1)
    windows = np.cumsum(opened - closed)[:-1]
    during = (log.times_us >= begin) & (log.times_us <= finish)
    outside = during & (windows == 0)
    chosen = outside if outside.any() else during
    return float(log.power_uw[chosen].mean()) / 1e6 if chosen.any() else 0.0
