"""What results that are read, compared, scored and imported show of themselves in notebooks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl

from edgewatt.comparison.change import Change
from edgewatt.comparison.compare import Comparison
from edgewatt.dataset.foreign import ForeignTables
from edgewatt.formats.layer_power import layer_power_frame
from edgewatt.isolation.isolated_run import IsolatedRun
from edgewatt.predictors.evaluate import Evaluation
from edgewatt.recording.idle import IdleMeasurement
from edgewatt.reports.compare import comparison_json, comparison_lines
from edgewatt.reports.evaluation import evaluation_json
from edgewatt.reports.foreign import import_json
from edgewatt.reports.isolated import isolated_json
from edgewatt.reports.recordings import idle_json, idle_lines
from edgewatt.reports.shown import as_dict, as_frame, heading
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import LayerResult, NetworkResult
from edgewatt.wording import counted

#: Quantities of a layer: the attribute, the column's name, and what makes its unit of W, s and J.
_QUANTITIES = (
    ("runtime_s", "runtime_ms", 1e3),
    ("power_w", "power_w", 1.0),
    ("power_above_idle_w", "power_above_idle_w", 1.0),
    ("energy_j", "energy_mj", 1e3),
    ("energy_above_idle_j", "energy_above_idle_mj", 1e3),
)
_TEXTS = ("layer_name", "layer_type", "operation", "remarks")


@as_dict.register
def _(result: IsolatedRun) -> dict[str, Any]:
    return isolated_json(result)


@as_frame.register
def _(result: IsolatedRun) -> pl.DataFrame:
    return layer_power_frame(result.layers)


@heading.register
def _(result: IsolatedRun) -> str:
    return f"{result.name}: {counted(len(result.layers), 'layer')} by themselves, {len(result.left_out)} left out"


@as_dict.register
def _(result: NetworkResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "source": result.source.value,
        "path": str(result.path),
        "environment": asdict(result.environment),
        "idle_power_w": result.idle_power_w,
        "cycles": result.cycles,
        "runtime_ms": _value(result.runtime_s, 1e3),
        "power_w": _value(result.power_w or result.run_power_w),
        "energy_mj": _value(result.energy_j or result.run_energy_j, 1e3),
        "layers": [_layer(layer) for layer in result.layers],
        "findings": [{"weight": finding.weight.value, "text": finding.text} for finding in result.findings],
    }


@as_frame.register
def _(result: NetworkResult) -> pl.DataFrame:
    rows = [_layer(layer) for layer in result.layers]
    schema: dict[str, Any] = dict.fromkeys(rows[0] if rows else (), pl.Float64)
    schema |= dict.fromkeys(_TEXTS, pl.String) | {"samples": pl.Int64, "identifiable": pl.Boolean}
    return pl.DataFrame(rows, schema=schema)


@heading.register
def _(result: NetworkResult) -> str:
    return f"{result.name}: {result.source.value} of {counted(len(result.layers), 'layer')}"


@as_dict.register
def _(result: Comparison) -> dict[str, Any]:
    return comparison_json(result)


@as_frame.register
def _(result: Comparison) -> pl.DataFrame:
    rows = []
    for layer in result.layers:
        row: dict[str, Any] = {"layer_name": layer.name, "layer_type": layer.kind.value}
        for name, change, factor in (
            ("runtime_ms", layer.runtime_s, 1e3),
            ("power_w", layer.power_w, 1.0),
            ("energy_mj", layer.energy_j, 1e3),
        ):
            row |= _change(name, change, factor)
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


@heading.register
def _(result: Comparison) -> str:
    return f"{result.before.name} → {result.after.name}: {comparison_lines(result)[0].plain}"


@as_dict.register
def _(result: Evaluation) -> dict[str, Any]:
    return evaluation_json(result)


@as_frame.register
def _(result: Evaluation) -> pl.DataFrame:
    rows = [
        {"protocol": protocol, "kind": kind, "target": target, "predictor": predictor}
        | {name: value for name, value in scores.items() if isinstance(value, int | float)}
        for protocol, kinds in result.layers.items()
        for kind, targets in kinds.items()
        for target, predictors in targets.items()
        for predictor, scores in predictors.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


@heading.register
def _(result: Evaluation) -> str:
    return f"Scores of {result.predictor} on {counted(len(result.networks), 'network')}"


@as_dict.register
def _(result: ForeignTables) -> dict[str, Any]:
    return import_json(result)


@as_frame.register
def _(result: ForeignTables) -> pl.DataFrame:
    tables = [
        table.with_columns(pl.lit(network.name).alias("network"), pl.lit(kind.value).alias("kind"))
        for network in result.networks
        for kind, table in network.tables.items()
        if table.height
    ]
    return pl.concat(tables, how="diagonal_relaxed") if tables else pl.DataFrame()


@heading.register
def _(result: ForeignTables) -> str:
    return f"Imported layers of {counted(len(result.networks), 'network')}, {counted(result.skipped, 'row')} skipped"


@as_dict.register
def _(result: IdleMeasurement) -> dict[str, Any]:
    return idle_json(result)


@as_frame.register
def _(result: IdleMeasurement) -> pl.DataFrame:
    return pl.DataFrame([{name: value for name, value in idle_json(result).items() if not isinstance(value, list)}])


@heading.register
def _(result: IdleMeasurement) -> str:
    return idle_lines(result)[0].plain


def _value(estimate: Estimate | None, factor: float = 1.0) -> dict[str, Any] | None:
    if estimate is None:
        return None
    scaled = estimate.scaled(factor)
    return {"value": scaled.value, "low": scaled.low, "high": scaled.high}


def _layer(layer: LayerResult) -> dict[str, Any]:
    row: dict[str, Any] = {
        "layer_name": layer.name,
        "layer_type": layer.kind.value,
        "operation": layer.operation,
    }
    for attribute, name, factor in _QUANTITIES:
        known = _value(getattr(layer, attribute), factor) or {}
        stem, _, unit = name.rpartition("_")
        row |= {
            name: known.get("value"),
            f"{stem}_low_{unit}": known.get("low"),
            f"{stem}_high_{unit}": known.get("high"),
        }
    return row | {
        "samples": layer.samples,
        "identifiable": layer.identifiable,
        "remarks": "; ".join(layer.remarks),
    }


def _change(name: str, change: Change, factor: float) -> dict[str, Any]:
    return {
        f"{name}_before": None if change.before is None else change.before.value * factor,
        f"{name}_after": None if change.after is None else change.after.value * factor,
        f"{name}_relative": change.relative,
        f"{name}_beyond_noise": change.beyond_noise,
    }
