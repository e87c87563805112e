"""The commands that train predictors and score them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from edgewatt.cli_fleet import Board, BoardFeatures, BoardFigures, Mix, PowerMode
from edgewatt.cli_output import (
    Json,
    Scheduler,
    Track,
    show,
    split,
)
from edgewatt.cli_transfer import From, adapt


def train(
    training_dir: Annotated[Path, typer.Argument(help="Folder of training tables.")],
    predictors_dir: Annotated[Path, typer.Argument(help="Folder to write to.")],
    source: From = None,
    holdout: Annotated[list[str] | None, typer.Option(help="Networks to keep from training and score on.")] = None,
    board: Board = None,
    power_mode: PowerMode = None,
    mix: Mix = False,
    board_features: BoardFeatures = False,
    board_figures: BoardFigures = None,
    predictor: Annotated[
        str | None,
        typer.Option(help="physics (the default), neuralpower (also where its settings are given) or mean."),
    ] = None,
    degree: Annotated[
        int | None,
        typer.Option(min=1, max=4, help="Degree of the polynomials; if not given, 2 for power and 3 for runtime."),
    ] = None,
    log_features: Annotated[
        bool | None, typer.Option(help="Polynomials of log(1 + feature); if not given, for power alone.")
    ] = None,
    log_target: Annotated[bool | None, typer.Option(help="Fit the target's logarithm; by default the target.")] = None,
    scaler: Annotated[
        str | None, typer.Option(help="How terms are scaled: standard (the default), minmax or none.")
    ] = None,
    special_terms: Annotated[
        bool | None, typer.Option(help="Operations and memory accesses as terms, which they are by default.")
    ] = None,
    tune_degree: Annotated[
        bool, typer.Option("--tune-degree", help="Choose the degree from 1, 2 and 3 by cross-validation.")
    ] = False,
    tune: Annotated[
        int | None,
        typer.Option(min=1, help="Search for better settings with so many trials for power and for runtime each."),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(help="File of the search, gone on with if it is there; PREDICTORS_DIR.study.db if not given."),
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Give up trials early whose first folds are bad.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Fits of the search at once, each in a process of its own; by default the cores."),
    ] = None,
    scheduler: Scheduler = None,
    track: Annotated[
        str | None, typer.Option(help="Log the training to MLflow: http://HOST:PORT or sqlite:///FILE.")
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(help="The experiment in MLflow to log to; edgewatt if not given.")
    ] = None,
    register: Annotated[
        str | None, typer.Option(help="Add the predictors to this registered model in MLflow, as a version.")
    ] = None,
    json: Json = False,
) -> None:
    """Train a power and a runtime predictor for each kind of layer, and score them."""
    from edgewatt.cli_training import Search, tracked_training, tuned
    from edgewatt.predictors.fleet_data import FleetChoice
    from edgewatt.predictors.training import train as train_predictors
    from edgewatt.reports.fleet import board_scores_table
    from edgewatt.reports.predictions import (
        coverage_lines,
        networks_table,
        notes_lines,
        repeat_lines,
        scores_json,
        scores_table,
    )
    from edgewatt.reports.progress import progress_bar

    given = {
        "degree": degree,
        "log_features": log_features,
        "log_target": log_target,
        "scaler": scaler,
        "special_terms": special_terms,
    }
    choice = FleetChoice(board, power_mode, mix, board_features, board_figures)
    if source is not None:
        without = {
            **{f"--{name.replace('_', '-')}": value for name, value in given.items()},
            "--predictor": predictor,
            "--tune-degree": tune_degree,
            "--tune": tune,
            "--study": study,
            "--prune": prune,
            "--jobs": jobs,
            "--scheduler": scheduler,
            "--register": register,
            "--board-features": board_features,
        }
        adapt(
            training_dir,
            predictors_dir,
            source,
            holdout=split(holdout),
            choice=choice,
            without=without,
            track=track,
            json=json,
        )
        return
    settings = {name: value for name, value in given.items() if value is not None}
    search = Search(tune, study, prune, seed, jobs, scheduler)
    chosen: dict[str, Any] = {
        "holdout": split(holdout),
        "predictor": predictor,
        "settings": settings,
        "tune_degree": tune_degree,
        "choice": choice,
    }
    with tracked_training(track, experiment, register) as tracking:
        tuning = tuned(search, training_dir, predictors_dir, **chosen)
        with progress_bar("Training") as step:
            arguments = {**chosen, **tuning.arguments()}
            result = train_predictors(training_dir, predictors_dir, **arguments, progress=step)
            tracking.log(result, training_dir, predictors_dir, step)
    networks = networks_table(result)
    show(
        json,
        {**scores_json(result), **tuning.json(), **tracking.json()},
        *tuning.parts(),
        scores_table(result),
        *([] if networks is None else [networks]),
        *([board_scores_table(result.boards)] if result.boards else []),
        *coverage_lines(result),
        *repeat_lines(result),
        *notes_lines(result),
        f"Predictors: {predictors_dir}",
        *tracking.lines(),
    )
    tracking.end()


def evaluate(
    training_dir: Annotated[Path, typer.Argument(help="Folder of training tables.")],
    predictor: Annotated[str, typer.Option(help="physics, neuralpower, or mean (the baseline).")] = "physics",
    predictors: Annotated[
        str | None,
        typer.Option(help="Score these instead, a folder or models:/NAME/VERSION, on networks that are new to them."),
    ] = None,
    track: Track = None,
    family: Annotated[
        list[str] | None, typer.Option(help="NETWORK=FAMILY where the name does not tell; repeat, or use commas.")
    ] = None,
    board: Board = None,
    power_mode: PowerMode = None,
    mix: Mix = False,
    board_features: BoardFeatures = False,
    board_figures: BoardFigures = None,
    json: Json = False,
) -> None:
    """Score predictors on networks, families of networks and rows that they were not trained on."""
    from edgewatt.predictors.fleet_data import FleetChoice

    choice = FleetChoice(board, power_mode, mix, board_features, board_figures)
    if predictors is not None:
        from edgewatt.cli_training import evaluate_trained

        evaluate_trained(training_dir, predictors, track, choice, as_json=json)
        return
    from edgewatt.predictors.evaluate import evaluate as evaluate_predictor
    from edgewatt.predictors.families import named_families
    from edgewatt.reports.evaluation import evaluation_json, evaluation_tables, protocol_lines
    from edgewatt.reports.progress import progress_bar

    with progress_bar("Evaluating") as step:
        found = evaluate_predictor(
            training_dir,
            predictor=predictor,
            named_families=named_families(split(family)),
            choice=choice,
            progress=step,
        )
    show(json, evaluation_json(found), *evaluation_tables(found), *protocol_lines(found))
