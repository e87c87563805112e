"""`edgewatt train --from`: predictors of one board or power mode adapted to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgewatt.cli_output import show
from edgewatt.errors import EdgewattError

if TYPE_CHECKING:
    from edgewatt.predictors.fleet_data import FleetChoice

From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="PREDICTORS",
        help="Adapt these, of another board or power mode, with the tables' few networks or layers.",
    ),
]


def adapt(
    training_dir: Path,
    predictors_dir: Path,
    source: str,
    *,
    holdout: Sequence[str],
    choice: FleetChoice,
    without: Mapping[str, Any],
    track: str | None,
    json: bool,
) -> None:
    """Adapt predictors and show what the few networks bought.

    Args:
        training_dir: Folder of training tables.
        predictors_dir: Folder to write to.
        source: What names the source's predictors: a folder, or models:/NAME/VERSION.
        holdout: Networks to keep from adapting.
        choice: Which boards and power modes.
        without: Options that are of a training from nothing, by name; none may be given.
        track: Tracking URI for a source that is kept in MLflow.
        json: Whether it is shown as JSON.

    Raises:
        EdgewattError: An option is of a training from nothing, or the predictors cannot be adapted.
    """
    from edgewatt.predictors.transfer_training import adapt as adapt_predictors
    from edgewatt.reports.predictions import coverage_lines, notes_lines, scores_json
    from edgewatt.reports.progress import progress_bar
    from edgewatt.reports.transfer import transfer_json, transfer_lines, transfer_table
    from edgewatt.tracking.sources import predictors_folder

    given = [name for name, value in without.items() if value not in (None, False)]
    if given:
        raise EdgewattError(
            f"{', '.join(given)} {'is' if len(given) == 1 else 'are'} of a training from nothing",
            fix="Leave it away with --from: the source's predictors keep their settings",
        )
    with predictors_folder(source, track) as folder, progress_bar("Adapting") as step:
        assert folder is not None
        result = adapt_predictors(training_dir, predictors_dir, folder, holdout=holdout, choice=choice, progress=step)
    note = result.transfer
    assert note is not None
    show(
        json,
        {**scores_json(result), **transfer_json(note)},
        transfer_table(note),
        *transfer_lines(note),
        *coverage_lines(result),
        *notes_lines(result),
        f"Predictors: {predictors_dir}",
    )
