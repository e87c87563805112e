"""How results show themselves in notebooks: each as a dictionary, as a data frame and as HTML."""

from __future__ import annotations

from functools import singledispatch
from html import escape
from typing import Any

import polars as pl

from edgewatt.dataset.tables import NetworkTables
from edgewatt.errors import printable
from edgewatt.formats.layer_power import layer_power_frame
from edgewatt.mapping.run import MappedNetwork
from edgewatt.predictors.network_prediction import NetworkPrediction
from edgewatt.predictors.predictions_file import predictions_frame
from edgewatt.predictors.training import TrainingResult
from edgewatt.recording.recorded_run import RecordedRun
from edgewatt.reports.predictions import prediction_json, scores_json
from edgewatt.reports.recordings import runs_json
from edgewatt.reports.tables import dataset_json, mapping_json
from edgewatt.reports.text import significant

#: Rows that a notebook shows of a table.
_SHOWN_ROWS = 60


def as_html(result: object) -> str:
    """A heading and the data frame."""
    with pl.Config(tbl_rows=_SHOWN_ROWS, fmt_str_lengths=60, tbl_hide_column_data_types=True):
        table = as_frame(result)._repr_html_()
    return f"<p><strong>{escape(printable(heading(result)))}</strong></p>{table}"


@singledispatch
def as_dict(result: object) -> dict[str, Any]:
    """A result as a dictionary of plain values."""
    raise TypeError(f"{type(result).__name__} is no result")


@singledispatch
def as_frame(result: object) -> pl.DataFrame:
    """A result as a data frame."""
    raise TypeError(f"{type(result).__name__} is no result")


@singledispatch
def heading(result: object) -> str:
    """What a result is, in a line."""
    raise TypeError(f"{type(result).__name__} is no result")


@as_dict.register
def _(result: MappedNetwork) -> dict[str, Any]:
    return mapping_json(result)


@as_frame.register
def _(result: MappedNetwork) -> pl.DataFrame:
    return layer_power_frame(result.layers)


@heading.register
def _(result: MappedNetwork) -> str:
    return f"{result.model}: {len(result.layers)} layers, {result.info.method} method"


@as_dict.register
def _(result: NetworkTables) -> dict[str, Any]:
    return dataset_json(result)


@as_frame.register
def _(result: NetworkTables) -> pl.DataFrame:
    filled = [
        table.with_columns(pl.lit(kind.value).alias("kind")) for kind, table in result.tables.items() if table.height
    ]
    return pl.concat(filled, how="diagonal") if filled else pl.DataFrame()


@heading.register
def _(result: NetworkTables) -> str:
    rows = sum(table.height for table in result.tables.values())
    return f"{result.model}: training tables of {rows} layers, {len(result.left_out)} left out"


@as_dict.register
def _(result: TrainingResult) -> dict[str, Any]:
    return scores_json(result)


@as_frame.register
def _(result: TrainingResult) -> pl.DataFrame:
    rows = [
        {"kind": kind, "target": target, "predictor": entry.get("predictor")}
        | {f"{part}_{name}": (entry.get(part) or {}).get(name) for part in ("cv", "test") for name in ("mape", "rmspe")}
        | {"rows": entry["cv"].get("rows"), "networks": entry["cv"].get("networks")}
        for kind, targets in result.metrics.items()
        for target, entry in targets.items()
        if isinstance(entry, dict) and isinstance(entry.get("cv"), dict)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


@heading.register
def _(result: TrainingResult) -> str:
    return f"Predictors trained on {', '.join(result.predictors.networks)}"


@as_dict.register
def _(result: NetworkPrediction) -> dict[str, Any]:
    found = prediction_json("", result)
    del found["network"]
    return found


@as_frame.register
def _(result: NetworkPrediction) -> pl.DataFrame:
    return predictions_frame(result)


@heading.register
def _(result: NetworkPrediction) -> str:
    runtime, energy = significant(result.runtime_s * 1e3), significant(result.energy_above_idle_j * 1e3)
    return f"Prediction of {len(result.layers)} layers: {runtime} ms, {energy} mJ above idle"


@as_dict.register
def _(result: RecordedRun) -> dict[str, Any]:
    return runs_json([result])[0]


@as_frame.register
def _(result: RecordedRun) -> pl.DataFrame:
    return pl.DataFrame([{name: value for name, value in as_dict(result).items() if not isinstance(value, list)}])


@heading.register
def _(result: RecordedRun) -> str:
    return f"{result.name}: {result.cycles:,} cycles on {result.backend}"
