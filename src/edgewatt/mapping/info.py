"""What `mapping.json` says of a mapped recording."""

from __future__ import annotations

from typing import Any

import numpy as np

import edgewatt
from edgewatt.formats.benchmark import BenchmarkResult
from edgewatt.formats.layer_cycles import LayerRuntimes
from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.mapping_info import MappingInfo
from edgewatt.formats.recording import RecordedRuntimes, Recording
from edgewatt.formats.run_info import RunInfo
from edgewatt.mapping.closure import EnergyClosure

#: The method of recordings that runtimes alone are known of.
NO_POWER = "none"


def power_info(
    recording: Recording,
    layers: list[LayerPower],
    closure: EnergyClosure | None,
    idle_power_uw: float,
    told: list[str],
    method: str,
) -> MappingInfo:
    """Describe a recording whose layers were given power.

    Args:
        recording: The recording.
        layers: Powers of its layers.
        closure: How its energies add up, where they are known.
        idle_power_uw: Idle power in uW.
        told: Warnings.
        method: The mapping method.
    """
    log = recording.power_log
    energy: dict[str, float | None] = {}
    power: dict[str, float | None] = {}
    if closure is not None:
        energy = {"measured_j": closure.measured_j, "layers_j": closure.layers_j, "gaps_j": closure.gaps_j}
        power = {"layers_w": closure.layers_w, "gaps_w": closure.gaps_w}
    return MappingInfo(
        edgewatt_version=edgewatt.__version__,
        model=recording.paths.model,
        method=method,
        idle_power_w=idle_power_uw / 1e6,
        cycles=recording.layers.cycles,
        layers=len(layers),
        readings={"total": len(log), "changed": int(np.count_nonzero(np.diff(log.power_uw))) + 1},
        energy=energy,
        power=power,
        energy_closure=None if closure is None else closure.difference,
        runtime=_runtime(recording.layers, recording.benchmark),
        warnings=told,
        run=run_facts(recording.run_info),
    )


def runtimes_info(runtimes: RecordedRuntimes, told: list[str]) -> MappingInfo:
    """Describe a recording of which runtimes alone are known; arguments as for `power_info`."""
    return MappingInfo(
        edgewatt_version=edgewatt.__version__,
        model=runtimes.paths.model,
        method=NO_POWER,
        cycles=runtimes.layers.cycles,
        layers=len(runtimes.layers.names),
        runtime=_runtime(runtimes.layers, runtimes.benchmark),
        warnings=told,
        run=run_facts(runtimes.run_info),
    )


def _runtime(layers: LayerRuntimes, benchmark: BenchmarkResult | None) -> dict[str, float | None]:
    layers_s = float(layers.latency_ms.sum(axis=0).mean()) / 1e3
    network_s = None if benchmark is None else benchmark.avg_latency
    ratio = None if network_s is None else layers_s / network_s
    return {"sum_of_layers_s": layers_s, "network_s": network_s, "ratio": ratio}


def run_facts(run: RunInfo | None) -> dict[str, Any]:
    """What `mapping.json` keeps of `run.json`; nothing where there is none."""
    if run is None:
        return {}
    return {
        "board": run.board,
        "backend": run.backend,
        "power_mode": run.power_mode,
        "precision": run.precision,
        "batch_size": run.batch_size,
        "interrupted": run.interrupted,
        "clocks": run.clocks,
        "versions": run.versions,
        "recorded": (run.model_extra or {}).get("recorded"),
    }
