"""One run's folder in `raw_data/`, read as a whole: its files must agree with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError, FormatError, printable, warn
from edgewatt.formats.benchmark import BenchmarkResult, read_benchmark_result
from edgewatt.formats.engine_info import EngineInfo, read_engine_info
from edgewatt.formats.folders import network_folders
from edgewatt.formats.layer_latency import LayerLatencies, read_layer_latencies
from edgewatt.formats.power_log import PowerLog, read_power_log
from edgewatt.formats.run_info import FILE_NAME as RUN_FILE
from edgewatt.formats.run_info import RunInfo, read_run_info
from edgewatt.formats.timestamps import backward_jumps
from edgewatt.networks.layer import unique_names

#: A network takes longer than its layers do together, but by less than this factor, whatever the host does between.
_FAR = 100.0


@dataclass(frozen=True)
class RecordingPaths:
    """Where a run's files lie.

    Attributes:
        folder: The run's folder; its name is the model's.
    """

    folder: Path

    @property
    def model(self) -> str:
        """The run's name, which is the prefix of its files."""
        return self.folder.name

    @property
    def power_log(self) -> Path:
        """The log of the total rail."""
        return self.folder / f"{self.model}_power_log.log"

    @property
    def benchmark(self) -> Path:
        """The benchmark's result."""
        return self.folder / f"{self.model}_tensorrt.json"

    @property
    def layer_latency(self) -> Path:
        """The profiler's latencies."""
        return self.folder / "trt_profiling" / "trt_layer_latency.json"

    @property
    def engine_info(self) -> Path:
        """The engine inspector's JSON."""
        return self.folder / "trt_profiling" / "trt_engine_info.json"

    @property
    def run_info(self) -> Path:
        """Our run.json."""
        return self.folder / RUN_FILE


@dataclass(frozen=True)
class LayerCycles:
    """Every layer's runtime in every cycle.

    Attributes:
        names: Names of the layers in execution order, told apart where the engine repeats one.
        types: The backend's type of each layer; empty where it is not known.
        latency_ms: Latencies in ms, shape (layers, cycles).
        end_us: Times of the reports in microseconds since 1970, shape (layers, cycles).
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    latency_ms: NDArray[np.float64]
    end_us: NDArray[np.int64]

    @property
    def cycles(self) -> int:
        """Number of cycles."""
        return int(self.latency_ms.shape[1])


@dataclass(frozen=True)
class Recording:
    """A run as it was recorded.

    Attributes:
        paths: Where its files lie.
        power_log: Readings of the total rail.
        layers: Runtimes of the layers.
        engine: The engine's layers.
        benchmark: The benchmark's result, where there is one.
        run_info: Our description, where there is one.
    """

    paths: RecordingPaths
    power_log: PowerLog
    layers: LayerCycles
    engine: EngineInfo
    benchmark: BenchmarkResult | None
    run_info: RunInfo | None


def find_recordings(raw_dir: Path, models: Sequence[str] = ()) -> list[RecordingPaths]:
    """Find the runs in a folder of raw data.

    Args:
        raw_dir: The folder.
        models: Names of the runs wanted; all, when empty.

    Raises:
        EdgewattError: The folder is missing or holds no run, or a named run is not there.
    """
    found = [RecordingPaths(folder) for folder in network_folders(raw_dir, "record")]
    found = [paths for paths in found if paths.power_log.exists() or paths.layer_latency.parent.is_dir()]
    if not found:
        raise EdgewattError(
            "the folder holds no recording",
            where=raw_dir,
            fix="A recording is a folder <model> with <model>_power_log.log and trt_profiling/ in it",
        )
    if not models:
        return found
    by_name = {paths.model: paths for paths in found}
    missing = [name for name in models if name not in by_name]
    if missing:
        raise EdgewattError(
            f"no recording of {', '.join(missing)}", where=raw_dir, fix=f"There are: {', '.join(by_name)}"
        )
    return [by_name[name] for name in dict.fromkeys(models)]


def read_recording(paths: RecordingPaths) -> Recording:
    """Read a run's files and check them against each other.

    Raises:
        FormatError: A file is missing or broken, or they do not belong together.
    """
    latencies = read_layer_latencies(paths.layer_latency)
    engine = read_engine_info(paths.engine_info)
    if engine.names_only:
        warn(
            "the engine was built with names only, so its layers have no kind or shapes",
            where=paths.engine_info,
            fix="Build it with detailed profiling verbosity (trtexec --profilingVerbosity=detailed)",
        )
    layers = match_layers(latencies, engine, paths.layer_latency)
    log = read_power_log(paths.power_log)
    _check_overlap(log, layers, paths)
    benchmark = read_benchmark_result(paths.benchmark) if paths.benchmark.exists() else None
    _check_benchmark(benchmark, layers, paths)
    return Recording(
        paths=paths,
        power_log=log,
        layers=layers,
        engine=engine,
        benchmark=benchmark,
        run_info=read_run_info(paths.run_info) if paths.run_info.exists() else None,
    )


def match_layers(latencies: LayerLatencies, engine: EngineInfo, path: Path) -> LayerCycles:
    """Put recorded latencies into the engine's order, as a rectangle of layers and cycles.

    A profiler that keys by name puts the cycles of two layers that share a name into one list, alternately;
    they are told apart here.

    Args:
        latencies: As recorded.
        engine: The engine's layers.
        path: The latencies' file, for errors.

    Raises:
        FormatError: There are no timestamps, or the layers differ in their numbers of cycles by more than
            one that was cut off.
    """
    if latencies.end_us is None:
        raise FormatError(
            "the latencies have no timestamps, so no power can be found for them",
            where=path,
            fix="Record with the base method's profiler, which stamps every report",
        )
    recorded = dict(zip(latencies.names, zip(latencies.latency_ms, latencies.end_us, strict=True), strict=True))
    occurrences = Counter(engine.names)
    rows: list[tuple[str, str, NDArray[np.float64], NDArray[np.int64]]] = []
    seen: Counter[str] = Counter()
    for name, unique, backend_type in zip(engine.names, engine.unique_names, engine.types, strict=True):
        if name in recorded:
            latency, end = recorded[name]
            first, step = seen[name], occurrences[name]
            rows.append((unique, backend_type, latency[first::step], end[first::step]))
            seen[name] += 1
    unknown = [name for name in latencies.names if name not in occurrences]
    if unknown:
        shown = ", ".join(repr(printable(name)) for name in unknown[:3])
        warn(
            f"the engine does not know {len(unknown)} of the {len(recorded)} recorded layers: {shown}",
            where=path,
            fix="They are kept without a type; check that the engine's file is of the same build",
        )
    rows += [(name, "", *recorded[name]) for name in unknown]
    rows = _same_cycles(rows, path)
    _say_backward_jumps(rows, path)
    return LayerCycles(
        # A recorded layer that the engine does not know may be called as a repeated one was renamed.
        names=tuple(unique_names([row[0] for row in rows])),
        types=tuple(row[1] for row in rows),
        latency_ms=np.array([row[2] for row in rows]),
        end_us=np.array([row[3] for row in rows]),
    )


def _same_cycles(
    rows: list[tuple[str, str, NDArray[np.float64], NDArray[np.int64]]], path: Path
) -> list[tuple[str, str, NDArray[np.float64], NDArray[np.int64]]]:
    counts = np.array([len(row[2]) for row in rows])
    fewest, most = int(counts.min()), int(counts.max())
    if fewest == most:
        if most == 0:
            raise FormatError("no cycle was recorded", where=path, fix="Record it again")
        return rows
    short = rows[int(np.argmin(counts))][0]
    where = f"{path}, layer {printable(short)!r}"
    # Stopped in the middle of a cycle, the layers up to some point have one entry more than the rest.
    if most - fewest == 1 and fewest > 0 and bool(np.all(np.diff(counts) <= 0)):
        warn(
            f"the last cycle was cut off before this layer; it is left out, {fewest} cycles remain",
            where=where,
        )
        return [(name, kind, latency[:fewest], end[:fewest]) for name, kind, latency, end in rows]
    raise FormatError(
        f"the layer has {fewest} cycles where others have {most}, so its cycles cannot be told",
        where=where,
        fix="Record again, or take the layer out of the file",
    )


def _say_backward_jumps(rows: list[tuple[str, str, NDArray[np.float64], NDArray[np.int64]]], path: Path) -> None:
    jumps, cycle, longest = backward_jumps(rows[0][3])
    if jumps:
        warn(
            f"the clock jumps back at cycle {cycle + 1} ({jumps} jumps, the longest {longest:.3f} s); windows are "
            "looked up by the times as they stand",
            where=path,
        )


def _check_overlap(log: PowerLog, layers: LayerCycles, paths: RecordingPaths) -> None:
    first, last = int(layers.end_us.min()), int(layers.end_us.max())
    if last < log.times_us[0] or first > log.times_us[-1]:
        raise FormatError(
            "no reading was taken while the network ran: the power log and the layer latencies do not overlap",
            where=paths.power_log,
            fix="They must come from one run and one clock",
        )


def _check_benchmark(benchmark: BenchmarkResult | None, layers: LayerCycles, paths: RecordingPaths) -> None:
    """Say when the network's own latency is far from its layers': one of the two is then of another unit."""
    layers_s = float(layers.latency_ms.sum(axis=0).mean()) / 1e3
    if benchmark is not None and not layers_s / _FAR <= benchmark.avg_latency <= max(layers_s, 1e-3) * _FAR:
        warn(
            f"avg_latency is {benchmark.avg_latency:g} s where the layers take {layers_s:g} s together; is one of them "
            "of another unit?",
            where=paths.benchmark,
            fix="avg_latency is in seconds, the latencies of layers are in milliseconds",
        )
