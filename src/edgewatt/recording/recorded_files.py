"""A recording's files, from the cycles that a benchmark left and what was known around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgewatt
from edgewatt.backends.base import Cycles, NetworkFacts
from edgewatt.formats.benchmark import BenchmarkResult, write_benchmark_result
from edgewatt.formats.engine_info import EngineInfo, write_engine_info
from edgewatt.formats.layer_latency import LayerLatencies, write_layer_latencies
from edgewatt.formats.recording import RecordingPaths
from edgewatt.formats.run_info import RunInfo, write_run_info
from edgewatt.recording.benchmark import BenchmarkOutcome
from edgewatt.recording.clock import RecordingClock
from edgewatt.recording.environment import Environment, host_facts, software_versions


@dataclass(frozen=True)
class RunDescription:
    """What is written of a run beside its cycles.

    Attributes:
        name: The run's name.
        network: What the user named.
        backend: The backend's name.
        warmup: Cycles before those that are recorded.
        planned_cycles: Cycles that were asked for.
        random_weights: Whether the weights were drawn.
        seed: What drew them, and the input.
        before: The board's state before the run.
        after: The same behind it.
        sensor: The sensor, its settings before and after, and what its logger counted.
        power: Power over the run.
        verdict: What stands against trusting it.
        interrupted: How it was ended early; None where it was not.
    """

    name: str
    network: str
    backend: str
    warmup: int
    planned_cycles: int
    random_weights: bool
    seed: int
    before: Environment
    after: Environment
    sensor: dict[str, Any] = field(default_factory=dict)
    power: dict[str, Any] = field(default_factory=dict)
    verdict: list[str] = field(default_factory=list)
    interrupted: str | None = None


def write_recorded_files(
    paths: RecordingPaths, run: RunDescription, outcome: BenchmarkOutcome, clock: RecordingClock
) -> None:
    """Write a run's files, but for its power logs.

    Args:
        paths: Where.
        run: What is known of it.
        outcome: What the benchmark left: at least one cycle.
        clock: The recording's clock.
    """
    facts = outcome.facts
    write_engine_info(paths.engine_info, EngineInfo(facts.layers, facts.bindings))
    write_layer_latencies(paths.layer_latency, _latencies(outcome, clock))
    write_benchmark_result(paths.benchmark, _benchmark(run, outcome))
    write_run_info(paths.run_info, _run_info(run, outcome, clock))


def layer_latencies(names: tuple[str, ...], cycles: Cycles, clock: RecordingClock) -> LayerLatencies:
    """Latencies by layer, as a profiler that keys by name has them: layers that share one, alternately.

    Args:
        names: Names of the profiled layers, in order.
        cycles: Their cycles.
        clock: The recording's clock.
    """
    places: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        places.setdefault(name, []).append(index)
    end_us = clock.microseconds(cycles.layer_end_ns)
    latency: list[NDArray[np.float64]] = []
    ends: list[NDArray[np.int64]] = []
    for columns in places.values():
        latency.append(cycles.latency_ms[:, columns].ravel())
        ends.append(end_us[:, columns].ravel())
    return LayerLatencies(tuple(places), latency, ends)


def _latencies(outcome: BenchmarkOutcome, clock: RecordingClock) -> LayerLatencies:
    means = outcome.mean_latency_ms
    if means is None:
        return layer_latencies(outcome.facts.profiled, outcome.cycles, clock)
    values: dict[str, list[float]] = {}
    for name, mean in zip(outcome.facts.profiled, means.tolist(), strict=True):
        values.setdefault(name, []).append(mean)
    return LayerLatencies(tuple(values), [np.array(latency) for latency in values.values()], None)


def _benchmark(run: RunDescription, outcome: BenchmarkOutcome) -> BenchmarkResult:
    """The cycles of the recording, with the profiler, as the base method has them; those without it are ours."""
    cycles, plain, facts = outcome.cycles, outcome.plain, outcome.facts
    latencies_s = _seconds(cycles)
    total_s = float(cycles.end_ns[-1] - cycles.start_ns[0]) / 1e9
    plain_s = _seconds(plain)
    config: dict[str, Any] = {
        "model": run.name,
        "network": run.network,
        "backend": run.backend,
        "dtype": facts.precision,
        "input_shape": list(facts.input_shape),
        "warmup": run.warmup,
        "runs": run.planned_cycles,
        **facts.settings,
    }
    extra: dict[str, Any] = {}
    if len(plain):
        extra = {
            "latencies_without_profiler": plain_s.tolist(),
            "avg_latency_without_profiler": float(plain_s.mean()),
        }
    return BenchmarkResult(
        config=config,
        total_time=total_s,
        latencies=latencies_s.tolist(),
        avg_latency=float(latencies_s.mean()),
        avg_throughput=len(cycles) / total_s if total_s > 0 else None,
        **extra,
    )


def _run_info(run: RunDescription, outcome: BenchmarkOutcome, clock: RecordingClock) -> RunInfo:
    facts, before, after = outcome.facts, run.before, run.after
    extra: dict[str, Any] = {
        "l4t": before.l4t,
        "recorded": clock.stamp(),
        "planned_cycles": run.planned_cycles,
        "interrupted_by": run.interrupted,
        "verdict": run.verdict,
        "power": run.power,
        "runtime": runtime_summary(facts, outcome),
        "settings": {**facts.settings, "random_weights": run.random_weights, "seed": run.seed},
        "true_layer_ends": facts.true_layer_ends,
        "throttling": {"before": before.throttling, "after": after.throttling},
        "host": {
            **host_facts(),
            "load_before": before.load,
            "load_after": after.load,
            "gpu_load_before": before.gpu_load,
        },
    }
    return RunInfo(
        edgewatt_version=edgewatt.__version__,
        model=run.name,
        network=run.network,
        board=before.board,
        backend=run.backend,
        precision=facts.precision,
        batch_size=facts.input_shape[0] if facts.input_shape else None,
        input_shape=list(facts.input_shape),
        # A simulated board is in a mode of its own.
        power_mode=facts.settings.get("power_mode", before.power_mode),
        sensor=run.sensor,
        clocks={"before": before.clocks_as_dict(), "after": after.clocks_as_dict(), "locked": before.clocks_locked},
        temperatures={"before": before.temperatures, "after": after.temperatures},
        versions={**software_versions(), **facts.versions},
        cycle_start_us=clock.microseconds(outcome.cycles.start_ns).tolist(),
        cycle_end_us=clock.microseconds(outcome.cycles.end_ns).tolist(),
        interrupted=run.interrupted is not None,
        **extra,
    )


def runtime_summary(facts: NetworkFacts, outcome: BenchmarkOutcome) -> dict[str, float | None]:
    """The network's latency with and without the profiler, and what its layers add up to, in s.

    A profiler slows a network, and layers are not all that it does, so neither stands for the other.
    """
    profiled_s = _seconds(outcome.cycles)
    plain_s = _seconds(outcome.plain)
    if outcome.mean_latency_ms is not None:
        layers_s = float(outcome.mean_latency_ms.sum()) / 1e3
    else:
        layers_s = float(outcome.cycles.latency_ms.sum(axis=1).mean()) / 1e3
    mean_s = float(profiled_s.mean())
    return {
        "cycle_s": mean_s,
        "cycle_without_profiler_s": float(plain_s.mean()) if len(plain_s) else None,
        "sum_of_layers_s": layers_s if facts.profiled else None,
        "sum_of_layers_per_cycle": layers_s / mean_s if facts.profiled else None,
    }


def _seconds(cycles: Cycles) -> NDArray[np.float64]:
    return (cycles.end_ns - cycles.start_ns) / 1e9
