"""Commands for the files of other tools: exporting to them, and converting from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgewatt.cli_output import Json, show, split
from edgewatt.wording import counted


def export(
    source: Annotated[
        Path, typer.Argument(help="Folder of a recording, a mapped network or training tables; or predictions.csv.")
    ],
    out: Annotated[Path, typer.Argument(help="File to write; its ending says the format.")],
    file_format: Annotated[
        str | None, typer.Option("--format", help="csv, json, parquet, perfetto or trtexec-profile.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="Which table: layers or cycles; all, convolutional, ...; cycles or readings.")
    ] = None,
    cycles: Annotated[
        int | None, typer.Option(min=1, help="The most cycles of a recording in a trace; 100 if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a recording, a mapped network, training tables or a prediction in another format."""
    from edgewatt.exchange.export import export as export_source

    done = export_source(source, out, file_format=file_format, table=table, cycles=cycles)
    value = {"path": str(done.path), "format": done.file_format, "source": done.source, "rows": done.rows}
    show(json, value, f"{done.source} as {done.file_format}, {done.rows} {_counted(done.file_format)}: {done.path}")


def convert(
    file: Annotated[Path, typer.Argument(help="File of another tool.")],
    out: Annotated[Path, typer.Argument(help="File to write; .csv, .json and .parquet are tables.")],
    file_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="tegrastats, jtop, trtexec-profile, trtexec-times or onnxruntime; by default told by content.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", help="power-log, table or latencies; by default told by OUT's name.")
    ] = None,
    rails: Annotated[
        list[str] | None, typer.Option(help="Rails whose sum is the board's input; by default the board's rule.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Time of the first line of a log without times, or of the start of profiling.")
    ] = None,
    interval: Annotated[
        float | None, typer.Option(min=0.001, help="Milliseconds between lines of a log without times.")
    ] = None,
    skip: Annotated[int, typer.Option(min=0, help="Inferences to leave out at the beginning.")] = 0,
    json: Json = False,
) -> None:
    """Convert a log or a profile of another tool."""
    from edgewatt.exchange.convert import Options
    from edgewatt.exchange.convert import convert as convert_file

    options = Options(rails=split(rails), start=start, interval_ms=interval, skip=skip)
    done = convert_file(file, out, file_format=file_format, target=target, options=options)
    value = {
        "path": str(done.path),
        "from": done.file_format,
        "to": done.target,
        "rows": done.rows,
        "notes": list(done.notes),
    }
    show(json, value, *done.notes, f"{done.file_format} as {done.target}, {counted(done.rows, 'row')}: {done.path}")


def _counted(file_format: str) -> str:
    return {"perfetto": "events", "trtexec-profile": "layers"}.get(file_format, "rows")
