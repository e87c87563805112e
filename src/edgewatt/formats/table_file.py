"""Tables as CSV, JSON or Parquet; Parquet keeps the columns' types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from edgewatt.errors import EdgewattError
from edgewatt.formats.atomic import replacing
from edgewatt.formats.csv_file import write_csv


def write_table(path: Path, table: pl.DataFrame, file_format: str | None = None) -> None:
    """Write a table, whole or not at all.

    JSON is a list of one object a row, `null` for a missing value.

    Args:
        path: The file.
        table: The table.
        file_format: `csv`, `json` or `parquet`; by the file's name where it is None.

    Raises:
        EdgewattError: The format is none of these, or the file cannot be written.
    """
    _WRITERS[table_format(path, file_format)](path, _plain(table))


def table_format(path: Path, file_format: str | None = None) -> str:
    """The format that a table is written in; arguments and errors as for `write_table`."""
    chosen = file_format or path.suffix.lstrip(".").lower()
    if chosen not in _WRITERS:
        problem = f"there is no format {chosen!r}" if chosen else "the name does not tell the format"
        raise EdgewattError(problem, where=path, fix=f"End the name in .{', .'.join(_WRITERS)}")
    return chosen


def _write_json(path: Path, table: pl.DataFrame) -> None:
    # JSON knows no NaN.
    floats = pl.col(pl.Float64, pl.Float32)
    table = table.with_columns(pl.when(floats.is_finite()).then(floats))
    with replacing(path) as beside, beside.open("wb") as file:
        table.write_json(file)
        file.write(b"\n")


def _write_parquet(path: Path, table: pl.DataFrame) -> None:
    with replacing(path) as beside, beside.open("wb") as file:
        table.write_parquet(file)


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """Text as text: a categorical column is a matter of memory, not of meaning."""
    return table.with_columns(pl.col(pl.Categorical).cast(pl.String))


_WRITERS: Mapping[str, Callable[[Path, pl.DataFrame], None]] = {
    "csv": write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
