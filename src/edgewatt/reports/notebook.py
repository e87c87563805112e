"""What results that a stage returns show of themselves in notebooks."""

from __future__ import annotations

from typing import Any

import polars as pl

from edgewatt.dataset.tables import NetworkTables
from edgewatt.formats.layer_power import layer_power_frame
from edgewatt.mapping.run import MappedNetwork
from edgewatt.predictors.network_prediction import NetworkPrediction
from edgewatt.predictors.predictions_file import predictions_frame
from edgewatt.predictors.training import TrainingResult
from edgewatt.recording.recorded_run import RecordedRun
from edgewatt.reports import notebook_results  # noqa: F401 (it registers the others)
from edgewatt.reports.predictions import prediction_json, scores_json
from edgewatt.reports.recordings import runs_json
from edgewatt.reports.shown import as_dict, as_frame, heading
from edgewatt.reports.tables import dataset_json, mapping_json
from edgewatt.reports.text import significant
from edgewatt.wording import counted


@as_dict.register
def _(result: MappedNetwork) -> dict[str, Any]:
    return mapping_json(result)


@as_frame.register
def _(result: MappedNetwork) -> pl.DataFrame:
    return layer_power_frame(result.layers)


@heading.register
def _(result: MappedNetwork) -> str:
    return f"{result.model}: {counted(len(result.layers), 'layer')}, {result.info.method} method"


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
    return f"{result.model}: training tables of {counted(rows, 'layer')}, {len(result.left_out)} left out"


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
    runtime, energy = significant(result.runtime_s * 1e3), significant((result.energy_above_idle_j or 0.0) * 1e3)
    return f"Prediction of {counted(len(result.layers), 'layer')}: {runtime} ms, {energy} mJ above idle"


@as_dict.register
def _(result: RecordedRun) -> dict[str, Any]:
    return runs_json([result])[0]


@as_frame.register
def _(result: RecordedRun) -> pl.DataFrame:
    return pl.DataFrame([{name: value for name, value in as_dict(result).items() if not isinstance(value, list)}])


@heading.register
def _(result: RecordedRun) -> str:
    return f"{result.name}: {counted(result.cycles, 'cycle')} on {result.backend}"
