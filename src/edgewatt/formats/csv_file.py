"""CSV files with any text in them: names with commas, quotes, line breaks and control characters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from edgewatt.errors import FormatError
from edgewatt.formats.atomic import replacing


def write_csv(path: Path, table: pl.DataFrame) -> None:
    """Write a table, whole or not at all; text is quoted, a missing value is an empty field."""
    with replacing(path) as beside:
        table.write_csv(beside, quote_style="non_numeric")


def read_csv(path: Path, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Read a CSV file with a header line.

    Args:
        path: The file.
        schema: The type of each column that may be there; columns that it does not name are read as text.

    Raises:
        FormatError: The file is missing, empty, not CSV, or a value is not of its column's type.
    """
    try:
        table = pl.read_csv(path, infer_schema=False)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", where=path) from error
    except pl.exceptions.NoDataError as error:
        raise FormatError("the file is empty", where=path, fix="Make it again") from error
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise FormatError(f"not a CSV file: {str(error).splitlines()[0]}", where=path) from error
    for name, column_type in schema.items():
        if name in table.columns and column_type is not pl.String:
            table = table.with_columns(_numbers(table[name], column_type, path))
    return table


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
