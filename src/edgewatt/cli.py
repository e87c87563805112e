"""The command line: each command is a few lines over the library, which is imported where it is used."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import edgewatt
from edgewatt import (
    cli_board,
    cli_data,
    cli_exchange,
    cli_predictors,
    cli_reports,
    cli_simulation,
    cli_states,
    cli_sweep,
)
from edgewatt.cli_fleet import Board, BoardFigures, Mix, PowerMode
from edgewatt.cli_output import (
    Jobs,
    Json,
    Networks,
    Redo,
    Scheduler,
    Track,
    end_batch,
    exit_status,
    show,
    show_warnings,
    split,
    tell_already,
)
from edgewatt.cli_reports import Order
from edgewatt.errors import CheckFailedError, EdgewattError

app = typer.Typer(
    name="edgewatt",
    help="Watts, milliseconds and millijoules of each layer of a CNN on an edge device, measured and predicted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(f"edgewatt {edgewatt.__version__}")
        raise typer.Exit


app.command()(cli_simulation.demo)
app.command()(cli_board.sensors)
app.command()(cli_board.idle)
app.command()(cli_board.record)
app.command()(cli_states.states)
app.command()(cli_sweep.sweep)


app.command()(cli_simulation.simulate)


@app.command("map")
def map_command(
    raw_dir: Annotated[Path, typer.Argument(help="Folder of recordings.")],
    preprocessed_dir: Annotated[Path, typer.Argument(help="Folder to write to.")],
    method: Annotated[str, typer.Option(help="deconvolve, or window (the base method).")] = "deconvolve",
    networks: Networks = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    redo: Redo = False,
    json: Json = False,
) -> None:
    """Give every layer of every recording its power."""
    from edgewatt.mapping.run import checked_method, map_recordings
    from edgewatt.reports.mapped_layers import mapped_layers_table
    from edgewatt.reports.progress import progress_bar
    from edgewatt.reports.tables import batch_json, failure_lines, mapping_json, mapping_table

    with progress_bar("Mapping") as step:
        batch = map_recordings(
            raw_dir,
            preprocessed_dir,
            models=split(networks),
            method=checked_method(method),
            jobs=jobs,
            scheduler=scheduler,
            redo=redo,
            progress=step,
        )
    tell_already("mapped", batch.already)
    one = [mapped_layers_table(network) for network in batch.done if len(batch.done) == 1]
    show(json, batch_json(batch, "networks", map(mapping_json, batch.done)), mapping_table(batch.done), *one)
    end_batch(failure_lines(batch.failed), batch.exit_status)


@app.command()
def dataset(
    preprocessed_dir: Annotated[Path, typer.Argument(help="Folder of mapped networks.")],
    training_dir: Annotated[Path, typer.Argument(help="Folder to write to.")],
    min_samples: Annotated[
        int, typer.Option(min=0, help="Leave out layers with fewer power values; 0 keeps all.")
    ] = 10,
    networks: Networks = None,
    board: Board = None,
    power_mode: PowerMode = None,
    mix: Mix = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    redo: Redo = False,
    json: Json = False,
) -> None:
    """Turn mapped networks into training tables, one for each kind of layer."""
    from edgewatt.dataset.run import build_dataset
    from edgewatt.formats.conditions import RunChoice
    from edgewatt.reports.progress import progress_bar
    from edgewatt.reports.tables import batch_json, dataset_json, dataset_table, failure_lines, left_out_lines

    with progress_bar("Tables of") as step:
        batch = build_dataset(
            preprocessed_dir,
            training_dir,
            min_samples=min_samples,
            models=split(networks),
            jobs=jobs,
            scheduler=scheduler,
            redo=redo,
            choice=RunChoice(board, power_mode, mix),
            progress=step,
        )
    tell_already("made", batch.already)
    value = batch_json(batch, "networks", map(dataset_json, batch.done))
    show(json, value, dataset_table(batch.done), *left_out_lines(batch.done))
    end_batch(failure_lines(batch.failed), batch.exit_status)


@app.command("import")
def import_command(
    table: Annotated[Path, typer.Argument(help="Table of measurements, a text file.")],
    training_dir: Annotated[Path, typer.Argument(help="Folder of training tables to write to.")],
    columns: Annotated[Path, typer.Option(help="TOML file that says what the table's columns are.")],
    replace: Annotated[bool, typer.Option("--replace", help="Write over tables of the same networks.")] = False,
    json: Json = False,
) -> None:
    """Turn somebody's measurements into training tables."""
    from edgewatt.dataset.foreign import import_table
    from edgewatt.reports.foreign import import_json, import_table_of

    found = import_table(table, training_dir, columns, replace=replace)
    show(json, import_json(found), import_table_of(found), f"Training tables: {training_dir}")


app.command()(cli_predictors.train)
app.command()(cli_predictors.evaluate)


@app.command()
def layers(
    network: Annotated[str | None, typer.Argument(help="Engine JSON, ONNX file or architecture.")] = None,
    names: Annotated[bool, typer.Option("--list", help="List the shipped architectures.")] = False,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Inputs at once; by default the file's. An engine's are fixed.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Precision of a network that is not built yet.")] = "float16",
    json: Json = False,
) -> None:
    """Show the layers of a network as the board would run them."""
    from edgewatt.networks.architectures import architecture_names, network_layers
    from edgewatt.reports.layers import architectures_json, architectures_table, layers_json, layers_table

    if names:
        listed = {name: network_layers(name, precision=dtype) for name in architecture_names()}
        show(json, architectures_json(listed), architectures_table(listed))
    elif network is None:
        raise EdgewattError("no network is named", fix="Name one, or list the shipped ones with --list")
    else:
        found = network_layers(network, batch=batch, precision=dtype)
        show(json, layers_json(found), layers_table(network, found))


@app.command()
def predict(
    network: Annotated[str, typer.Argument(help="Engine JSON, ONNX file or architecture.")],
    predictors: Annotated[
        str | None,
        typer.Option(help="Folder that train wrote, or models:/NAME/VERSION in MLflow; predictors/ if not given."),
    ] = None,
    track: Track = None,
    board: Annotated[
        str | None,
        typer.Option(
            help="The board that is meant; its prior predicts without --predictors. Needed for predictors of several."
        ),
    ] = None,
    power_mode: Annotated[
        str | None, typer.Option(help="The board's power mode, where the predictors know several.")
    ] = None,
    board_figures: BoardFigures = None,
    out: Annotated[Path, typer.Option(help="CSV file to write.")] = Path("predictions.csv"),
    batch: Annotated[
        int | None, typer.Option(min=1, help="Inputs at once; by default the file's. An engine's are fixed.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Precision of a network that is not built yet.")] = "float16",
    sort: Annotated[Order, typer.Option(help="Printed layers: most energy first, or in order.")] = Order.ENERGY,
    max_energy_mj: Annotated[float | None, typer.Option(help="Fail when a cycle takes more energy.")] = None,
    max_power_w: Annotated[float | None, typer.Option(help="Fail when the mean power is higher.")] = None,
    max_runtime_ms: Annotated[float | None, typer.Option(help="Fail when a cycle takes longer.")] = None,
    at: Annotated[str, typer.Option(help="Hold budgets at the upper end of the interval, or at the mean.")] = "upper",
    json: Json = False,
) -> None:
    """Predict power, runtime and energy of each layer of a network, without a device."""
    from edgewatt.networks.architectures import network_layers
    from edgewatt.predictors.budget import Budget, exceeded
    from edgewatt.predictors.choice import chosen_prediction
    from edgewatt.predictors.predictions_file import write_predictions
    from edgewatt.reports.predictions import prediction_json, prediction_lines, prediction_table
    from edgewatt.reports.prior import origin_json, origin_lines
    from edgewatt.tracking.sources import predictors_folder

    found = network_layers(network, batch=batch, precision=dtype)
    with predictors_folder(predictors, track) as folder:
        chosen = chosen_prediction(found, folder, board, network, power_mode=power_mode, board_figures=board_figures)
    if folder is not None:
        # Predictors that were fetched are known by their name, and not by where they lay meanwhile.
        chosen = replace(chosen, predictors=Path(str(predictors)))
    prediction = chosen.prediction
    write_predictions(out, prediction)
    show(
        json,
        {**prediction_json(network, prediction), "origin": origin_json(chosen)},
        *origin_lines(chosen),
        prediction_table(network, prediction, by_energy=sort is Order.ENERGY),
        *prediction_lines(prediction),
        f"Layers: {out}",
    )
    over = exceeded(prediction, Budget(max_energy_mj, max_power_w, max_runtime_ms), at)
    if over:
        raise CheckFailedError("the budget is exceeded: " + "; ".join(over), where=network)


app.command()(cli_exchange.export)
app.command()(cli_exchange.convert)


app.add_typer(cli_data.app)


app.command()(cli_reports.report)
app.command()(cli_reports.compare)


def main() -> None:
    """Run the command line; bad input ends with one line and an exit status, never with a traceback."""
    show_warnings()
    sys.exit(exit_status(app))
