"""Commands that show results: the report page, and what changed between two."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from edgewatt.cli_output import Json, end_batch, show
from edgewatt.errors import CheckFailedError


class Order(str, Enum):
    """The order in which layers are printed."""

    ENERGY = "energy"
    ORDER = "order"


def report(
    results: Annotated[
        list[Path], typer.Argument(help="Folders of recordings or mapped networks, or files of predictions.")
    ],
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    json: Json = False,
) -> None:
    """Write an HTML page that shows recordings and predictions, one or several side by side."""
    from edgewatt.reports.html import write_report
    from edgewatt.reports.progress import progress_bar
    from edgewatt.reports.tables import failure_lines
    from edgewatt.results.collect import collect

    with progress_bar("Reading") as step:
        batch = collect(results, step)
    if batch.done:
        write_report(out, batch.done)
        value = {"report": str(out), "results": [{"name": r.name, "source": r.source.value} for r in batch.done]}
        show(json, value, f"Report: {out}")
    end_batch(failure_lines(batch.failed), batch.exit_status)


def compare(
    before: Annotated[Path, typer.Argument(help="Recording, mapped network or prediction.")],
    after: Annotated[Path, typer.Argument(help="The same after a change.")],
    force: Annotated[bool, typer.Option("--force", help="Compare also what was made in another way.")] = False,
    fail_on_increase: Annotated[
        float | None, typer.Option(min=0.0, metavar="PERCENT", help="Fail when energy rose by more, beyond the noise.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what changed between two recordings or predictions, and whether it is more than noise."""
    from edgewatt.comparison.compare import compare_results
    from edgewatt.reports.compare import comparison_json, comparison_lines, comparison_table
    from edgewatt.results.collect import read_result

    found = compare_results(read_result(before), read_result(after), force=force)
    show(json, comparison_json(found), comparison_table(found), *comparison_lines(found))
    if fail_on_increase is not None and found.energy_j.rose_by_more_than(fail_on_increase / 100):
        raise CheckFailedError(f"the energy rose by more than {fail_on_increase:g} %", where=after)
