"""Watts, milliseconds and millijoules of each layer of a CNN on an edge device, measured and predicted.

Everything that the command line does can be done from Python:

    >>> import edgewatt
    >>> edgewatt.simulate(raw_dir, ["resnet18", "alexnet"])
    >>> edgewatt.map_recordings(raw_dir, preprocessed_dir)
    >>> edgewatt.build_dataset(preprocessed_dir, training_dir)
    >>> edgewatt.train(training_dir, predictors_dir)
    >>> edgewatt.predict(edgewatt.network_layers("vgg16"), edgewatt.load_predictors(predictors_dir))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgewatt.errors import EdgewattError, EdgewattWarning

if TYPE_CHECKING:
    from edgewatt.comparison.compare import compare_results
    from edgewatt.dataset.run import build_dataset
    from edgewatt.exchange.convert import convert
    from edgewatt.exchange.export import export
    from edgewatt.formats.recording import find_recordings, read_recording
    from edgewatt.mapping.deconvolve import deconvolve
    from edgewatt.mapping.run import map_recordings
    from edgewatt.mapping.window import compute_latency_start_end_times, compute_layer_metrics_by_cycle
    from edgewatt.networks.architectures import architecture_names, network_layers
    from edgewatt.networks.layer import Layer, LayerKind
    from edgewatt.predictors.prediction import load_predictors, predict
    from edgewatt.predictors.prior import prior_prediction
    from edgewatt.predictors.training import train
    from edgewatt.recording.batch import record_many
    from edgewatt.recording.idle import measure_idle
    from edgewatt.recording.record import record
    from edgewatt.reports.html import write_report
    from edgewatt.results.collect import collect, read_result
    from edgewatt.sensors.discovery import discover
    from edgewatt.simulation.simulate import simulate

__version__ = "0.1.0"

__all__ = [
    "EdgewattError",
    "EdgewattWarning",
    "Layer",
    "LayerKind",
    "__version__",
    "architecture_names",
    "build_dataset",
    "collect",
    "compare_results",
    "compute_latency_start_end_times",
    "compute_layer_metrics_by_cycle",
    "convert",
    "deconvolve",
    "discover",
    "export",
    "find_recordings",
    "load_predictors",
    "map_recordings",
    "measure_idle",
    "network_layers",
    "predict",
    "prior_prediction",
    "read_recording",
    "read_result",
    "record",
    "record_many",
    "simulate",
    "train",
    "write_report",
]

#: Where each public name lives; imported when it is first used, so that the command line starts at once.
_HOMES = {
    "Layer": "edgewatt.networks.layer",
    "LayerKind": "edgewatt.networks.layer",
    "architecture_names": "edgewatt.networks.architectures",
    "build_dataset": "edgewatt.dataset.run",
    "collect": "edgewatt.results.collect",
    "compare_results": "edgewatt.comparison.compare",
    "compute_latency_start_end_times": "edgewatt.mapping.window",
    "compute_layer_metrics_by_cycle": "edgewatt.mapping.window",
    "convert": "edgewatt.exchange.convert",
    "deconvolve": "edgewatt.mapping.deconvolve",
    "discover": "edgewatt.sensors.discovery",
    "export": "edgewatt.exchange.export",
    "find_recordings": "edgewatt.formats.recording",
    "load_predictors": "edgewatt.predictors.prediction",
    "map_recordings": "edgewatt.mapping.run",
    "measure_idle": "edgewatt.recording.idle",
    "network_layers": "edgewatt.networks.architectures",
    "predict": "edgewatt.predictors.prediction",
    "prior_prediction": "edgewatt.predictors.prior",
    "read_recording": "edgewatt.formats.recording",
    "read_result": "edgewatt.results.collect",
    "record": "edgewatt.recording.record",
    "record_many": "edgewatt.recording.batch",
    "simulate": "edgewatt.simulation.simulate",
    "train": "edgewatt.predictors.training",
    "write_report": "edgewatt.reports.html",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'edgewatt' has no attribute {name!r}")
