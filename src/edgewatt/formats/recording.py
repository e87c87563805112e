"""One run's folder in `raw_data/`, read as a whole: its files must agree with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewatt.errors import EdgewattError, FormatError, warn
from edgewatt.formats.benchmark import BenchmarkResult, read_benchmark_result
from edgewatt.formats.engine_info import EngineInfo, read_engine_info
from edgewatt.formats.folders import refuse_foreign
from edgewatt.formats.isolated import is_isolated
from edgewatt.formats.layer_cycles import LayerCycles, LayerRuntimes, match_layers, match_runtimes
from edgewatt.formats.layer_latency import read_layer_latencies
from edgewatt.formats.power_log import PowerLog, read_power_log
from edgewatt.formats.run_folders import RunFolder, chosen_runs, run_folders
from edgewatt.formats.run_info import FILE_NAME as RUN_FILE
from edgewatt.formats.run_info import RunInfo, read_run_info

#: A network takes longer than its layers do together, but by less than this factor, whatever the host does between.
_FAR = 100.0


@dataclass(frozen=True)
class RecordingPaths:
    """Where a run's files lie.

    Attributes:
        folder: The run's folder; its name is the model's.
        board: Name of the board's folder that it lies in; empty where it lies in none.
    """

    folder: Path
    board: str = ""

    @property
    def model(self) -> str:
        """The run's name, which is the prefix of its files."""
        return self.folder.name

    @property
    def name(self) -> str:
        """`model`, or `board/model`: the path below the folder of all recordings."""
        return RunFolder(self.folder, self.board).name

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
    """Find the runs in a folder of raw data, or in the folders of boards in it.

    Args:
        raw_dir: The folder.
        models: Names of the runs wanted, `model` or `board/model`; all, when empty.

    Raises:
        EdgewattError: The folder is missing or holds no run, or a named run is not there.
    """
    found = [RecordingPaths(run.path, run.board) for run in run_folders(raw_dir, "record", holds_recording)]
    if not found and holds_recording(raw_dir.resolve()):
        raise EdgewattError(
            "this is a recording itself, not a folder of recordings",
            where=raw_dir,
            fix=f"Name the folder above it, and {raw_dir.resolve().name} with --networks",
        )
    if not found:
        raise EdgewattError(
            "the folder holds no recording",
            where=raw_dir,
            fix="A recording is a folder <model> with <model>_power_log.log and trt_profiling/ in it",
        )
    return chosen_runs({paths.name: paths for paths in found}, models, "recording of", raw_dir)


def refuse_foreign_recording(folder: Path) -> None:
    """Refuse to record into a folder that holds something else.

    Raises:
        EdgewattError: It does, or there is a file of that name.
    """
    is_own = holds_recording(folder) or RecordingPaths(folder).run_info.exists() or is_isolated(folder)
    refuse_foreign(folder, "a recording", is_own=folder.is_dir() and is_own)


def holds_recording(folder: Path) -> bool:
    """Whether a folder is a run's, in place or isolated."""
    paths = RecordingPaths(folder)
    return paths.power_log.exists() or paths.layer_latency.parent.is_dir()


def has_layer_power(paths: RecordingPaths) -> bool:
    """Whether a run was recorded so that its layers' power can be told.

    Not when it was recorded without a sensor, or by trtexec, which does not say when layers ran; an isolated recording
    has no log of its own. A missing power log is otherwise an error, told when the run is read.

    Raises:
        FormatError: Its run.json is broken.
    """
    if is_isolated(paths.folder):
        return False
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


def _read_engine(paths: RecordingPaths) -> EngineInfo:
    engine = read_engine_info(paths.engine_info)
    if engine.names_only:
        warn(
            "the engine was built with names only, so its layers have no kind or shapes",
            where=paths.engine_info,
            fix="Build it with detailed profiling verbosity (trtexec --profilingVerbosity=detailed)",
        )
    return engine


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
