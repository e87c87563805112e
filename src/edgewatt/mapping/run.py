"""Mapping whole recordings, from raw_data/ to preprocessed_data/."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import edgewatt
from edgewatt.batch import Batch, Made, run_tasks
from edgewatt.errors import EdgewattError, EdgewattWarning, warn
from edgewatt.formats.atomic import write_bytes
from edgewatt.formats.folders import refuse_foreign, refuse_same_folder, replacing_folder
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.isolated import is_isolated
from edgewatt.formats.layer_cycles import LayerRuntimes
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_metrics import write_layer_metrics
from edgewatt.formats.layer_power import FILE_NAME as LAYER_POWER_FILE
from edgewatt.formats.layer_power import LayerPower, read_layer_power, write_layer_power
from edgewatt.formats.made_from import MadeFrom, file_digests, made_already, visible_files, write_made_from
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import MappingInfo, read_mapping_info, write_mapping_info
from edgewatt.formats.recording import (
    RecordedRuntimes,
    Recording,
    RecordingPaths,
    find_recordings,
    has_layer_power,
    read_recording,
    read_runtimes,
)
from edgewatt.formats.run_folders import idle_power_file
from edgewatt.formats.unfinished import finish_unfinished
from edgewatt.mapping.closure import energy_closure
from edgewatt.mapping.deconvolve import deconvolve
from edgewatt.mapping.info import power_info, runtimes_info
from edgewatt.mapping.isolated import map_isolated
from edgewatt.mapping.summary import summarise, summarise_layer
from edgewatt.mapping.window import reading_ranges, window_power
from edgewatt.tabular import Tabular
from edgewatt.workers.identity import source_digest
from edgewatt.workers.places import open_place

Method = Literal["deconvolve", "window"]
METHODS: tuple[Method, ...] = ("deconvolve", "window")
#: Bytes of recordings that one process maps in the time that it takes to start others.
_SMALL_BYTES: dict[Method, float] = {"deconvolve": 8e6, "window": 1e8}
ReadT = TypeVar("ReadT")


@dataclass(frozen=True)
class MappedNetwork(Tabular):
    """One network's result.

    Attributes:
        model: The run's name, behind that of its board's folder where it lies in one.
        folder: Where its files were written.
        layers: Its layers' powers, in execution order.
        info: How it was mapped.
    """

    model: str
    folder: Path
    layers: list[LayerPower]
    info: MappingInfo


def map_recordings(
    raw_dir: Path,
    preprocessed_dir: Path,
    *,
    models: Sequence[str] = (),
    method: Method = "deconvolve",
    jobs: int | None = None,
    scheduler: str | None = None,
    redo: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Batch[MappedNetwork]:
    """Map the recordings of a folder, going on after one that is broken.

    Files are the same wherever the work is done. A network that was mapped already, from the same files with the same
    settings by the same edgewatt, is not mapped again, so that a batch that was interrupted goes on where it stopped.

    Args:
        raw_dir: Folder of recordings.
        preprocessed_dir: Folder to write to; one folder a network, in folders of boards where the recordings are.
        models: Names of the runs wanted, `model` or `board/model`; all, when empty.
        method: The mapping method.
        jobs: Recordings at once, each in a process of its own; when None, as many as there are cores, or one where
            that is as fast.
        scheduler: Address of a Dask scheduler, whose workers do the work.
        redo: Map again what was mapped already.
        progress: Called with each network's name when its turn comes.

    Raises:
        EdgewattError: There is nothing to map, the idle power is unusable, or the cluster is.
    """
    checked_method(method)
    refuse_same_folder(raw_dir, preprocessed_dir)
    recordings = find_recordings(raw_dir, models)
    idle_power_uw = _idle_powers_uw(raw_dir, recordings)
    folders = {preprocessed_dir / paths.board for paths in recordings}
    for folder in folders:
        finish_unfinished(folder)
    tasks = [
        _Task(paths, preprocessed_dir / paths.name, idle_power_uw[paths.board], method, redo) for paths in recordings
    ]
    if jobs is None and scheduler is None and _is_small(recordings, method):
        jobs = 1
    with open_place(jobs=jobs, scheduler=scheduler, tasks=len(tasks)) as place:
        place.check_folders([raw_dir], [preprocessed_dir])
        batch = run_tasks(tasks, lambda task: task.paths.name, _map_task, place, progress)
    # A worker may have been killed meanwhile.
    for folder in folders:
        finish_unfinished(folder)
    return batch


@dataclass(frozen=True)
class _Task:
    """What is to be done with one recording; arguments of `map_recording`, and whether to do it again."""

    paths: RecordingPaths
    folder: Path
    idle_power_uw: float | None
    method: Method
    redo: bool


def _map_task(task: _Task) -> Made[MappedNetwork]:
    made_from = _made_from(task.paths, task.idle_power_uw, task.method)
    if not task.redo and made_already(task.folder, made_from) is not None:
        layers = read_layer_power(task.folder / LAYER_POWER_FILE)
        info = read_mapping_info(task.folder / MAPPING_FILE)
        return Made(MappedNetwork(task.paths.name, task.folder, layers, info), already=True)
    network = _map_and_write(task.paths, task.folder, task.idle_power_uw, task.method, made_from)
    return Made(network, already=False)


def _is_small(recordings: Sequence[RecordingPaths], method: Method) -> bool:
    """Whether all is done before worker processes would have started."""
    files = [file for paths in recordings for file in (paths.layer_latency, paths.power_log) if file.exists()]
    return sum(file.stat().st_size for file in files) < _SMALL_BYTES[method]


def _made_from(paths: RecordingPaths, idle_power_uw: float | None, method: Method) -> MadeFrom:
    """What a mapped network depends on: all files of the recording, whichever are read, the settings, and the code."""
    settings: dict[str, Any] = {"method": method}
    if idle_power_uw is not None:
        settings["idle_power_uw"] = idle_power_uw
    return MadeFrom(
        edgewatt_version=edgewatt.__version__,
        source=source_digest(),
        settings=settings,
        inputs=file_digests(paths.folder, visible_files(paths.folder)),
    )


def _idle_powers_uw(raw_dir: Path, recordings: Sequence[RecordingPaths]) -> dict[str, float | None]:
    """Idle power of each board's folder, which recordings without power do not need."""
    boards = dict.fromkeys(paths.board for paths in recordings)
    return {
        board: _idle_power_uw(raw_dir / board, [paths for paths in recordings if paths.board == board])
        for board in boards
    }


def _idle_power_uw(folder: Path, recordings: Sequence[RecordingPaths]) -> float | None:
    # Above the folder that was named is nobody's idle power.
    file = idle_power_file(recordings[0].folder) if recordings[0].board else folder / IDLE_FILE
    if not file.exists() and not any(_may_need_idle_power(paths) for paths in recordings):
        return None
    return read_idle_power(file).avg_idle_power


def _may_need_idle_power(paths: RecordingPaths) -> bool:
    try:
        return has_layer_power(paths)
    except EdgewattError:
        return False  # its broken run.json is told when its turn comes


def checked_method(name: str) -> Method:
    """Check the name of a mapping method.

    Raises:
        EdgewattError: There is no such method.
    """
    for method in METHODS:
        if name == method:
            return method
    raise EdgewattError(f"there is no mapping method {name!r}", fix=f"Use one of {', '.join(METHODS)}")


def map_recording(
    paths: RecordingPaths, folder: Path, idle_power_uw: float | None, method: Method = "deconvolve"
) -> MappedNetwork:
    """Map one recording and write its files, all of them or none.

    Args:
        paths: The recording.
        folder: Folder to write to; what it held before is replaced.
        idle_power_uw: Idle power in uW; not needed for a recording without power.
        method: The mapping method; an isolated recording is mapped as what it is, whichever that is.

    Raises:
        EdgewattError: The recording is broken, or a file cannot be written.
    """
    return _map_and_write(paths, folder, idle_power_uw, method, _made_from(paths, idle_power_uw, method))


def _map_and_write(
    paths: RecordingPaths, folder: Path, idle_power_uw: float | None, method: Method, made_from: MadeFrom
) -> MappedNetwork:
    if is_isolated(paths.folder):
        layers, info = map_isolated(paths)
        mapped = _Mapped(layers, info)
    elif has_layer_power(paths):
        recording, told = _listen(lambda: read_recording(paths))
        if idle_power_uw is None:
            raise EdgewattError("the recording has power, but its idle power is not known", where=paths.folder)
        mapped = _map_power(recording, idle_power_uw, method, told)
    else:
        runtimes, told = _listen(lambda: read_runtimes(paths))
        mapped = _map_runtimes(runtimes, told)
    own = (LAYER_POWER_FILE, METRICS_FILE, MAPPING_FILE)
    refuse_foreign(folder, "a mapped network", is_own=any((folder / name).exists() for name in own))
    with replacing_folder(folder, keep_others=False) as beside:
        if mapped.cycles is not None and mapped.power_uw is not None and idle_power_uw is not None:
            write_layer_metrics(beside / METRICS_FILE, mapped.cycles, mapped.power_uw, idle_power_uw)
        write_bytes(beside / paths.engine_info.name, paths.engine_info.read_bytes())
        write_layer_power(beside / LAYER_POWER_FILE, mapped.layers)
        write_mapping_info(beside / MAPPING_FILE, mapped.info)
        write_made_from(beside, made_from, list(beside.iterdir()))
    return MappedNetwork(paths.name, folder, mapped.layers, mapped.info)


@dataclass(frozen=True)
class _Mapped:
    """What is to be written; `power_uw` is each layer's power in each cycle, which only the window method has."""

    layers: list[LayerPower]
    info: MappingInfo
    cycles: LayerRuntimes | None = None
    power_uw: NDArray[np.float64] | None = None


def _listen(read: Callable[[], ReadT]) -> tuple[ReadT, list[str]]:
    """Read, and keep our warnings for mapping.json; the user is told them at once, also when the mapping fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = read()
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return result, [str(warning.message) for warning in caught if issubclass(warning.category, EdgewattWarning)]


def _map_power(recording: Recording, idle_power_uw: float, method: Method, told: list[str]) -> _Mapped:
    if method == "window":
        ranges = reading_ranges(recording.layers, recording.power_log)
        power_uw = window_power(ranges, recording.power_log)
        layers = summarise(recording.layers, power_uw, idle_power_uw)
        closure = energy_closure(recording.layers, recording.power_log, ranges, layers)
        info = power_info(recording, layers, closure, idle_power_uw, told, method)
        return _Mapped(layers, info, recording.layers, power_uw)
    # Its matrices are small: threads of the linear algebra would wait for each other most of the time.
    with threadpool_limits(limits=1):
        run = deconvolve(recording, idle_power_uw / 1e6)
    for what in run.warnings:
        warn(what, where=recording.paths.name)
    info = power_info(recording, run.layers, run.energy_closure, idle_power_uw, [*told, *run.warnings], method)
    info = info.model_copy(update={"deconvolution": run.diagnostics})
    return _Mapped(run.layers, info, recording.layers)


def _map_runtimes(runtimes: RecordedRuntimes, told: list[str]) -> _Mapped:
    """Runtimes alone, where the power of single layers cannot be told."""
    layers = [
        summarise_layer(name, kind, np.full(len(latency_ms), np.nan), latency_ms, None)
        for name, kind, latency_ms in zip(
            runtimes.layers.names, runtimes.layers.types, runtimes.layers.latency_ms, strict=True
        )
    ]
    return _Mapped(layers, runtimes_info(runtimes, told), runtimes.layers)
