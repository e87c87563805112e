"""CSV files with any text in them: names with commas, quotes, line breaks and control characters."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from edgewatt.errors import FormatError
from edgewatt.formats.atomic import replacing

#: More than any row of a table takes.
_TAIL_BYTES = 65536


def write_csv(path: Path, table: pl.DataFrame) -> None:
    """Write a table, whole or not at all; text is quoted, a missing value is an empty field."""
    with replacing(path) as beside, beside.open("wb") as file:
        table.write_csv(file, quote_style="non_numeric")


def read_csv(path: Path, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Read a CSV file with a header line.

    Args:
        path: The file.
        schema: The type of each column that may be there; columns that it does not name are read as text.

    Raises:
        FormatError: The file is missing, empty, not CSV, cut short, has a column twice, or a value is not of its
            column's type.
    """
    try:
        table = _parse(path, schema)
        cut = _last_line_if_cut(path)
    except OSError as error:
        raise FormatError.of_system(error, "cannot be read", path) from error
    except pl.exceptions.NoDataError as error:
        raise FormatError("the file is empty", where=path, fix="Make it again") from error
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        problem = str(error).splitlines()[0]
        raise FormatError(f"not a CSV file, or one cut short: {problem}", where=path, fix="Make it again") from error
    twice = next((name for name in table.columns if name.endswith("_duplicated_0")), None)
    if twice is not None:
        raise FormatError(
            f"the column {twice.removesuffix('_duplicated_0')} comes twice", where=path, fix="Leave one of them out"
        )
    if cut is not None and table.height and len(next(csv.reader([cut]))) < table.width:
        raise FormatError(
            f"the last line was cut short: {cut[-80:]!r}", where=f"{path}, line {table.height + 1}", fix="Make it again"
        )
    for name, column_type in schema.items():
        if name in table.columns and column_type is not pl.String and table.schema[name] == pl.String:
            table = table.with_columns(_numbers(table[name], column_type, path))
    return table


def _parse(path: Path, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Parse a file at once where its numbers are plain; as text where one is not, to tell which or make it out."""
    numbers: dict[str, Any] = {name: kind for name, kind in schema.items() if kind is not pl.String}
    # An open file, not its path: polars takes brackets and asterisks in a path for a pattern.
    with path.open("rb") as file:
        try:
            return pl.read_csv(file, infer_schema=False, schema_overrides=numbers)
        except pl.exceptions.PolarsError:
            file.seek(0)
            return pl.read_csv(file, infer_schema=False)


def check_ended(path: Path) -> None:
    """Check that a file that a program wrote was written to its end: a number cut short reads as another number.

    Raises:
        FormatError: Its last line has no end.
    """
    if _last_line_if_cut(path) is not None:
        raise FormatError("the file ends in the middle of a line, so it was cut short", where=path, fix="Map it again")


def _last_line_if_cut(path: Path) -> str | None:
    """The last line where it has no end, or as much of it as matters; None where it has."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read()
    return tail.rpartition(b"\n")[2].decode("utf-8", "replace") or None


def _numbers(text: pl.Series, column_type: type[pl.DataType], path: Path) -> pl.Series:
    stripped = text.str.strip_chars()
    values: pl.Series
    if column_type is pl.Boolean:
        lower = stripped.str.to_lowercase()
        values = lower.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    else:
        values = stripped.cast(pl.Float64, strict=False)
        if column_type is pl.Int64:
            # A whole number may be written as 3.0 by those who went through floats.
            fractional = (values != values.round()).fill_null(False)
            values = values.set(fractional, None).cast(pl.Int64, strict=False)
    wrong = (values.is_null() & stripped.is_not_null() & (stripped != "")).fill_null(False)
    if wrong.any():
        row = wrong.arg_max() or 0
        raise FormatError(
            f"{text[row]!r} in the column {text.name} is not a {_WORDS[column_type]}",
            where=f"{path}, line {row + 2}",
        )
    return values.alias(text.name)


_WORDS: Mapping[type[pl.DataType], str] = {
    pl.Float64: "number",
    pl.Int64: "whole number",
    pl.Boolean: "truth value (true or false)",
}
