"""How well layers that are measured by themselves agree with the truth, and with their network.

On the simulated board: power and runtime of each layer against the truth, and the sum of the layers' energies against
the network's. The board's time is simulated, so that this takes seconds.

    python benchmarks/isolated.py

With ONNX Runtime on this machine: the sum of the layers' runtimes against the network's latency. This takes minutes and
wants a machine that does nothing else; one that was stopped goes on where it was.

    python benchmarks/isolated.py --backend onnxruntime --threads 1 --raw raw_data

On a machine that does other things, `--processor-time` counts the processor time of calls instead of the time that
passes.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from edgewatt.backends.base import Backend
from edgewatt.backends.onnxruntime import OnnxRuntimeBackend
from edgewatt.isolation.record import IsolatedRun, IsolationOptions, record_isolated
from edgewatt.isolation.simulated_rig import SimulatedRig, Warming
from edgewatt.networks.architectures import network_layers
from edgewatt.reports.tables import new_table, number, percent
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.roofline import layer_truth
from processor_time import ProcessorTimeBackend

NETWORKS = ("resnet18", "mobilenet_v2", "squeezenet1_1")


@dataclass(frozen=True)
class Errors:
    """Relative errors of one network's layers on the simulated board.

    Attributes:
        power: Of power above idle, one a layer.
        runtime: Of runtime.
        covered: Share of the layers whose 90 % interval of power holds the truth.
        closure: (Sum of the layers' energies - network's) / network's, both as measured.
        true_energy: The same against the true energy of the layers.
    """

    power: NDArray[np.float64]
    runtime: NDArray[np.float64]
    covered: float
    closure: float
    true_energy: float


def simulated_errors(network: str, raw_dir: Path, seed: int, warming: float, options: IsolationOptions) -> Errors:
    """Measure a network's layers on the simulated board and compare them with the truth.

    Args:
        network: The name of an architecture.
        raw_dir: Where the recording goes.
        seed: Draws everything that is drawn.
        warming: Watts that the board draws more, once warm, for each watt above idle.
        options: How layers are measured.
    """
    rig = SimulatedRig(precision=options.precision, seed=seed, warming=Warming(warming))
    run = record_isolated(network, raw_dir, backend="simulated", options=options, rig=rig, replace_existing=True)
    runtime_s, above_idle_w = layer_truth(network_layers(network, precision=options.precision), ORIN_NANO)
    executed = runtime_s > 0
    rows = [row for row, runs in zip(run.layers, executed.tolist(), strict=True) if runs]
    measured_w = np.array([row.power_above_idle_w for row in rows], dtype=np.float64)
    half_w = np.array([((row.power_high_w or 0.0) - (row.power_low_w or 0.0)) / 2 for row in rows])
    measured_s = np.array([row.runtime_ms for row in rows]) / 1e3
    true_j = float(np.sum((above_idle_w + ORIN_NANO.idle_power_w) * runtime_s))
    return Errors(
        power=measured_w / above_idle_w[executed] - 1,
        runtime=measured_s / runtime_s[executed] - 1,
        covered=float(np.mean(np.abs(measured_w - above_idle_w[executed]) <= half_w)),
        closure=run.sums.energy_closure or 0.0,
        true_energy=(run.sums.layers_j or 0.0) / true_j - 1,
    )


def simulated_table(found: dict[tuple[str, float], list[Errors]]) -> Table:
    """Errors of networks, by the network and the warming, over several seeds."""
    table = new_table(
        "Layers by themselves on the simulated board, against the truth (power above idle; mean and largest of the "
        "absolute errors; share of 90% intervals that hold the truth; sum of energies against the network's)",
        ["network"],
        ["warming", "power", "most", "runtime", "covered", "closure", "true"],
    )
    for (network, warming), errors in found.items():
        power = np.concatenate([error.power for error in errors])
        table.add_row(
            network,
            number(warming, 2),
            percent(float(np.abs(power).mean()), 2),
            percent(float(np.abs(power).max()), 2),
            percent(float(np.mean([np.abs(error.runtime).mean() for error in errors])), 2),
            percent(float(np.mean([error.covered for error in errors]))),
            percent(float(np.max([abs(error.closure) for error in errors])), 2),
            percent(float(np.max([abs(error.true_energy) for error in errors])), 2),
        )
    return table


def live_table(runs: dict[str, IsolatedRun], title: str) -> Table:
    """Sums of runtimes against the network's latency."""
    table = new_table(title, ["network"], ["layers", "different", "sum ms", "network ms", "ratio"])
    for name, run in runs.items():
        table.add_row(
            name,
            str(len(run.layers)),
            str(len({layer.subject for layer in run.plan.layers if layer.subject})),
            number(run.sums.layers_s * 1e3, 3),
            number(None if run.sums.network_s is None else run.sums.network_s * 1e3, 3),
            percent(run.sums.runtime_ratio),
        )
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--backend", choices=("simulated", "onnxruntime"), default="simulated")
    parser.add_argument("--threads", type=int, default=1, help="of ONNX Runtime")
    parser.add_argument(
        "--processor-time", action="store_true", help="time ONNX Runtime with one thread by its processor time"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--warm", action="store_true", help="measure with warm caches")
    parser.add_argument("--seeds", type=int, default=3, help="of the simulation")
    parser.add_argument("--raw", type=Path, help="folder of recordings; a temporary one if not given")
    given = parser.parse_args()
    networks = given.networks.split(",")
    options = IsolationOptions(rounds=given.rounds, seconds=given.seconds, cold=not given.warm)
    with tempfile.TemporaryDirectory() as scratch:
        raw_dir = given.raw or Path(scratch)
        if given.backend == "simulated":
            Console().print(simulated_table(_simulated(networks, raw_dir, given.seeds, options)))
        else:
            backend: Backend = OnnxRuntimeBackend(threads=given.threads)
            if given.processor_time:
                backend = ProcessorTimeBackend()
            runs = {name: _live(name, raw_dir, backend, options) for name in networks}
            timed = "processor time" if given.processor_time else "time"
            caches = "warm" if given.warm else "cold"
            title = (
                f"ONNX Runtime, {given.threads} thread(s), {given.rounds} rounds of {given.seconds:g} s, "
                f"{caches} caches, {timed}"
            )
            Console().print(live_table(runs, title))


def _simulated(
    networks: list[str], raw_dir: Path, seeds: int, options: IsolationOptions
) -> dict[tuple[str, float], list[Errors]]:
    return {
        (network, warming): [simulated_errors(network, raw_dir, seed, warming, options) for seed in range(seeds)]
        for network in networks
        for warming in (0.0, 0.05)
    }


def _live(name: str, raw_dir: Path, backend: Backend, options: IsolationOptions) -> IsolatedRun:
    return record_isolated(name, raw_dir, backend=backend, sensor="none", options=options)


if __name__ == "__main__":
    main()
