"""A table that leaves columns out where there is no room for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

#: Words of so many characters are never cut; longer names are.
_SHORT = 14


class FittingTable(Table):
    """A table whose less important columns give way to the others.

    Attributes:
        optional: Indices of the columns that may be left out, the first to go first; those of one group go together.
    """

    def __init__(self, *, optional: Sequence[Iterable[int]] = (), **options: Any) -> None:
        super().__init__(**options)
        self.optional = [set(group) for group in optional]

    def fitted(self, console: Console, width: int) -> Table:
        """The table with as many columns as fit, and a word on those that do not.

        Args:
            console: Where it is printed.
            width: Columns of the terminal.
        """
        for column in self.columns:
            words = [cell for cell in (column.header, *column._cells) if isinstance(cell, str | Text)]
            longest = max(cell_len(str(word)) for word in words)
            # A number and its interval are one; a name may be cut.
            column.min_width = longest if column.justify == "right" else min(longest, _SHORT)
        left_out: set[int] = set()
        for group in (set(), *self.optional):
            left_out |= group
            table = self._without(left_out)
            if Measurement.get(console, console.options.update(width=1000), table).minimum <= width:
                break
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from Table.__rich_console__(self.fitted(console, options.max_width), console, options)

    def _without(self, left_out: set[int]) -> Table:
        if not left_out:
            return _plain(self, self.columns)
        kept: list[Any] = []
        for index, column in enumerate(self.columns):
            if index not in left_out:
                moved = copy(column)
                moved._index = len(kept)
                kept.append(moved)
        table = _plain(self, kept)
        names = dict.fromkeys(str(self.columns[index].header) for index in sorted(left_out))
        table.caption = f"left out in a narrow terminal: {', '.join(names)}"
        table.caption_justify = "left"
        return table


def _plain(table: Table, columns: list[Any]) -> Table:
    """A table of the base class, with these columns."""
    found = copy(table)
    found.__class__ = Table
    found.columns = columns
    return found
