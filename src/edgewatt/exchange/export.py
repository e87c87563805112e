"""Writing what edgewatt measured or predicted in the formats of other tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.exchange.profile import layer_profile
from edgewatt.exchange.sources import find_source
from edgewatt.exchange.tables import source_table, table_names
from edgewatt.exchange.trace import export_trace
from edgewatt.formats.table_file import write_table
from edgewatt.formats.trtexec_profile import write_profile

_TABLES = ("csv", "json", "parquet")
FORMATS = (*_TABLES, "perfetto", "trtexec-profile")
#: Endings of two parts, looked at first.
_ENDINGS = {".perfetto.json": "perfetto", ".trace.json": "perfetto", ".profile.json": "trtexec-profile"}


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        path: The file.
        file_format: Its format, one of `FORMATS`.
        source: What it is of, in words.
        rows: Rows of a table, layers of a profile, slices and values of a trace.
    """

    path: Path
    file_format: str
    source: str
    rows: int


def export(
    source: Path, out: Path, *, file_format: str | None = None, table: str | None = None, cycles: int | None = None
) -> Exported:
    """Write a recording, mapped networks, training tables or a prediction in another format, whole or not at all.

    Args:
        source: What to export: see `edgewatt.exchange.sources.find_source`.
        out: The file to write.
        file_format: One of `FORMATS`; by the name's ending if None.
        table: Which of the source's tables; the first of them if None. For tables alone.
        cycles: The most cycles of a trace. For traces of recordings alone.

    Raises:
        EdgewattError: The source is nothing to export, or cannot be in this format; an option does not go with it; or a
            file is missing or broken, or cannot be written.
    """
    chosen = _format(out, file_format)
    found = find_source(source)
    if table is not None and chosen not in _TABLES:
        raise EdgewattError(f"{chosen} holds no table", where=out, fix="Leave --table out")
    if cycles is not None and chosen != "perfetto":
        raise EdgewattError(f"{chosen} is not cut to a number of cycles", where=out, fix="Leave --cycles out")
    if chosen == "perfetto":
        rows = export_trace(found, out, cycles).events
    elif chosen == "trtexec-profile":
        profile = layer_profile(found)
        write_profile(out, profile)
        rows = len(profile.names)
    else:
        frame = source_table(found, table)
        if not frame.width:
            raise EdgewattError("there is no such table", where=source, fix=f"Name one of {table_names(found.kind)}")
        write_table(out, frame, chosen)
        rows = frame.height
    return Exported(out, chosen, found.kind.value, rows)


def _format(out: Path, file_format: str | None) -> str:
    by_name = next((name for ending, name in _ENDINGS.items() if out.name.lower().endswith(ending)), None)
    chosen = file_format or by_name or out.suffix.lstrip(".").lower()
    if chosen not in FORMATS:
        problem = f"there is no format {chosen!r}" if chosen else "the name does not tell the format"
        raise EdgewattError(problem, where=out, fix=f"Name one with --format: {', '.join(FORMATS)}")
    return chosen
