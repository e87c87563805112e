"""Scores of trained predictors on networks that were measured since."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.table import Table

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.network_scores import NETWORK_TARGETS
from edgewatt.predictors.trained_scores import TrainedScores
from edgewatt.reports.tables import kind_cell, new_table, number, percent
from edgewatt.wording import counted


def trained_scores_json(name: str, found: TrainedScores) -> dict[str, Any]:
    """The scores for machines."""
    return {"predictors": name, **asdict(found)}


def trained_scores_tables(found: TrainedScores) -> list[Table]:
    """Errors of whole networks, where any are known, then those of layers."""
    networks = _networks_table(found)
    return [*([networks] if networks.row_count else []), _layers_table(found)]


def _networks_table(found: TrainedScores) -> Table:
    of = "whole cycles, with idle power" if found.whole else "sums over their layers, with idle power"
    table = new_table(
        f"Networks that the predictors were not trained on: {of}", ["of"], ["nets", "MAPE", "median", "rank"]
    )
    for name, one in found.network.items():
        table.add_row(
            f"{name} ({NETWORK_TARGETS[name]})",
            str(one["networks"]),
            percent(one["mape"]),
            percent(one["median"]),
            number(one["rank_correlation"], 2),
        )
    return table


def _layers_table(found: TrainedScores) -> Table:
    """Errors of layers by kind and target."""
    table = new_table(
        f"Layers of {counted(len(found.networks), 'network')} that the predictors were not trained on",
        ["layers", "target"],
        ["rows", "nets", "MAPE", "median", "rank"],
    )
    for kind, targets in found.layers.items():
        for target, one in targets.items():
            table.add_row(
                kind_cell(LayerKind(kind)),
                target + (" (fallback)" if one["fallback"] else ""),
                str(one["rows"]),
                str(one["networks"]),
                percent(one["mape"]),
                percent(one["median"]),
                number(one["rank_correlation"], 2),
            )
    return table


def trained_scores_lines(found: TrainedScores) -> list[str]:
    """Which networks they are, and what is not scored."""
    lines = [f"Networks: {', '.join(found.networks)}"]
    if found.known:
        lines.append(f"Left out, for they were trained on: {', '.join(found.known)}")
    return [*lines, *(f"No predictor of {what}" for what in found.left_out)]
