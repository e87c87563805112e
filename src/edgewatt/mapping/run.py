"""Mapping whole recordings, from raw_data/ to preprocessed_data/."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

import edgewatt
from edgewatt.batch import Batch, run_batch
from edgewatt.errors import EdgewattError, EdgewattWarning, warn
from edgewatt.formats.atomic import write_bytes
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_metrics import write_layer_metrics
from edgewatt.formats.layer_power import FILE_NAME as LAYER_POWER_FILE
from edgewatt.formats.layer_power import LayerPower, write_layer_power
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import MappingInfo, write_mapping_info
from edgewatt.formats.recording import Recording, RecordingPaths, find_recordings, read_recording
from edgewatt.mapping.closure import EnergyClosure, energy_closure
from edgewatt.mapping.deconvolve import deconvolve
from edgewatt.mapping.summary import summarise
from edgewatt.mapping.window import reading_ranges, window_power

Method = Literal["window", "deconvolve"]
METHODS: tuple[Method, ...] = ("window", "deconvolve")


@dataclass(frozen=True)
class MappedNetwork:
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
    method: Method = "window",
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
    idle_power_uw = read_idle_power(raw_dir / IDLE_FILE).avg_idle_power
    return run_batch(
        recordings,
        lambda paths: paths.model,
        lambda paths: map_recording(paths, preprocessed_dir / paths.model, idle_power_uw, method),
        progress,
    )


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
    paths: RecordingPaths, folder: Path, idle_power_uw: float, method: Method = "window"
) -> MappedNetwork:
    """Map one recording and write its files.

    Args:
        paths: The recording.
        folder: Folder to write to.
        idle_power_uw: Idle power in uW.
        method: The mapping method.

    Raises:
        EdgewattError: The recording is broken, or a file cannot be written.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recording = read_recording(paths)
    # Told now, so that they reach the user also when the mapping fails, and kept for mapping.json.
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    told = [str(warning.message) for warning in caught if issubclass(warning.category, EdgewattWarning)]
    if method == "window":
        ranges = reading_ranges(recording.layers, recording.power_log)
        power_uw = window_power(ranges, recording.power_log)
        layers = summarise(recording.layers, power_uw, idle_power_uw)
        closure = energy_closure(recording.layers, recording.power_log, ranges, layers)
        info = _info(recording, layers, closure, idle_power_uw, told, method)
        write_layer_metrics(folder / METRICS_FILE, recording.layers, power_uw, idle_power_uw)
    else:
        run = deconvolve(recording, idle_power_uw / 1e6)
        layers = run.layers
        for what in run.warnings:
            warn(what, where=paths.model)
        info = _info(recording, layers, run.energy_closure, idle_power_uw, [*told, *run.warnings], method)
        info = info.model_copy(update={"deconvolution": run.diagnostics})
        # Its powers are of cycles that this method does not tell apart: one left by the other method would mislead.
        (folder / METRICS_FILE).unlink(missing_ok=True)
    write_bytes(folder / paths.engine_info.name, paths.engine_info.read_bytes())
    write_layer_power(folder / LAYER_POWER_FILE, layers)
    write_mapping_info(folder / MAPPING_FILE, info)
    return MappedNetwork(paths.model, folder, layers, info)


def _info(
    recording: Recording,
    layers: list[LayerPower],
    closure: EnergyClosure | None,
    idle_power_uw: float,
    told: list[str],
    method: Method,
) -> MappingInfo:
    log, benchmark, run = recording.power_log, recording.benchmark, recording.run_info
    layers_s = float(recording.layers.latency_ms.sum(axis=0).mean()) / 1e3
    network_s = None if benchmark is None else benchmark.avg_latency
    power = log.power_uw
    return MappingInfo(
        edgewatt_version=edgewatt.__version__,
        model=recording.paths.model,
        method=method,
        idle_power_w=idle_power_uw / 1e6,
        cycles=recording.layers.cycles,
        layers=len(layers),
        readings={"total": len(log), "changed": int(np.count_nonzero(np.diff(power))) + 1},
        energy={}
        if closure is None
        else {
            "measured_j": closure.measured_j,
            "layers_j": closure.layers_j,
            "gaps_j": closure.gaps_j,
        },
        energy_closure=None if closure is None else closure.difference,
        runtime={
            "sum_of_layers_s": layers_s,
            "network_s": network_s,
            "ratio": None if network_s is None else layers_s / network_s,
        },
        warnings=told,
        run={}
        if run is None
        else {
            "board": run.board,
            "backend": run.backend,
            "power_mode": run.power_mode,
            "precision": run.precision,
            "batch_size": run.batch_size,
            "interrupted": run.interrupted,
        },
    )
