"""Scores of predictors on the boards of a fleet."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from edgewatt.predictors.fleet_scores import BoardScore
from edgewatt.reports.tables import new_table, percent


def board_scores_table(scores: Sequence[BoardScore]) -> Table:
    """MAPE on each board, of what was trained on it, on all boards, and on the other boards.

    Args:
        scores: The scores, by board.
    """
    table = new_table(
        "MAPE on each board of networks that were not trained on; predictors of other boards alone had seen the "
        "networks there, but not this board",
        ["board", "trained on"],
        ["nets", "layer ms", "layer W", "network ms", "network mJ"],
    )
    for score in scores:
        table.add_row(
            score.board,
            score.way,
            str(score.networks),
            percent(score.layer_runtime),
            percent(score.layer_power),
            percent(score.network_runtime),
            percent(score.network_energy),
        )
    return table
