"""How results show themselves: as a dictionary, as a data frame and as HTML, each registered for its type."""

from __future__ import annotations

from functools import singledispatch
from html import escape
from typing import Any

import polars as pl

from edgewatt.errors import printable

#: Rows that a notebook shows of a table.
_SHOWN_ROWS = 60


def as_html(result: object) -> str:
    """A heading and the data frame."""
    with pl.Config(tbl_rows=_SHOWN_ROWS, fmt_str_lengths=60, tbl_hide_column_data_types=True):
        table = as_frame(result)._repr_html_()
    return f"<p><strong>{escape(printable(heading(result)))}</strong></p>{table}"


@singledispatch
def as_dict(result: object) -> dict[str, Any]:
    """A result as a dictionary of plain values."""
    raise TypeError(f"{type(result).__name__} is no result")


@singledispatch
def as_frame(result: object) -> pl.DataFrame:
    """A result as a data frame."""
    raise TypeError(f"{type(result).__name__} is no result")


@singledispatch
def heading(result: object) -> str:
    """What a result is, in a line."""
    raise TypeError(f"{type(result).__name__} is no result")
