"""Totals of networks that can be compared: all of the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import NetworkResult

WHOLE, LAYERS, RUN = "whole cycles", "sums of layers", "whole runs, pauses between cycles included"


@dataclass(frozen=True)
class Totals:
    """A network's totals.

    Attributes:
        of: What they are of: `WHOLE`, `LAYERS` or `RUN`.
        runtime_s: Time of one cycle.
        power_w: Mean power over that time.
        energy_j: Energy of one cycle.
        with_idle: Whether power and energy hold idle power.
    """

    of: str
    runtime_s: Estimate | None
    power_w: Estimate | None
    energy_j: Estimate | None
    with_idle: bool = True


def common_totals(results: Sequence[NetworkResult], *, with_idle: bool = True) -> list[Totals]:
    """Totals of several networks, all of the same thing: of the first that all of them know.

    Args:
        results: The networks.
        with_idle: Whether powers and energies are to hold idle power.
    """
    if with_idle and all(result.energy_j is not None and result.runtime_s is not None for result in results):
        return [Totals(WHOLE, result.runtime_s, result.power_w, result.energy_j) for result in results]
    sums = [layer_totals(result, with_idle=with_idle) for result in results]
    if all(total.energy_j is not None for total in sums):
        return sums
    if with_idle and all(result.run_energy_j is not None for result in results):
        return [Totals(RUN, result.runtime_s, result.run_power_w, result.run_energy_j) for result in results]
    return sums


def layer_totals(result: NetworkResult, *, with_idle: bool = True) -> Totals:
    """Sums over a network's layers."""
    energy = result.layers_energy_j if with_idle else result.layers_energy_above_idle_j
    runtime = result.layers_runtime_s
    known = energy is not None and runtime is not None and runtime.value > 0
    power = energy.scaled(1 / runtime.value) if known and energy is not None and runtime is not None else None
    return Totals(LAYERS, runtime, power, energy, with_idle)
