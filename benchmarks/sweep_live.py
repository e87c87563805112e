"""How well a sweep with ONNX Runtime on this machine predicts the latency of whole networks.

    python benchmarks/sweep_live.py measure raw_data      a sweep, and the latency of each network: minutes, resumable
    python benchmarks/sweep_live.py score raw_data

Each network is predicted as the sum of its layers' runtimes, by predictors that were trained on the sweep without any
layer that the network has. `scaled` multiplies the sum by what the others' latencies are by their sums, on average.

On a machine that does other things, `--processor-time` counts the processor time of calls instead of the time that
passes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

from edgewatt.backends.base import Backend, LoadSettings
from edgewatt.backends.network import find_network
from edgewatt.backends.onnxruntime import OnnxRuntimeBackend
from edgewatt.dataset.features import feature_frame, table_kind
from edgewatt.formats.atomic import write_bytes
from edgewatt.formats.engine_info import EngineInfo, read_engine_info, write_engine_info
from edgewatt.formats.isolated import read_plan, read_visits
from edgewatt.formats.sweep import read_sweep_plan
from edgewatt.isolation.evaluate import evaluate
from edgewatt.isolation.live_rig import LiveRig
from edgewatt.isolation.rig import LoopNetwork
from edgewatt.isolation.rows import layer_rows
from edgewatt.networks.engine import layers_from_engine
from edgewatt.networks.layer import FREE_OPERATIONS, Layer, LayerKind
from edgewatt.predictors.fallback import fit_fallback
from edgewatt.predictors.physics_predictor import PhysicsPredictor
from edgewatt.predictors.repeat_error import repeat_errors
from edgewatt.predictors.targets import Target, target_values
from edgewatt.recording.signals import stop_requests
from edgewatt.reports.repeats import repeat_line
from edgewatt.reports.tables import new_table, number, percent
from edgewatt.sweep.options import SweepOptions
from edgewatt.sweep.planning import as_single
from edgewatt.sweep.record import record_sweep
from edgewatt.sweep.shipped import architecture_layers
from edgewatt.sweep.tables import swept_tables
from processor_time import ProcessorTimeBackend

NETWORKS = (
    "alexnet",
    "densenet121",
    "googlenet",
    "mobilenet_v2",
    "resnet18",
    "resnet50",
    "squeezenet1_1",
    "vgg16",
)
LATENCIES = "latencies.json"


def measure(raw_dir: Path, backend: Backend, options: SweepOptions) -> None:
    """Measure the sweep as far as it is not measured yet, and each network's latency."""
    for name in NETWORKS:
        measure_network(raw_dir, name, backend)
    run = record_sweep(raw_dir, backend=backend, sensor="none", options=options)
    Console().print(f"{sum(run.measured.values())} measured, {len(run.left_out)} left out, {run.interrupted or 'done'}")


def measure_network(raw_dir: Path, name: str, backend: Backend, rounds: int = 3, seconds: float = 3.0) -> None:
    """Measure a network's latency in rounds, unless that was done."""
    folder = raw_dir / "networks" / name
    if (folder / LATENCIES).exists():
        return
    network = LoopNetwork(name, network=find_network(name))
    with ExitStack() as stack:
        stopping = stack.enter_context(stop_requests())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        rig = stack.enter_context(LiveRig(backend, LoadSettings(), None, scratch, stopping))
        trial = rig.trial(network)
        calls = []
        for _ in range(rounds):
            rig.begin_round()
            loop = rig.loop(network, seconds, trial.call_s + trial.between_s)
            calls.append(float((loop.end_us - loop.start_us).mean()) / 1e6)
            rig.end_round()
        if stopping.by is not None:
            raise SystemExit(1)
    write_engine_info(folder / "engine.json", EngineInfo(trial.facts.layers, trial.facts.bindings))
    write_bytes(folder / LATENCIES, json.dumps({"call_s": calls}).encode())


def score(raw_dir: Path, sweep: str) -> None:
    """Print what is measured and predicted of each network."""
    folder = raw_dir / sweep
    swept = read_sweep_plan(folder)
    plan = read_plan(folder)
    found = evaluate(plan, read_visits(folder))
    rows = {row.layer_name: row for row in layer_rows(plan, found) if row.runtime_ms > 0}
    singles = {layer.name: as_single(layer) for layer in swept.layers}
    layers = [single.layer(name, swept.precision) for name, single in singles.items() if name in rows]
    tables = swept_tables(layers, rows, sweep)
    results: list[dict[str, Any]] = []
    for name in NETWORKS:
        hidden = {layer.without_details() for layer in architecture_layers(name)}
        lost = {layer for layer, single in singles.items() if single.without_details() in hidden}
        kept = {kind: table.filter(~pl.col("layer_name").is_in(list(lost))) for kind, table in tables.items()}
        told = json.loads((raw_dir / "networks" / name / LATENCIES).read_text())["call_s"]
        engine = layers_from_engine(read_engine_info(raw_dir / "networks" / name / "engine.json").layers, name)
        sums = predicted_s(engine, kept)
        results.append({"name": name, "measured": float(np.mean(told)), "spread": float(np.ptp(told) / np.mean(told))})
        results[-1] |= {"lost": len(lost), "sum": sum(sums.values()), "other": sums.get(LayerKind.OTHER, 0.0)}
    Console(width=120).print(scores_table(results, len(rows)))
    Console(width=120).print(repeat_line(repeat_errors(tables)))


def predicted_s(layers: Sequence[Layer], tables: dict[LayerKind, pl.DataFrame]) -> dict[LayerKind, float]:
    """Sum of the predicted runtimes of a network's layers, by kind."""
    found: dict[LayerKind, float] = {}
    fallback = fit_fallback(tables, Target.RUNTIME)
    assert fallback is not None
    executed = [layer for layer in layers if layer.operation not in FREE_OPERATIONS]
    for kind in LayerKind:
        chosen = [layer for layer in executed if table_kind(layer) is kind]
        if not chosen:
            continue
        table = feature_frame(kind, chosen)
        if kind in tables:
            y = target_values(tables[kind], Target.RUNTIME)
            values = PhysicsPredictor(kind, Target.RUNTIME).fit(tables[kind], y, None, tables).predict(table)
        else:
            values = fallback.estimate_kind(kind, table).value
        found[kind] = float(values.sum()) / 1e3
    return found


def scores_table(results: Sequence[dict[str, Any]], layers: int) -> Any:
    """The networks, each predicted without its layers."""
    table = new_table(
        f"Latency of networks predicted from a sweep of {layers} measurements, without the network's layers: sum of "
        "layers, and that scaled as the other networks",
        ["network"],
        ["ms", "rounds differ", "layers left out", "sum ms", "other kinds", "error", "scaled"],
    )
    ratios = np.log([one["measured"] / one["sum"] for one in results])
    errors, scaled = [], []
    for index, one in enumerate(results):
        factor = float(np.exp(np.delete(ratios, index).mean()))
        errors.append(one["sum"] / one["measured"] - 1)
        scaled.append(factor * one["sum"] / one["measured"] - 1)
        table.add_row(
            one["name"],
            number(one["measured"] * 1e3, 2),
            percent(one["spread"]),
            str(one["lost"]),
            number(one["sum"] * 1e3, 2),
            percent(one["other"] / one["sum"]),
            percent(errors[-1]),
            percent(scaled[-1]),
        )
    table.add_row("mean of absolute", *[""] * 5, *(percent(float(np.abs(e).mean())) for e in (errors, scaled)))
    return table


def main() -> None:
    """Measure or score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "score"))
    parser.add_argument("raw", type=Path)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processor-time", action="store_true")
    given = parser.parse_args()
    if given.what == "score":
        score(given.raw, f"sweep@seed{given.seed}")
        return
    backend: Backend = ProcessorTimeBackend() if given.processor_time else OnnxRuntimeBackend(threads=given.threads)
    options = SweepOptions(count=given.count, seed=given.seed, rounds=given.rounds, seconds=given.seconds)
    measure(given.raw, backend, options)


if __name__ == "__main__":
    main()
