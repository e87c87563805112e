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
    from edgewatt.dataset.run import build_dataset
    from edgewatt.formats.recording import find_recordings, read_recording
    from edgewatt.mapping.run import map_recordings
    from edgewatt.mapping.window import compute_latency_start_end_times, compute_layer_metrics_by_cycle
    from edgewatt.networks.architectures import architecture_names, network_layers
    from edgewatt.networks.layer import Layer, LayerKind
    from edgewatt.predictors.prediction import load_predictors, predict
    from edgewatt.predictors.training import train
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
    "compute_latency_start_end_times",
    "compute_layer_metrics_by_cycle",
    "find_recordings",
    "load_predictors",
    "map_recordings",
    "network_layers",
    "predict",
    "read_recording",
    "simulate",
    "train",
]

#: Where each public name lives; imported when it is first used, so that the command line starts at once.
_HOMES = {
    "Layer": "edgewatt.networks.layer",
    "LayerKind": "edgewatt.networks.layer",
    "architecture_names": "edgewatt.networks.architectures",
    "build_dataset": "edgewatt.dataset.run",
    "compute_latency_start_end_times": "edgewatt.mapping.window",
    "compute_layer_metrics_by_cycle": "edgewatt.mapping.window",
    "find_recordings": "edgewatt.formats.recording",
    "load_predictors": "edgewatt.predictors.prediction",
    "map_recordings": "edgewatt.mapping.run",
    "network_layers": "edgewatt.networks.architectures",
    "predict": "edgewatt.predictors.prediction",
    "read_recording": "edgewatt.formats.recording",
    "simulate": "edgewatt.simulation.simulate",
    "train": "edgewatt.predictors.training",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'edgewatt' has no attribute {name!r}")
