"""Recordings, mapped networks and predictions as profiles of layers, in the format of trtexec's `--exportProfile`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgewatt.dataset.tables import read_measured_layers
from edgewatt.errors import EdgewattError
from edgewatt.exchange.sources import Source, SourceKind
from edgewatt.exchange.tables import prediction_table
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_metrics import read_layer_metrics
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import read_mapping_info
from edgewatt.formats.recording import RecordingPaths, read_recording
from edgewatt.formats.trtexec_profile import LayerProfile


def layer_profile(source: Source) -> LayerProfile:
    """The runtimes of a source's layers.

    A recording, and a network mapped by the window method, have medians. A prediction counts as one inference.

    Raises:
        EdgewattError: The source is training tables or several networks, a layer has no runtime, or a file is missing
            or broken.
    """
    if source.kind is SourceKind.TRAINING:
        raise EdgewattError(
            "training tables hold no order of layers", where=source.path, fix="Name a recording or a mapped network"
        )
    if source.kind is SourceKind.RECORDING:
        layers = read_recording(RecordingPaths(source.network)).layers
        return _of_cycles(layers.names, list(layers.latency_ms))
    return _mapped(source.network) if source.kind is SourceKind.MAPPED else _predicted(source.network)


def _mapped(folder: Path) -> LayerProfile:
    if (folder / METRICS_FILE).exists():
        metrics = read_layer_metrics(folder / METRICS_FILE)
        return _of_cycles([layer.name for layer in metrics], [layer.latency_ms for layer in metrics])
    layers = read_measured_layers(folder).layers
    cycles = read_mapping_info(folder / MAPPING_FILE).cycles
    mean = np.array([layer.runtime_ms for layer in layers])
    return LayerProfile(tuple(layer.layer_name for layer in layers), mean, cycles, mean * cycles)


def _predicted(path: Path) -> LayerProfile:
    table = prediction_table(path)
    runtime = table["runtime_prediction (ms)"]
    if runtime.null_count():
        row = int(runtime.is_null().arg_max() or 0)
        raise EdgewattError(
            "the layer has no predicted runtime",
            where=f"{path}, line {row + 2}",
            fix="Predict with predictors that cover its layers",
        )
    mean = runtime.to_numpy()
    return LayerProfile(tuple(table["layer_name"]), mean, 1, mean)


def _of_cycles(names: Sequence[str], latency_ms: Sequence[NDArray[np.float64]]) -> LayerProfile:
    return LayerProfile(
        names=tuple(names),
        mean_ms=np.array([values.mean() for values in latency_ms]),
        cycles=max(len(values) for values in latency_ms),
        total_ms=np.array([values.sum() for values in latency_ms]),
        median_ms=np.array([np.median(values) for values in latency_ms]),
    )
