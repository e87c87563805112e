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
    from edgewatt.dataset.foreign import import_table
    from edgewatt.dataset.run import build_dataset
    from edgewatt.demo import run_demo
    from edgewatt.exchange.convert import convert
    from edgewatt.exchange.export import export
    from edgewatt.formats.recording import find_recordings, read_recording
    from edgewatt.isolation.options import IsolationOptions
    from edgewatt.isolation.record import record_isolated
    from edgewatt.mapping.deconvolve import deconvolve
    from edgewatt.mapping.one import map_power
    from edgewatt.mapping.run import map_recordings
    from edgewatt.mapping.window import compute_latency_start_end_times, compute_layer_metrics_by_cycle
    from edgewatt.networks.architectures import architecture_names, network_layers
    from edgewatt.networks.layer import Layer, LayerKind
    from edgewatt.predictors.evaluate import evaluate
    from edgewatt.predictors.fleet_data import FleetChoice
    from edgewatt.predictors.fleet_prediction import meant_board
    from edgewatt.predictors.prediction import load_predictors, predict
    from edgewatt.predictors.prior import prior_prediction
    from edgewatt.predictors.trained_scores import trained_scores
    from edgewatt.predictors.training import train
    from edgewatt.predictors.transfer_training import adapt
    from edgewatt.recording.batch import record_many
    from edgewatt.recording.idle import measure_idle
    from edgewatt.recording.record import record
    from edgewatt.recording.states import record_states
    from edgewatt.reports.html import write_report
    from edgewatt.results.collect import collect, read_result
    from edgewatt.results.states import read_states
    from edgewatt.sensors.discovery import discover
    from edgewatt.simulation.simulate import simulate
    from edgewatt.simulation.states import simulate_states
    from edgewatt.sweep.options import SweepOptions
    from edgewatt.sweep.record import record_sweep
    from edgewatt.tracking.sources import predictors_folder
    from edgewatt.tracking.tracker import tracker
    from edgewatt.tuning.tune import tune
    from edgewatt.versioning.transfer import pull_data, push_data

__version__ = "0.1.0"

__all__ = [
    "EdgewattError",
    "EdgewattWarning",
    "FleetChoice",
    "IsolationOptions",
    "Layer",
    "LayerKind",
    "SweepOptions",
    "__version__",
    "adapt",
    "architecture_names",
    "build_dataset",
    "collect",
    "compare_results",
    "compute_latency_start_end_times",
    "compute_layer_metrics_by_cycle",
    "convert",
    "deconvolve",
    "discover",
    "evaluate",
    "export",
    "find_recordings",
    "import_table",
    "load_predictors",
    "map_power",
    "map_recordings",
    "meant_board",
    "measure_idle",
    "network_layers",
    "predict",
    "predictors_folder",
    "prior_prediction",
    "pull_data",
    "push_data",
    "read_recording",
    "read_result",
    "read_states",
    "record",
    "record_isolated",
    "record_many",
    "record_states",
    "record_sweep",
    "run_demo",
    "simulate",
    "simulate_states",
    "tracker",
    "train",
    "trained_scores",
    "tune",
    "write_report",
]

#: Where each public name lives; imported when it is first used, so that the command line starts at once.
_HOMES = {
    "FleetChoice": "edgewatt.predictors.fleet_data",
    "IsolationOptions": "edgewatt.isolation.options",
    "Layer": "edgewatt.networks.layer",
    "LayerKind": "edgewatt.networks.layer",
    "SweepOptions": "edgewatt.sweep.options",
    "adapt": "edgewatt.predictors.transfer_training",
    "architecture_names": "edgewatt.networks.architectures",
    "build_dataset": "edgewatt.dataset.run",
    "collect": "edgewatt.results.collect",
    "compare_results": "edgewatt.comparison.compare",
    "compute_latency_start_end_times": "edgewatt.mapping.window",
    "compute_layer_metrics_by_cycle": "edgewatt.mapping.window",
    "convert": "edgewatt.exchange.convert",
    "deconvolve": "edgewatt.mapping.deconvolve",
    "discover": "edgewatt.sensors.discovery",
    "evaluate": "edgewatt.predictors.evaluate",
    "export": "edgewatt.exchange.export",
    "find_recordings": "edgewatt.formats.recording",
    "import_table": "edgewatt.dataset.foreign",
    "load_predictors": "edgewatt.predictors.prediction",
    "map_power": "edgewatt.mapping.one",
    "map_recordings": "edgewatt.mapping.run",
    "meant_board": "edgewatt.predictors.fleet_prediction",
    "measure_idle": "edgewatt.recording.idle",
    "network_layers": "edgewatt.networks.architectures",
    "predict": "edgewatt.predictors.prediction",
    "predictors_folder": "edgewatt.tracking.sources",
    "prior_prediction": "edgewatt.predictors.prior",
    "pull_data": "edgewatt.versioning.transfer",
    "push_data": "edgewatt.versioning.transfer",
    "read_recording": "edgewatt.formats.recording",
    "read_result": "edgewatt.results.collect",
    "read_states": "edgewatt.results.states",
    "record": "edgewatt.recording.record",
    "record_isolated": "edgewatt.isolation.record",
    "record_many": "edgewatt.recording.batch",
    "record_states": "edgewatt.recording.states",
    "record_sweep": "edgewatt.sweep.record",
    "run_demo": "edgewatt.demo",
    "simulate": "edgewatt.simulation.simulate",
    "simulate_states": "edgewatt.simulation.states",
    "tracker": "edgewatt.tracking.tracker",
    "train": "edgewatt.predictors.training",
    "trained_scores": "edgewatt.predictors.trained_scores",
    "tune": "edgewatt.tuning.tune",
    "write_report": "edgewatt.reports.html",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'edgewatt' has no attribute {name!r}")
