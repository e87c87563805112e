"""Predictors of several simulated boards: each alone, all together, and a board left out.

    python benchmarks/fleet.py [--boards orin-nano,agx-orin,xavier-nx] [--cycles 1000] [--networks ...] [--keep DIR]

Networks are simulated on every board, mapped, and made into training tables. Each network is predicted on each board by
the default predictor of that board alone, of all boards with their figures as features, of all boards without, and of
the other boards, with and without. Networks are left out on every board; only where a board is left out have they been
seen on others. Everything is simulated: nothing here was measured on a real board.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from edgewatt.cli_output import split
from edgewatt.dataset.run import build_dataset
from edgewatt.mapping.run import map_recordings
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import CrossPrediction, cross_predict
from edgewatt.predictors.fleet_data import FleetChoice, fleet_training_data, networks_by_condition
from edgewatt.predictors.fleet_scores import BoardScore, board_folds_prediction, board_score, fleet_scores
from edgewatt.predictors.folds import network_folds
from edgewatt.predictors.registry import DEFAULT_PREDICTOR, Predictor, new_predictor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training_data import TrainingData
from edgewatt.reports.fleet import board_scores_table
from edgewatt.simulation.simulate import simulate

NETWORKS = "alexnet,googlenet,mobilenet_v2,resnet18,resnet34,squeezenet1_1,vgg11,vgg16"
FOLDS = 10


def main(
    boards: Annotated[
        str, typer.Option(help="Simulated boards, separated by commas.")
    ] = "orin-nano,agx-orin,xavier-nx",
    networks: Annotated[str, typer.Option(help="Networks, separated by commas.")] = NETWORKS,
    cycles: Annotated[int, typer.Option(help="Cycles of each recording.")] = 1000,
    keep: Annotated[
        Path | None, typer.Option(help="Folder to keep everything in; gone on with if it is there.")
    ] = None,
) -> None:
    """Simulate, map, train, and print the table."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        training_dir = made(keep or Path(scratch), split([boards]), split([networks]), cycles)
        scores = scored(training_dir)
    console = Console(width=120)
    console.print(board_scores_table(scores))
    console.print(
        f"Simulated. {len(split([networks]))} networks, {cycles} cycles, {time.perf_counter() - started:.0f} s"
    )


def made(folder: Path, boards: list[str], networks: list[str], cycles: int) -> Path:
    """The training tables of all boards, made as a user would; what is there already is taken."""
    raw, preprocessed, training = (folder / name for name in ("raw_data", "preprocessed_data", "training_data"))
    for board in boards:
        if not (raw / board).exists():
            simulate(raw / board, networks, board=board, cycles=cycles)
    map_recordings(raw, preprocessed)
    build_dataset(preprocessed, training, min_samples=5)
    return training


def scored(training_dir: Path) -> list[BoardScore]:
    """Scores with figures as features, and without."""
    with_figures = fleet_training_data(training_dir, FleetChoice(board_features=True))
    without = fleet_training_data(training_dir, FleetChoice(mix=True))
    found = fleet_scores(
        with_figures,
        by_network(with_figures),
        board_folds_prediction(with_figures, default, with_fallback=True),
        default,
        FOLDS,
        with_fallback=True,
    )
    mixed, others = by_network(without), board_folds_prediction(without, default, with_fallback=True)
    for condition, names in networks_by_condition(without).items():
        own, board = without.of(names), str(condition)
        found.append(board_score(without, mixed, board, "all, no figures", names, own))
        found.append(board_score(without, others, board, "others, no figures", names, own, by_board=True))
    return sorted(found, key=lambda score: score.board)


def by_network(data: TrainingData) -> CrossPrediction:
    """Every layer predicted without its network."""
    return cross_predict(data.tables, network_folds(data.tables, FOLDS), default, with_fallback=True)


def default(kind: LayerKind, target: Target) -> Predictor:
    """An untrained default predictor."""
    return new_predictor(DEFAULT_PREDICTOR, kind, target)


if __name__ == "__main__":
    typer.run(main)
