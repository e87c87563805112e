"""Which runs are trained on, where they are of several boards, and the boards' figures beside their layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from edgewatt.errors import EdgewattError
from edgewatt.formats.conditions import Condition, RunChoice, chosen, refuse_mixture
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.board_features import BoardRates, GivenBoards, board_rates, read_board_figures, with_board
from edgewatt.predictors.registry import DEFAULT_PREDICTOR
from edgewatt.predictors.training_data import NETWORK, TrainingData, read_training_data


@dataclass(frozen=True)
class FleetChoice(RunChoice):
    """Which runs are meant, and whether what their boards can do is a feature.

    Attributes:
        board_features: Let one predictor serve several boards, told apart by their figures.
        board_figures: TOML file of figures that nobody published.
    """

    board_features: bool = False
    board_figures: Path | None = None


def fleet_training_data(training_dir: Path, choice: FleetChoice | None = None) -> TrainingData:
    """Read training tables of the runs that are meant.

    Args:
        training_dir: One folder a network, or a folder a board with those of its networks.
        choice: What is meant; all, where they are of one board and power mode, when nothing is said.

    Raises:
        EdgewattError: A table is broken, no run is meant, runs of several boards or power modes would be mixed, or a
            board's figures are not known.
    """
    meant = choice or FleetChoice()
    if meant.board_figures is not None and not meant.board_features:
        raise EdgewattError("figures of boards are given, but are no features", fix="Add --board-features")
    data = read_training_data(training_dir)
    kept = chosen(data.known_runs(), meant, training_dir)
    if not meant.board_features:
        refuse_mixture(kept, meant, training_dir)
    names = {run.name for run in kept}
    of_choice = data.of([name for name in data.networks if name in names])
    if not meant.board_features:
        return of_choice
    given = {} if meant.board_figures is None else read_board_figures(meant.board_figures)
    return with_boards(of_choice, known_boards(of_choice, given))


def known_boards(data: TrainingData, given: GivenBoards | None = None) -> tuple[BoardRates, ...]:
    """The figures of every board and power mode in training data, idle power as it was measured there.

    Args:
        data: The training data.
        given: Figures that the user gave.

    Raises:
        EdgewattError: Nothing is known of a board.
    """
    found = []
    for condition, names in sorted(networks_by_condition(data).items()):
        own = data.of(names)
        found.append(board_rates(condition, clocks=_clocks(own, names), idle_power_w=own.idle_power_w(), given=given))
    return tuple(found)


def with_boards(data: TrainingData, boards: Sequence[BoardRates]) -> TrainingData:
    """Training data with the figures of the board that each run is of.

    Args:
        data: The training data.
        boards: The boards; every run's is among them.
    """
    by_condition = {board.condition: board for board in boards}

    def told(table: pl.DataFrame) -> pl.DataFrame:
        return with_board(table, [by_condition[data.condition(name)] for name in table[NETWORK].to_list()])

    tables: dict[LayerKind, pl.DataFrame] = {kind: told(table) for kind, table in data.tables.items()}
    return replace(data, tables=tables, boards=tuple(boards))


def networks_by_condition(data: TrainingData) -> dict[Condition, list[str]]:
    """Names of the runs of each board and power mode."""
    found: dict[Condition, list[str]] = {}
    for name in data.networks:
        found.setdefault(data.condition(name), []).append(name)
    return found


def _clocks(data: TrainingData, names: Sequence[str]) -> Mapping[str, Any]:
    """Clocks of the first run that tells of them."""
    told = (data.measured[name].run.get("clocks") for name in names if name in data.measured)
    return next((clocks for clocks in told if isinstance(clocks, dict) and clocks), {})


def check_board_features(predictor: str, choice: FleetChoice | None) -> None:
    """Check that a predictor can have boards' figures as features.

    Args:
        predictor: The predictor's name.
        choice: What is meant.

    Raises:
        EdgewattError: It has no place for them.
    """
    if choice is not None and choice.board_features and predictor != DEFAULT_PREDICTOR:
        raise EdgewattError(
            f"the predictor {predictor} has no place for a board's figures: it knows a layer's sizes alone",
            fix=f"Take {DEFAULT_PREDICTOR}, or train {predictor} for each board with --board",
        )
