"""`predictions.csv`: a predicted network, one row a layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from edgewatt.formats.csv_file import write_csv
from edgewatt.predictors.network_prediction import Interval, NetworkPrediction


def predictions_frame(prediction: NetworkPrediction) -> pl.DataFrame:
    """The prediction as a table, one row a layer in execution order; what is not predicted is null."""
    layers = prediction.layers
    floats = {
        "power_prediction (W)": [layer.power_w for layer in layers],
        "runtime_prediction (ms)": [_times(layer.runtime_s, 1e3) for layer in layers],
        "energy_prediction (mJ)": [_times(layer.energy_j, 1e3) for layer in layers],
        **_ends("power", "W", [layer.power_interval_w for layer in layers], 1.0),
        **_ends("runtime", "ms", [layer.runtime_interval_s for layer in layers], 1e3),
        **_ends("energy", "mJ", [layer.energy_interval_j for layer in layers], 1e3),
    }
    return pl.DataFrame(
        {
            "layer_name": [layer.layer.name for layer in layers],
            "layer_type": [layer.kind.value for layer in layers],
            **floats,
            "status": [layer.status.value for layer in layers],
            "extrapolated": [layer.extrapolated for layer in layers],
        },
        schema={
            "layer_name": pl.String,
            "layer_type": pl.String,
            **dict.fromkeys(floats, pl.Float64),
            "status": pl.String,
            "extrapolated": pl.Boolean,
        },
    )


def write_predictions(path: Path, prediction: NetworkPrediction) -> None:
    """Write `predictions.csv`, whole or not at all; what is not predicted is an empty field."""
    write_csv(path, predictions_frame(prediction))


def _ends(name: str, unit: str, intervals: Sequence[Interval | None], factor: float) -> dict[str, list[float | None]]:
    return {
        f"{name}_low ({unit})": [None if one is None else one.low * factor for one in intervals],
        f"{name}_high ({unit})": [None if one is None else one.high * factor for one in intervals],
    }


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
