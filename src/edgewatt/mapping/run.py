"""Mapping whole recordings, from raw_data/ to preprocessed_data/."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from edgewatt.batch import Batch, run_batch
from edgewatt.errors import EdgewattError, EdgewattWarning, warn
from edgewatt.formats.atomic import write_bytes
from edgewatt.formats.folders import replacing_folder
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.layer_cycles import LayerRuntimes
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_metrics import write_layer_metrics
from edgewatt.formats.layer_power import FILE_NAME as LAYER_POWER_FILE
from edgewatt.formats.layer_power import LayerPower, write_layer_power
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import MappingInfo, write_mapping_info
from edgewatt.formats.recording import (
    RecordedRuntimes,
    Recording,
    RecordingPaths,
    find_recordings,
    has_layer_power,
    read_recording,
    read_runtimes,
)
from edgewatt.mapping.closure import energy_closure
from edgewatt.mapping.deconvolve import deconvolve
from edgewatt.mapping.info import power_info, runtimes_info
from edgewatt.mapping.summary import summarise, summarise_layer
from edgewatt.mapping.window import reading_ranges, window_power
from edgewatt.tabular import Tabular

Method = Literal["deconvolve", "window"]
METHODS: tuple[Method, ...] = ("deconvolve", "window")
ReadT = TypeVar("ReadT")


@dataclass(frozen=True)
class MappedNetwork(Tabular):
    """One network's result.

    Attributes:
        model: The run's name.
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
    progress: Callable[[str], None] | None = None,
) -> Batch[MappedNetwork]:
    """Map the recordings of a folder, going on after one that is broken.

    Args:
        raw_dir: Folder of recordings.
        preprocessed_dir: Folder to write to; one folder a network.
        models: Names of the runs wanted; all, when empty.
        method: The mapping method.
        progress: Called with each network's name before its turn.

    Raises:
        EdgewattError: There is nothing to map, or the idle power is unusable.
    """
    checked_method(method)
    recordings = find_recordings(raw_dir, models)
    idle_power_uw = _idle_power_uw(raw_dir, recordings)
    return run_batch(
        recordings,
        lambda paths: paths.model,
        lambda paths: map_recording(paths, preprocessed_dir / paths.model, idle_power_uw, method),
        progress,
    )


def _idle_power_uw(raw_dir: Path, recordings: Sequence[RecordingPaths]) -> float | None:
    """Idle power, which recordings without power do not need."""
    if not (raw_dir / IDLE_FILE).exists() and not any(_may_need_idle_power(paths) for paths in recordings):
        return None
    return read_idle_power(raw_dir / IDLE_FILE).avg_idle_power


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
        method: The mapping method.

    Raises:
        EdgewattError: The recording is broken, or a file cannot be written.
    """
    if has_layer_power(paths):
        recording, told = _listen(lambda: read_recording(paths))
        if idle_power_uw is None:
            raise EdgewattError("the recording has power, but its idle power is not known", where=paths.folder)
        mapped = _map_power(recording, idle_power_uw, method, told)
    else:
        runtimes, told = _listen(lambda: read_runtimes(paths))
        mapped = _map_runtimes(runtimes, told)
    with replacing_folder(folder, keep_others=False) as beside:
        if mapped.power_uw is not None and idle_power_uw is not None:
            write_layer_metrics(beside / METRICS_FILE, mapped.cycles, mapped.power_uw, idle_power_uw)
        write_bytes(beside / paths.engine_info.name, paths.engine_info.read_bytes())
        write_layer_power(beside / LAYER_POWER_FILE, mapped.layers)
        write_mapping_info(beside / MAPPING_FILE, mapped.info)
    return MappedNetwork(paths.model, folder, mapped.layers, mapped.info)


@dataclass(frozen=True)
class _Mapped:
    """What is to be written; `power_uw` is each layer's power in each cycle, which only the window method has."""

    layers: list[LayerPower]
    info: MappingInfo
    cycles: LayerRuntimes
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
        warn(what, where=recording.paths.model)
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
