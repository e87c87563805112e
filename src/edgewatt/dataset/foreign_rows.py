"""Rows of somebody's table, with the lines that they stand in."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewatt.dataset.foreign_mapping import ForeignMapping, TableLayout
from edgewatt.errors import FormatError


@dataclass(frozen=True)
class ForeignRow:
    """One row.

    Attributes:
        path: The table's file.
        line: Number of its (last) line.
        fields: Its fields by column, as text without blanks around them.
        decimal: The decimal mark of its numbers.
    """

    path: Path
    line: int
    fields: Mapping[str, str]
    decimal: str = "."

    def text(self, column: str) -> str:
        """A field.

        Raises:
            FormatError: There is no such column.
        """
        try:
            return self.fields[column]
        except KeyError:
            raise FormatError(
                f"there is no column {column!r}",
                where=self.path,
                fix=f"There are: {', '.join(self.fields)}",
            ) from None

    def number(self, column: str) -> float:
        """A field as a finite number.

        Raises:
            FormatError: There is no such column, or its field is no number.
        """
        text = self.text(column)
        try:
            value = float(text.replace(",", ".") if self.decimal == "," else text)
        except ValueError:
            raise self.error(column, f"{text!r} is not a number") from None
        if not math.isfinite(value):
            raise self.error(column, f"{text!r} is not a finite number")
        return value

    def error(self, column: str, what: str) -> FormatError:
        """An error of one field."""
        return FormatError(what, where=f"{self.path}, line {self.line}, column {column}", fix="Correct or skip the row")


def read_rows(path: Path, mapping: ForeignMapping) -> tuple[list[ForeignRow], int]:
    """Read a table.

    Returns:
        Its rows, and the number of rows that were skipped.

    Raises:
        FormatError: The file is missing or empty, a row has too many or too few fields, or a column is not there.
    """
    layout = mapping.table
    lines = _lines(path, layout)
    columns = list(layout.columns)
    if layout.header:
        _, columns = next(lines, (0, []))
        if not columns:
            raise FormatError("the table is empty", where=path, fix="Name a table with rows")
    _check_columns(path, columns)
    rows: list[ForeignRow] = []
    skipped = 0
    for line, fields in lines:
        row = ForeignRow(path, line, dict(_named(path, line, columns, fields)), layout.decimal)
        if any(row.text(rule.column) == rule.equals for rule in mapping.skip):
            skipped += 1
            continue
        rows.append(_with_split_columns(row, layout))
    if not rows:
        raise FormatError("the table has no rows", where=path, fix="Name a table with rows")
    return rows, skipped


def _lines(path: Path, layout: TableLayout) -> Iterator[tuple[int, list[str]]]:
    """Numbers and fields of lines that are not blank."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FormatError.of_system(error, "cannot be read", path) from error
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 text: {error.reason}", where=path, fix="Save it as UTF-8") from error
    numbered = text.splitlines(keepends=True)[layout.skip_lines :]
    if layout.separator == "space":
        for number, line in enumerate(numbered, start=layout.skip_lines + 1):
            if line.strip():
                yield number, line.split()
        return
    reader = csv.reader(numbered, delimiter=layout.delimiter)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield layout.skip_lines + reader.line_num, [field.strip() for field in fields]
    except csv.Error as error:
        where = f"{path}, line {layout.skip_lines + reader.line_num}"
        raise FormatError(f"not a table: {error}", where=where, fix="See [table] in the mapping") from error


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise FormatError(f"the column {twice[0]!r} is there twice", where=path, fix="Name the columns apart")


def _named(path: Path, line: int, columns: Sequence[str], fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    if len(fields) != len(columns):
        raise FormatError(
            f"{len(fields)} fields, not {len(columns)}",
            where=f"{path}, line {line}",
            fix="Correct the row, or the separator in [table] of the mapping",
        )
    return zip(columns, fields, strict=True)


def _with_split_columns(row: ForeignRow, layout: TableLayout) -> ForeignRow:
    if not layout.split:
        return row
    fields = dict(row.fields)
    for column, split in layout.split.items():
        parts = [part.strip() for part in row.text(column).split(split.separator)]
        if len(parts) != len(split.names):
            raise row.error(column, f"{len(parts)} values, not {len(split.names)}")
        fields |= dict(zip(split.names, parts, strict=True))
    return ForeignRow(row.path, row.line, fields, row.decimal)
