"""A raw recording as a result; what is missing of it is left out."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError, EdgewattWarning, warn
from edgewatt.formats.benchmark import BenchmarkResult, read_benchmark_result
from edgewatt.formats.engine_info import EngineInfo, read_engine_info
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.isolated import is_isolated
from edgewatt.formats.layer_cycles import LayerCycles, match_layers
from edgewatt.formats.layer_latency import LayerLatencies, read_layer_latencies
from edgewatt.formats.power_log import PowerLog, read_power_log
from edgewatt.formats.recording import RecordingPaths, holds_recording
from edgewatt.formats.run_folders import idle_power_file
from edgewatt.formats.run_info import RunInfo, read_run_info
from edgewatt.mapping.run import map_recording
from edgewatt.mapping.window import compute_latency_start_end_times
from edgewatt.results.beat import beat_error_w
from edgewatt.results.environment import clocks_text, environment_findings, recorded_environment
from edgewatt.results.estimate import Estimate
from edgewatt.results.mapped import made_of_mapping, mapping_findings, plain_text
from edgewatt.results.measured_layers import engine_layers, layer_findings, measured_layer, timed_layer
from edgewatt.results.network_result import Finding, LayerResult, NetworkResult, PowerTrace, Source, Weight

#: Blocks that a run's mean power and energy are from, and readings of another value that each holds on average.
_BLOCKS, _NEW_READINGS = 20, 3


def is_recording(folder: Path) -> bool:
    """Whether a folder is a raw recording's; an isolated one has nothing to show before it is mapped."""
    real = folder.resolve()
    return not is_isolated(real) and holds_recording(real)


def read_recorded(folder: Path, *, map_layers: bool = True) -> NetworkResult:
    """Read a raw recording, and map its power to layers where that can be done.

    Args:
        folder: The recording's folder.
        map_layers: Whether to map; without it, layers have runtimes alone.

    Raises:
        FormatError: The latencies of its layers are missing or broken, or another file is broken.
    """
    paths = RecordingPaths(folder.resolve())
    latencies = read_layer_latencies(paths.layer_latency)
    engine = read_engine_info(paths.engine_info) if paths.engine_info.exists() else EngineInfo(())
    run = read_run_info(paths.run_info) if paths.run_info.exists() else None
    benchmark = read_benchmark_result(paths.benchmark) if paths.benchmark.exists() else None
    log = read_power_log(paths.power_log) if paths.power_log.exists() else None
    cycles = None if latencies.end_us is None else match_layers(latencies, engine, paths.layer_latency)
    idle_power_w = _idle_power_w(paths)
    trace = None if log is None else _trace(log, _cycle_edges(run, cycles))
    beat_w = 0.0 if trace is None else beat_error_w(trace)
    bare = NetworkResult(
        name=paths.model,
        source=Source.RECORDING,
        path=folder,
        layers=_timed(paths, latencies, engine, cycles),
        idle_power_w=idle_power_w,
        runtime_s=_runtime(benchmark, trace),
        run_power_w=_run_power(trace, beat_w),
        run_energy_j=_run_energy(trace, beat_w),
        cycles=len(latencies.latency_ms[0]) if cycles is None else cycles.cycles,
        environment=recorded_environment(run, benchmark, ""),
        findings=tuple(environment_findings(run)),
        made=_made(run, benchmark),
        trace=trace,
    )
    return _with_power(bare, paths, cycles, log) if map_layers else bare


def _with_power(
    bare: NetworkResult, paths: RecordingPaths, cycles: LayerCycles | None, log: PowerLog | None
) -> NetworkResult:
    """The recording with its layers' powers, by the default method, where it has what mapping needs."""
    if cycles is None or log is None or bare.idle_power_w is None:
        missing = "power log" if log is None else "idle power" if cycles is not None else "time of each layer"
        finding = Finding(Weight.NOTE, f"There is no {missing}, so layers have runtimes alone")
        return replace(bare, findings=(*bare.findings, finding))
    try:
        with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
            # What it warns of is in what it returns, or was told when the files were read.
            warnings.simplefilter("ignore", EdgewattWarning)
            mapped = map_recording(paths, Path(scratch) / paths.model, bare.idle_power_w * 1e6)
    except EdgewattError as error:
        finding = Finding(Weight.BAD, f"Its power could not be mapped to layers, which have runtimes alone: {error}")
        return replace(bare, findings=(*bare.findings, finding))
    known = {layer.name: layer for layer in bare.layers}
    layers = tuple(
        measured_layer(
            power,
            known[power.layer_name].layer if power.layer_name in known else None,
            bare.idle_power_w,
            known[power.layer_name].runtime_s if power.layer_name in known else None,
            mapped.info.method,
        )
        for power in mapped.layers
    )
    method = mapped.info.method
    return replace(
        bare,
        layers=layers,
        environment=replace(bare.environment, method=method),
        findings=(*bare.findings, *mapping_findings(mapped.info), *layer_findings(layers, method)),
        made={**bare.made, **made_of_mapping(mapped.info, method, bare.idle_power_w)},
    )


def _timed(
    paths: RecordingPaths, latencies: LayerLatencies, engine: EngineInfo, cycles: LayerCycles | None
) -> tuple[LayerResult, ...]:
    known = engine_layers(paths.engine_info)
    if cycles is None:
        types = dict(zip(engine.names, engine.types, strict=True))
        return tuple(
            timed_layer(name, types.get(name, ""), known.get(name), Estimate.of_values(values / 1e3))
            for name, values in zip(latencies.names, latencies.latency_ms, strict=True)
        )
    return tuple(
        timed_layer(name, backend_type, known.get(name), Estimate.of_values(values / 1e3))
        for name, backend_type, values in zip(cycles.names, cycles.types, cycles.latency_ms, strict=True)
    )


def _idle_power_w(paths: RecordingPaths) -> float | None:
    path = idle_power_file(paths.folder)
    try:
        return read_idle_power(path).power_w
    except EdgewattError as error:
        warn(str(error))
        return None


def _cycle_edges(run: RunInfo | None, cycles: LayerCycles | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start and end of each cycle in us: as the recorder noted them, or of its first and last layer."""
    if run is not None and run.cycle_start_us and run.cycle_end_us:
        return np.array(run.cycle_start_us, dtype=np.int64), np.array(run.cycle_end_us, dtype=np.int64)
    if cycles is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    start, end = compute_latency_start_end_times(cycles.latency_ms, cycles.end_us)
    return start.min(axis=0), end.max(axis=0)


def _trace(log: PowerLog, edges: tuple[NDArray[np.int64], NDArray[np.int64]]) -> PowerTrace:
    first = log.times_us[0]
    start, end = ((edge - first) / 1e6 for edge in edges)
    return PowerTrace((log.times_us - first) / 1e6, log.power_uw / 1e6, start, end)


def _runtime(benchmark: BenchmarkResult | None, trace: PowerTrace | None) -> Estimate | None:
    if benchmark is not None and benchmark.latencies:
        return Estimate.of_values(benchmark.latencies)
    if benchmark is not None:
        return Estimate(benchmark.avg_latency)
    return None if trace is None else Estimate.of_values(trace.end_s - trace.start_s)


def _run_power(trace: PowerTrace | None, beat_w: float) -> Estimate | None:
    """Mean power from the first cycle's start to the last one's end, from blocks of time."""
    if trace is None or not len(trace.start_s):
        return None
    edges = np.linspace(trace.start_s[0], trace.end_s[-1], _blocks(trace) + 1)
    energies = _energies(trace, edges)
    found = None if energies is None else Estimate.of_values(energies / np.diff(edges))
    return None if found is None else found.widened(beat_w)


def _run_energy(trace: PowerTrace | None, beat_w: float) -> Estimate | None:
    """Energy of that time by cycle, from blocks of cycles."""
    if trace is None or not len(trace.start_s):
        return None
    cycles = len(trace.start_s)
    place = np.linspace(0, cycles, min(_blocks(trace), cycles) + 1).round().astype(np.int64)
    energies = _energies(trace, np.append(trace.start_s, trace.end_s[-1])[place])
    found = None if energies is None else Estimate.of_values(energies / np.diff(place))
    pitch_s = (trace.end_s[-1] - trace.start_s[0]) / cycles
    return None if found is None else found.widened(beat_w * float(pitch_s))


def _blocks(trace: PowerTrace) -> int:
    """Number of blocks, such that each holds new readings: those that one repeats from another tell nothing anew."""
    inside = trace.power_w[(trace.time_s >= trace.start_s[0]) & (trace.time_s <= trace.end_s[-1])]
    return max(1, min(_BLOCKS, int(np.count_nonzero(np.diff(inside))) // _NEW_READINGS))


def _energies(trace: PowerTrace, edges: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Energy in J between neighbouring times, each reading held until the next; None where the log ends before."""
    if edges[0] < trace.time_s[0] or edges[-1] > trace.time_s[-1] or np.any(np.diff(edges) <= 0):
        return None
    total_j = np.concatenate([[0.0], np.cumsum(np.diff(trace.time_s) * trace.power_w[:-1])])
    return np.asarray(np.diff(np.interp(edges, trace.time_s, total_j)), dtype=np.float64)


def _made(run: RunInfo | None, benchmark: BenchmarkResult | None) -> dict[str, str]:
    """How a recording was made, to show."""
    if run is None:
        return (
            {}
            if benchmark is None
            else {name: shown for name, value in benchmark.config.items() if (shown := plain_text(value))}
        )
    extra: dict[str, Any] = run.model_extra or {}
    facts: dict[str, Any] = {
        "Network": run.network,
        "Board": run.board,
        "Power mode": run.power_mode,
        "Backend": run.backend,
        "Precision": run.precision,
        "Input": "×".join(map(str, run.input_shape or ())),
        "Recorded": extra.get("recorded"),
        "Clocks": clocks_text(run),
        "L4T": extra.get("l4t"),
        **{f"Sensor: {name.replace('_', ' ')}": value for name, value in run.sensor.items()},
        **{f"Temperatures {name} (°C)": value for name, value in run.temperatures.items()},
        **{f"Version of {name}": value for name, value in run.versions.items()},
    }
    return {name: shown for name, value in facts.items() if (shown := plain_text(value))}
