"""The demo's result: predictions beside the simulated truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from edgewatt.demo import BOARD, DemoResult
from edgewatt.reports.html import write_report
from edgewatt.reports.predictions import scores_json, scores_table
from edgewatt.reports.tables import new_table, number, percent
from edgewatt.results.collect import collect


def demo_parts(result: DemoResult) -> tuple[RenderableType, ...]:
    """The demo's tables, to print one below the other."""
    return (
        scores_table(result.training),
        "",
        comparison_table(result),
        "",
        cycles_table(result),
        f"SIMULATED: nothing here was measured. The board is a model of the {BOARD}; its truth is known exactly.",
    )


def write_demo_report(result: DemoResult) -> Path:
    """Write the report page of the networks that were held out: recorded, mapped and predicted; returns its path."""
    folder, path = result.folder, result.folder / "report.html"
    names = [row.network for row in result.rows]
    recorded = [folder / stage / name for name in names for stage in ("raw_data", "preprocessed_data")]
    predicted = [folder / "predictions" / f"{name}.csv" for name in names]
    write_report(path, collect([*recorded, *predicted]).done)
    return path


def comparison_table(result: DemoResult) -> Table:
    """Predicted against true energy of each held-out network."""
    table = new_table(
        f"SIMULATED {BOARD}: networks that were not trained on, predicted and true (of the share of their time that "
        "predictors cover, idle included); the last column is the error of predicting each kind's mean",
        ["network"],
        ["covered", "ms", "true ms", "mJ", "true mJ", "error", "by mean"],
    )
    for row in result.rows:
        table.add_row(
            row.network,
            percent(row.covered_time_share, 0),
            number(row.predicted_runtime_s * 1e3, 3),
            number(row.true_runtime_s * 1e3, 3),
            number(row.predicted_energy_j * 1e3, 3),
            number(row.true_energy_j * 1e3, 3),
            f"{100 * row.energy_error:+.1f}%",
            f"{100 * row.baseline_error:+.0f}%",
        )
    return table


def cycles_table(result: DemoResult) -> Table:
    """Predicted energy of each held-out network's whole cycle with its interval, against the truth."""
    table = new_table(
        f"SIMULATED {BOARD}: their whole cycles, with the time between layers; layers unlike those trained on are "
        "extrapolated, and widen the interval",
        ["network"],
        ["layers", "extrapolated", "mJ", "90% from", "to", "true mJ"],
    )
    for row in result.rows:
        energies = (row.cycle_energy_j, row.cycle_low_j, row.cycle_high_j, row.true_cycle_j)
        table.add_row(
            row.network,
            str(row.executed_layers),
            str(row.extrapolated_layers),
            *(number(None if energy is None else energy * 1e3, 3) for energy in energies),
        )
    return table


def demo_json(result: DemoResult) -> dict[str, Any]:
    """The demo's result for machines."""
    return {
        "simulated": True,
        "board": BOARD,
        "folder": str(result.folder),
        "held_out": [row.to_dict() for row in result.rows],
        "training": scores_json(result.training),
    }
