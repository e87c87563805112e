"""Commands that show results: the report page, and what changed between two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgewatt.cli_output import Json, end_batch, show


def report(
    results: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Recordings, mapped networks or predictions, or folders.")
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
