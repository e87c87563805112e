"""Scores of predictors, and predictions of networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.network_prediction import (
    Interval,
    LayerPrediction,
    NetworkPrediction,
    Status,
    WholeNetwork,
)
from edgewatt.predictors.network_scores import SUM_OF_LAYERS
from edgewatt.predictors.repeat_error import repeat_errors
from edgewatt.predictors.scoring import NETWORKS_KEY
from edgewatt.reports.cells import LayerName, ShareBar
from edgewatt.reports.repeats import repeat_line
from edgewatt.reports.tables import kind_cell, new_table, number, percent
from edgewatt.wording import counted

if TYPE_CHECKING:
    from edgewatt.predictors.training import TrainingResult


def scores_json(result: TrainingResult) -> dict[str, Any]:
    """Training's result for machines: what `metrics.json` holds, and what was left out or simplified."""
    predictors = result.predictors
    return {
        "metrics": result.metrics,
        "coverage": result.cross.coverage(),
        "networks": list(predictors.networks),
        "holdout": list(predictors.holdout),
        "left_out": dict(predictors.left_out or {}),
        "notes": list(result.notes),
        **({"boards": [asdict(score) for score in result.boards]} if result.boards else {}),
    }


def scores_table(result: TrainingResult) -> Table:
    """Mean absolute and root mean square percentage errors, beside those of predicting the mean."""
    table = new_table(
        f"MAPE in cross-validation ({_grouping(result)}) and on held-out networks (test), each beside NeuralPower's "
        "polynomial (NP) and predicting the mean",
        ["layers", "target"],
        ["rows", "nets", "CV", "NP", "mean", "test", "NP", "mean"],
        optional=[[3], [2]],
    )
    for kind, targets in _of_layers(result).items():
        for target, entry in targets.items():
            cv, test, baselines = entry["cv"], entry["test"], entry["baselines"]
            table.add_row(
                kind_cell(LayerKind(kind)),
                target,
                str(cv["rows"]),
                str(cv["networks"]),
                *_beside(cv, baselines, "cv"),
                *_beside(test, baselines, "test"),
            )
    return table


def networks_table(result: TrainingResult) -> Table | None:
    """Errors of whole networks that were not trained on, beside the plainest baselines; None where there are none."""
    entries = result.metrics.get(NETWORKS_KEY, {})
    rows = [(target, entry) for target, entry in entries.items() if entry["cv"] is not None]
    if not rows:
        return None
    table = new_table(
        "Whole networks, each left out in turn: MAPE, median, rank correlation; beside them the MAPE of the sum of the "
        "layers, not calibrated, of NeuralPower's sums (NP), of a x MACs + b x bytes + c x layers, and of the mean",
        ["network"],
        ["nets", "MAPE", "median", "rank", "sum", "NP", "linear", "mean"],
    )
    for target, entry in rows:
        cv, baselines = entry["cv"], entry["baselines"]
        names = (SUM_OF_LAYERS, "neuralpower", "macs+bytes+layers", "mean")
        others = [(baselines.get(name) or {}).get("cv") for name in names]
        table.add_row(
            target,
            str(cv["rows"]),
            percent(cv["mape"]),
            percent(cv["median"]),
            number(cv["rank_correlation"], 2),
            *(percent(other["mape"] if other else None) for other in others),
        )
    return table


def coverage_lines(result: TrainingResult) -> list[str]:
    """How often the intervals of layers held what was left out, a line."""
    held = []
    for kind, targets in _of_layers(result).items():
        for target, entry in targets.items():
            coverage = (entry["interval"] or {}).get("coverage")
            if coverage is not None:
                shares = [percent(coverage[name], 0) for name in ("mean", "least", "greatest")]
                held.append(f"{kind} {target} {shares[0]} ({shares[1]} to {shares[2]} by fold)")
    return [f"90% intervals cover, of layers left out: {', '.join(held)}"] if held else []


def repeat_lines(result: TrainingResult) -> list[str]:
    """What repeated measurements differ by, beside which the errors are to be seen, a line."""
    return [repeat_line(repeat_errors(result.training.tables))]


def _of_layers(result: TrainingResult) -> dict[str, dict[str, Any]]:
    return {kind: targets for kind, targets in result.metrics.items() if kind != NETWORKS_KEY}


def _grouping(result: TrainingResult) -> str:
    groupings = {entry["cv"]["grouping"] for targets in _of_layers(result).values() for entry in targets.values()}
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
            "energy_above_idle_mj": _scaled(prediction.energy_above_idle_j, 1e3),
            "energy_mj": _scaled(prediction.energy_including_idle_j, 1e3),
            "power_above_idle_w": prediction.power_above_idle_w,
            "power_w": prediction.power_including_idle_w,
            "idle_power_w": prediction.idle_power_w,
        },
        "whole_network": _whole_json(prediction.whole),
        "coverage": {
            "predicted_layers": prediction.predicted_layers,
            "fallback_layers": prediction.fallback_layers,
            "prior_layers": prediction.prior_layers,
            "extrapolated_layers": prediction.extrapolated_layers,
            "free_layers": prediction.free_layers,
            "uncovered_layers": prediction.uncovered_layers,
            "uncovered_share": prediction.uncovered_share,
            "uncovered_macs_share": prediction.uncovered_macs_share,
            "uncovered_bytes_share": prediction.uncovered_bytes_share,
        },
    }


def prediction_table(network: str, prediction: NetworkPrediction, *, by_energy: bool = True) -> Table:
    """A prediction, layer by layer; layers that are not executed are left out.

    Args:
        network: The network's name.
        prediction: What is predicted of it.
        by_energy: Whether the layers that take most energy come first; otherwise they are in execution order.
    """
    layers = [layer for layer in prediction.layers if layer.status is not Status.FREE]
    if by_energy:
        layers.sort(key=lambda layer: -(layer.energy_j or 0.0))
    order = "most energy first" if by_energy else "execution order"
    table = new_table(
        f"Predicted layers of {network}, {order} (power and energy above idle)",
        ["layer", "kind"],
        ["ms", "W", "mJ", "energy"],
        optional=[[1], [3], [4]],
    )
    total_j = prediction.energy_above_idle_j
    shares = [layer.energy_j / total_j if layer.energy_j is not None and total_j else None for layer in layers]
    greatest = max((share or 0.0 for share in shares), default=0.0)
    for layer, share in zip(layers, shares, strict=True):
        table.add_row(
            LayerName(layer.layer.name),
            kind_cell(layer.kind, layer.layer.operation),
            number(_scaled(layer.runtime_s, 1e3), 4),
            number(layer.power_w, 3),
            number(_scaled(layer.energy_j, 1e3), 4),
            ShareBar(share, greatest),
        )
    return table


def prediction_lines(prediction: NetworkPrediction) -> list[str]:
    """A prediction's totals, and plainly what they leave out."""
    above_j = prediction.energy_above_idle_j
    if above_j is None:
        return [
            f"Runtime {prediction.runtime_s * 1e3:.4g} ms (sum over layers); power and energy are not known: the "
            "predictors were trained without power",
            *([_whole_line(prediction.whole)] if prediction.whole is not None else []),
        ]
    lines = [
        f"Runtime {prediction.runtime_s * 1e3:.4g} ms, energy above idle {above_j * 1e3:.4g} mJ"
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
    if prediction.fallback_layers:
        lines.append(
            f"{counted(prediction.fallback_layers, 'layer', ('has', 'have'))} no predictor of their kind: "
            "that of all kinds together stands in"
        )
    if prediction.extrapolated_layers:
        lines.append(
            f"{counted(prediction.extrapolated_layers, 'layer', ('lies', 'lie'))} outside the range of the "
            "training data: their predictions are extrapolated"
        )
    if prediction.whole is not None and not prediction.count(Status.PRIOR):
        lines.append(_whole_line(prediction.whole))
    return lines


def _whole_line(whole: WholeNetwork) -> str:
    """The network as a whole, with its intervals."""
    origin = f"calibrated on {counted(whole.calibrated_on, 'network')}" if whole.calibrated_on else "sums over layers"
    known = (
        ("runtime", whole.runtime_s, whole.runtime_interval_s, 1e3, "ms"),
        ("energy", whole.energy_j, whole.energy_interval_j, 1e3, "mJ"),
        ("mean power", whole.power_w, whole.power_interval_w, 1.0, "W"),
    )
    parts = [
        f"{name} {value * factor:.4g} {unit}"
        + ("" if ends is None else f" ({ends.low * factor:.3g} to {ends.high * factor:.3g})")
        for name, value, ends, factor, unit in known
        if value is not None
    ]
    told = any(ends is not None for _, _, ends, _, _ in known)
    intervals = "90% intervals in brackets" if told else "too few networks for intervals"
    return f"Whole network with idle, {origin}, {intervals}: {', '.join(parts)}"


def _beside(scores: Mapping[str, Any] | None, baselines: Mapping[str, Any], part: str) -> list[str]:
    """The score, NeuralPower's and the mean's; empty where there is none."""
    others = [(baselines.get(name) or {}).get(part) for name in ("neuralpower", "mean")]
    return ["" if one is None else percent(one["mape"]) for one in (scores, *others)]


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
        "extrapolated": layer.extrapolated,
        "power_interval_w": _pair(layer.power_interval_w, 1.0),
        "runtime_interval_ms": _pair(layer.runtime_interval_s, 1e3),
        "energy_interval_mj": _pair(layer.energy_interval_j, 1e3),
    }


def _whole_json(whole: WholeNetwork | None) -> dict[str, Any] | None:
    if whole is None:
        return None
    return {
        "runtime_ms": whole.runtime_s * 1e3,
        "energy_mj": _scaled(whole.energy_j, 1e3),
        "power_w": whole.power_w,
        "runtime_interval_ms": _pair(whole.runtime_interval_s, 1e3),
        "energy_interval_mj": _pair(whole.energy_interval_j, 1e3),
        "power_interval_w": _pair(whole.power_interval_w, 1.0),
        "calibrated_on_networks": whole.calibrated_on,
    }


def _pair(interval: Interval | None, factor: float) -> list[float] | None:
    return None if interval is None else [interval.low * factor, interval.high * factor]


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
