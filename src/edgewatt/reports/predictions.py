"""Scores of predictors, and predictions of networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.prediction import LayerPrediction, NetworkPrediction, Status
from edgewatt.predictors.training import TrainingResult
from edgewatt.reports.tables import kind_cell, name_cell, new_table, number, percent


def scores_json(result: TrainingResult) -> dict[str, Any]:
    """Training's result for machines: what `metrics.json` holds, and what was left out or simplified."""
    predictors = result.predictors
    return {
        "metrics": result.metrics,
        "networks": list(predictors.networks),
        "holdout": list(predictors.holdout),
        "left_out": dict(predictors.left_out or {}),
        "notes": list(result.notes),
    }


def scores_table(result: TrainingResult) -> Table:
    """Mean absolute and root mean square percentage errors, beside those of predicting the mean."""
    table = new_table(
        f"Errors in cross-validation ({_grouping(result)}) and on held-out networks; in brackets: predicting the mean",
        ["layers", "target"],
        ["rows", "nets", "CV MAPE", "RMSPE", "test MAPE", "RMSPE"],
    )
    for kind, targets in result.metrics.items():
        for target, entry in targets.items():
            cv, test, baseline = entry["cv"], entry["test"], entry["baselines"]["mean"]
            table.add_row(
                kind_cell(LayerKind(kind)),
                target,
                str(cv["rows"]),
                str(cv["networks"]),
                _beside(cv, baseline["cv"]),
                percent(cv["rmspe"]),
                _beside(test, baseline["test"]),
                percent(test["rmspe"]) if test else "",
            )
    return table


def _grouping(result: TrainingResult) -> str:
    groupings = {entry["cv"]["grouping"] for targets in result.metrics.values() for entry in targets.values()}
    return "by " + " or ".join(sorted(groupings))


def notes_lines(result: TrainingResult) -> list[Text]:
    """What was left out or simplified, a line each."""
    left_out = [f"no predictor of {what}: {why}" for what, why in (result.predictors.left_out or {}).items()]
    return [Text(line) for line in (*left_out, *result.notes)]


def prediction_json(network: str, prediction: NetworkPrediction) -> dict[str, Any]:
    """A prediction for machines."""
    return {
        "network": network,
        "layers": [_layer_json(layer) for layer in prediction.layers],
        "totals": {
            "runtime_ms": prediction.runtime_s * 1e3,
            "energy_above_idle_mj": prediction.energy_above_idle_j * 1e3,
            "energy_mj": _scaled(prediction.energy_including_idle_j, 1e3),
            "power_above_idle_w": prediction.power_above_idle_w,
            "power_w": prediction.power_including_idle_w,
            "idle_power_w": prediction.idle_power_w,
        },
        "coverage": {
            "predicted_layers": prediction.predicted_layers,
            "free_layers": prediction.free_layers,
            "uncovered_layers": prediction.uncovered_layers,
            "uncovered_share": prediction.uncovered_share,
            "uncovered_macs_share": prediction.uncovered_macs_share,
            "uncovered_bytes_share": prediction.uncovered_bytes_share,
        },
    }


def prediction_table(network: str, prediction: NetworkPrediction) -> Table:
    """A prediction, layer by layer, in execution order; layers that are not executed are left out."""
    table = new_table(
        f"Predicted layers of {network} (power and energy above idle)", ["layer", "kind"], ["ms", "W", "mJ", "energy"]
    )
    total_j = prediction.energy_above_idle_j
    for layer in prediction.layers:
        if layer.status is Status.FREE:
            continue
        energy_j = layer.energy_j
        table.add_row(
            name_cell(layer.layer.name),
            kind_cell(layer.kind, layer.layer.operation),
            number(_scaled(layer.runtime_s, 1e3), 4),
            number(layer.power_w, 3),
            number(_scaled(energy_j, 1e3), 4),
            percent(energy_j / total_j if energy_j is not None and total_j else None),
        )
    return table


def prediction_lines(prediction: NetworkPrediction) -> list[str]:
    """A prediction's totals, and plainly what they leave out."""
    lines = [
        f"Runtime {prediction.runtime_s * 1e3:.4g} ms, energy above idle {prediction.energy_above_idle_j * 1e3:.4g} mJ"
        f", mean power above idle {number(prediction.power_above_idle_w)} W (sums over predicted layers)"
    ]
    energy_j, power_w = prediction.energy_including_idle_j, prediction.power_including_idle_w
    if energy_j is None or power_w is None:
        lines.append("Idle power is not known, so there is no energy with idle")
    else:
        lines.append(
            f"With idle ({prediction.idle_power_w:.3g} W): energy {energy_j * 1e3:.4g} mJ, mean power {power_w:.3g} W"
        )
    executed = len(prediction.layers) - prediction.free_layers
    if prediction.uncovered_layers:
        lines.append(
            f"No predictor covers {prediction.uncovered_layers} of {executed} executed layers "
            f"({percent(prediction.uncovered_share)}; {percent(prediction.uncovered_macs_share)} of the operations, "
            f"{percent(prediction.uncovered_bytes_share)} of the bytes): the totals leave them out"
        )
    else:
        lines.append(f"All {executed} executed layers are predicted")
    outside = sum(bool(layer.outside) for layer in prediction.layers)
    if outside:
        lines.append(f"{outside} layers lie outside the range of the training data: their predictions are extrapolated")
    return lines


def _beside(scores: Mapping[str, Any] | None, baseline: Mapping[str, Any] | None) -> str:
    if scores is None or baseline is None:
        return ""
    return f"{percent(scores['mape'])} ({percent(baseline['mape'], 0)})"


def _layer_json(layer: LayerPrediction) -> dict[str, Any]:
    return {
        "layer_name": layer.layer.name,
        "layer_type": layer.kind.value,
        "operation": layer.layer.operation,
        "status": layer.status.value,
        "power_w": layer.power_w,
        "runtime_ms": _scaled(layer.runtime_s, 1e3),
        "energy_mj": _scaled(layer.energy_j, 1e3),
        "outside_training_range": list(layer.outside),
    }


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
