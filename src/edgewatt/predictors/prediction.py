"""What trained predictors say of a network: each layer, and the whole."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

import polars as pl

from edgewatt.dataset.features import feature_frame, table_kind
from edgewatt.errors import EdgewattError, printable
from edgewatt.formats.csv_file import write_csv
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.folder import Predictors, load_predictors
from edgewatt.predictors.network_prediction import LayerPrediction, NetworkPrediction, Status
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import feature_columns

__all__ = ["LayerPrediction", "NetworkPrediction", "Status", "load_predictors", "predict", "write_predictions"]

#: Operations that a backend lists but does not execute.
FREE_OPERATIONS = frozenset({"noop", "shape_call", "constant"})


def predict(layers: Sequence[Layer], predictors: Predictors) -> NetworkPrediction:
    """Predict a network.

    Args:
        layers: Its layers, in execution order.
        predictors: What `train` made; `load_predictors` reads them.
    """
    result: list[LayerPrediction | None] = [None] * len(layers)
    kinds = [None if layer.operation in FREE_OPERATIONS else table_kind(layer) for layer in layers]
    for index, layer in enumerate(layers):
        if kinds[index] is None:
            result[index] = LayerPrediction(layer, LayerKind.OTHER, Status.FREE, 0.0, 0.0)
    for kind in LayerKind:
        chosen = [index for index, other in enumerate(kinds) if other is kind]
        predicted = _predict_kind(kind, [layers[index] for index in chosen], predictors)
        for index, layer_prediction in zip(chosen, predicted, strict=True):
            result[index] = layer_prediction
    return NetworkPrediction(tuple(layer for layer in result if layer is not None), predictors.idle_power_w)


def _predict_kind(kind: LayerKind, layers: Sequence[Layer], predictors: Predictors) -> list[LayerPrediction]:
    if not layers:
        return []
    table = feature_frame(kind, layers)
    power, runtime = predictors.get(kind, Target.POWER), predictors.get(kind, Target.RUNTIME)
    power_w = _values(power, table)
    runtime_ms = _values(runtime, table)
    status = Status.UNCOVERED if power is None or runtime is None else Status.PREDICTED
    trained_on = runtime or power
    outside = [()] * len(layers) if trained_on is None else _outside(trained_on, table, predictors.precisions)
    return [
        LayerPrediction(
            layer=layer,
            kind=kind,
            status=status,
            power_w=power_w[index],
            runtime_s=None if (ms := runtime_ms[index]) is None else ms * 1e-3,
            outside=outside[index],
        )
        for index, layer in enumerate(layers)
    ]


def _values(stored: StoredPredictor | None, table: pl.DataFrame) -> list[float] | list[None]:
    if stored is None:
        return [None] * table.height
    values: list[float] = stored.polynomial.predict(table).tolist()
    wrong = next((index for index, value in enumerate(values) if not isfinite(value)), None)
    if wrong is not None:
        raise EdgewattError(
            f"the {stored.target} of {stored.kind} layers is predicted as {values[wrong]}",
            where=f"layer {printable(table['layer_name'][wrong])!r}",
            fix="Train the predictors again",
        )
    return values


def _outside(stored: StoredPredictor, table: pl.DataFrame, precisions: Sequence[str]) -> list[tuple[str, ...]]:
    """For each row the features that lie outside the range of the training."""
    columns = feature_columns(stored.kind, table)
    ranges = {name: ends for name, ends in stored.feature_ranges.items() if name in columns}
    beyond = {name: (columns[name] < low) | (columns[name] > high) for name, (low, high) in ranges.items()}
    if precisions:
        beyond["precision"] = ~table["precision"].is_in(list(precisions)).to_numpy()
    return [tuple(name for name, flags in beyond.items() if flags[row]) for row in range(table.height)]


def predictions_frame(prediction: NetworkPrediction) -> pl.DataFrame:
    """The prediction as the table of `predictions.csv`, one row a layer in execution order."""
    layers = prediction.layers
    floats = {
        "power_prediction (W)": [layer.power_w for layer in layers],
        "runtime_prediction (ms)": [_times(layer.runtime_s, 1e3) for layer in layers],
        "energy_prediction (mJ)": [_times(layer.energy_j, 1e3) for layer in layers],
    }
    return pl.DataFrame(
        {
            "layer_name": [layer.layer.name for layer in layers],
            "layer_type": [layer.kind.value for layer in layers],
            **floats,
        },
        schema={"layer_name": pl.String, "layer_type": pl.String, **dict.fromkeys(floats, pl.Float64)},
    )


def write_predictions(path: Path, prediction: NetworkPrediction) -> None:
    """Write `predictions.csv`, whole or not at all; what is not predicted is an empty field."""
    write_csv(path, predictions_frame(prediction))


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
