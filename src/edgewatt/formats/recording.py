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
class LayerRuntimes:
    """Every layer's runtime in every cycle.

    Attributes:
        names: Names of the layers in execution order, told apart where the engine repeats one.
        types: The backend's type of each layer; empty where it is not known.
        latency_ms: Latencies in ms, shape (layers, cycles).
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    latency_ms: NDArray[np.float64]

    @property
    def cycles(self) -> int:
        """Number of cycles."""
        return int(self.latency_ms.shape[1])


@dataclass(frozen=True)
class LayerCycles(LayerRuntimes):
    """Every layer's runtime in every cycle, and when it was reported.

    Attributes:
        end_us: Times of the reports in microseconds since 1970, shape (layers, cycles).
    """

    end_us: NDArray[np.int64]


@dataclass(frozen=True)
class RecordedRuntimes:
    """A run of which nothing but runtimes can be told: no power was recorded, or not when the layers ran.

    Attributes:
        paths: Where its files lie.
        layers: Runtimes of the layers.
        benchmark: The benchmark's result, where there is one.
        run_info: Our description, where there is one.
    """

    paths: RecordingPaths
    layers: LayerRuntimes
    benchmark: BenchmarkResult | None
    run_info: RunInfo | None


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


def has_layer_power(paths: RecordingPaths) -> bool:
    """Whether a run was recorded so that its layers' power can be told.

    Not when it was recorded without a sensor, or by trtexec, which does not say when layers ran. A missing power
    log is otherwise an error, told when the run is read.

    Raises:
        FormatError: Its run.json is broken.
    """
    if not paths.run_info.exists():
        return True
    run = read_run_info(paths.run_info)
    return run.backend != "trtexec" and (bool(run.sensor) or paths.power_log.exists())


def read_recording(paths: RecordingPaths) -> Recording:
    """Read a run's files and check them against each other.

    Raises:
        FormatError: A file is missing or broken, or they do not belong together.
    """
    engine = _read_engine(paths)
    layers = match_layers(read_layer_latencies(paths.layer_latency), engine, paths.layer_latency)
    log = read_power_log(paths.power_log)
    _check_overlap(log, layers, paths)
    return Recording(
        paths=paths,
        power_log=log,
        layers=layers,
        engine=engine,
        benchmark=_read_benchmark(layers, paths),
        run_info=read_run_info(paths.run_info) if paths.run_info.exists() else None,
    )


def read_runtimes(paths: RecordingPaths) -> RecordedRuntimes:
    """Read what a run without power tells.

    Raises:
        FormatError: A file is missing or broken, or they do not belong together.
    """
    engine = _read_engine(paths)
    layers = match_runtimes(read_layer_latencies(paths.layer_latency), engine, paths.layer_latency)
    return RecordedRuntimes(
        paths=paths,
        layers=layers,
        benchmark=_read_benchmark(layers, paths),
        run_info=read_run_info(paths.run_info) if paths.run_info.exists() else None,
    )


def match_layers(latencies: LayerLatencies, engine: EngineInfo, path: Path) -> LayerCycles:
    """Put recorded latencies and times into the engine's order, as rectangles of layers and cycles.

    Arguments and errors are those of `match_runtimes`.

    Raises:
        FormatError: There are no timestamps.
    """
    if latencies.end_us is None:
        raise FormatError(
            "the latencies have no timestamps, so no power can be found for them",
            where=path,
            fix="Record with the base method's profiler, which stamps every report",
        )
    rows = _rows(latencies.names, engine, path)
    layers = _runtimes(latencies, rows, path)
    ends = [latencies.end_us[row.index][row.first :: row.step][: layers.cycles] for row in rows]
    _say_backward_jumps(ends[0], path)
    return LayerCycles(layers.names, layers.types, layers.latency_ms, np.array(ends))


def match_runtimes(latencies: LayerLatencies, engine: EngineInfo, path: Path) -> LayerRuntimes:
    """Put recorded latencies into the engine's order, as a rectangle of layers and cycles.

    A profiler that keys by name puts the cycles of two layers that share a name into one list, alternately;
    they are told apart here.

    Args:
        latencies: As recorded.
        engine: The engine's layers.
        path: The latencies' file, for errors.

    Raises:
        FormatError: The layers differ in their numbers of cycles by more than one that was cut off.
    """
    return _runtimes(latencies, _rows(latencies.names, engine, path), path)


@dataclass(frozen=True)
class _Row:
    """Where the cycles of one layer stand in the file: every `step`-th entry from `first` of the layer `index`."""

    name: str
    backend_type: str
    index: int
    first: int = 0
    step: int = 1


def _rows(names: Sequence[str], engine: EngineInfo, path: Path) -> list[_Row]:
    index_of = {name: index for index, name in enumerate(names)}
    occurrences = Counter(engine.names)
    rows: list[_Row] = []
    seen: Counter[str] = Counter()
    for name, unique, backend_type in zip(engine.names, engine.unique_names, engine.types, strict=True):
        if name in index_of:
            rows.append(_Row(unique, backend_type, index_of[name], seen[name], occurrences[name]))
            seen[name] += 1
    unknown = [name for name in names if name not in occurrences]
    if unknown:
        shown = ", ".join(repr(printable(name)) for name in unknown[:3])
        warn(
            f"the engine does not know {len(unknown)} of the {len(names)} recorded layers: {shown}",
            where=path,
            fix="They are kept without a type; check that the engine's file is of the same build",
        )
    return rows + [_Row(name, "", index_of[name]) for name in unknown]


def _runtimes(latencies: LayerLatencies, rows: Sequence[_Row], path: Path) -> LayerRuntimes:
    columns = [latencies.latency_ms[row.index][row.first :: row.step] for row in rows]
    cycles = _common_cycles([row.name for row in rows], [len(column) for column in columns], path)
    return LayerRuntimes(
        # A recorded layer that the engine does not know may be called as a repeated one was renamed.
        names=tuple(unique_names([row.name for row in rows])),
        types=tuple(row.backend_type for row in rows),
        latency_ms=np.array([column[:cycles] for column in columns]),
    )


def _common_cycles(names: Sequence[str], counts: Sequence[int], path: Path) -> int:
    """Number of cycles that all layers have."""
    fewest, most = min(counts), max(counts)
    if fewest == most:
        if most == 0:
            raise FormatError("no cycle was recorded", where=path, fix="Record it again")
        return most
    where = f"{path}, layer {printable(names[counts.index(fewest)])!r}"
    # Stopped in the middle of a cycle, the layers up to some point have one entry more than the rest.
    if most - fewest == 1 and fewest > 0 and list(counts) == sorted(counts, reverse=True):
        warn(f"the last cycle was cut off before this layer; it is left out, {fewest} cycles remain", where=where)
        return fewest
    raise FormatError(
        f"the layer has {fewest} cycles where others have {most}, so its cycles cannot be told",
        where=where,
        fix="Record again, or take the layer out of the file",
    )


def _read_engine(paths: RecordingPaths) -> EngineInfo:
    engine = read_engine_info(paths.engine_info)
    if engine.names_only:
        warn(
            "the engine was built with names only, so its layers have no kind or shapes",
            where=paths.engine_info,
            fix="Build it with detailed profiling verbosity (trtexec --profilingVerbosity=detailed)",
        )
    return engine


def _say_backward_jumps(end_us: NDArray[np.int64], path: Path) -> None:
    jumps, cycle, longest = backward_jumps(end_us)
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


def _read_benchmark(layers: LayerRuntimes, paths: RecordingPaths) -> BenchmarkResult | None:
    """Read the benchmark's result, and say when it is far from the layers: one of the two is then of another unit."""
    if not paths.benchmark.exists():
        return None
    benchmark = read_benchmark_result(paths.benchmark)
    layers_s = float(layers.latency_ms.sum(axis=0).mean()) / 1e3
    if not layers_s / _FAR <= benchmark.avg_latency <= max(layers_s, 1e-3) * _FAR:
        warn(
            f"avg_latency is {benchmark.avg_latency:g} s where the layers take {layers_s:g} s together; is one of them "
            "of another unit?",
            where=paths.benchmark,
            fix="avg_latency is in seconds, the latencies of layers are in milliseconds",
        )
    return benchmark
