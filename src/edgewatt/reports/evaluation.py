"""How good predictors are on what they have not seen, as tables and for machines."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.evaluate import PROTOCOLS, Evaluation
from edgewatt.predictors.network_scores import NETWORK_TARGETS, SUM_OF_LAYERS
from edgewatt.reports.tables import kind_cell, new_table, number, percent

_BASELINES = (SUM_OF_LAYERS, "neuralpower", "macs+bytes+layers", "mean")


def evaluation_json(found: Evaluation) -> dict[str, Any]:
    """The evaluation for machines: for each protocol the scores of networks and layers, and the intervals."""
    return {
        "predictor": found.predictor,
        "networks": list(found.networks),
        "families": dict(found.families),
        "networks_measured_whole": found.measured_whole,
        "protocols": {
            protocol: {
                "meaning": PROTOCOLS[protocol],
                "network": found.whole[protocol],
                "layers": found.layers[protocol],
                "intervals": found.intervals[protocol],
                "coverage": found.coverage[protocol],
            }
            for protocol in found.layers
        },
    }


def evaluation_tables(found: Evaluation) -> list[Table]:
    """Networks first, then layers; the headline is the first row of each."""
    return [table for table in (networks_table(found), layers_table(found)) if table.row_count]


def networks_table(found: Evaluation) -> Table:
    """Errors of whole networks, beside those of the baselines."""
    table = new_table(
        f"Networks by {found.predictor}: MAPE, RMSPE, median error, rank correlation; beside them the MAPE of "
        "the sum of the layers, not calibrated, of NeuralPower's sums (NP), of a x MACs + b x bytes + c x layers, and "
        "of the mean",
        ["left out", "of"],
        ["MAPE", "RMSPE", "median", "rank", "sum", "NP", "linear", "mean"],
        optional=[[3], [4]],
    )
    for protocol, targets in found.whole.items():
        for target, entry in targets.items():
            cv = entry["cv"]
            if cv is None:
                continue
            others = [entry["baselines"].get(name, {}).get("cv") for name in _BASELINES]
            table.add_row(
                protocol,
                f"{target} ({NETWORK_TARGETS[target]})",
                percent(cv["mape"]),
                percent(cv["rmspe"]),
                percent(cv["median"]),
                number(cv["rank_correlation"], 2),
                *("" if other is None else percent(other["mape"]) for other in others),
            )
    return table


def layers_table(found: Evaluation) -> Table:
    """Errors of layers, and how often their intervals hold."""
    table = new_table(
        f"Layers by {found.predictor}: MAPE, median error, share that 90% intervals cover; beside them the MAPE of "
        "NeuralPower's polynomial (NP) and of the mean",
        ["left out", "layers", "target"],
        ["rows", "MAPE", "median", "90%", "NP", "mean"],
    )
    for protocol, kinds in found.layers.items():
        for kind, targets in kinds.items():
            for target, by_name in targets.items():
                own = by_name.get(found.predictor)
                if own is None:
                    continue
                interval = found.intervals[protocol][kind][target] or {}
                coverage = interval.get("coverage") or {}
                others = [by_name.get(name) for name in ("neuralpower", "mean")]
                table.add_row(
                    own["grouping"],
                    kind_cell(LayerKind(kind)),
                    target,
                    str(own["rows"]),
                    percent(own["mape"]),
                    percent(own["median"]),
                    percent(coverage.get("mean"), 0),
                    *("" if other is None else percent(other["mape"]) for other in others),
                )
    return table


def protocol_lines(found: Evaluation) -> list[str]:
    """What each protocol says, and what networks were compared with."""
    told = [f"{protocol}: {PROTOCOLS[protocol]}" for protocol in found.layers]
    if not found.measured_whole:
        told.append("No network was measured as a whole: sums over layers are compared with sums over layers")
    return told
