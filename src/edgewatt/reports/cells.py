"""Cells of terminal tables that fit the room that they get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.text import Text

from edgewatt.errors import printable

_LEAST_NAME = 12
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True)
class LayerName:
    """A layer's name; where it is too long, the end of its first operation's path, which tells layers apart.

    Attributes:
        name: The name.
        mark: What stands before it, whatever room there is.
    """

    name: str
    mark: str = ""

    def fitted(self, width: int) -> str:
        """The name in that many columns."""
        whole = printable(self.name)
        room = width - cell_len(self.mark)
        if cell_len(whole) <= room:
            return self.mark + whole
        first = whole.split(" + ")[0]
        if cell_len(first) <= room - 1:
            return f"{self.mark}{first}…"
        end = first
        while cell_len(end) > max(1, room - 1):
            end = end[1:]
        return set_cell_size(f"{self.mark}…{end}", width).rstrip()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield Text(self.fitted(options.max_width), no_wrap=True, overflow="ellipsis")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        longest = cell_len(self.mark) + cell_len(printable(self.name))
        return Measurement(min(_LEAST_NAME, longest), longest).with_maximum(options.max_width)


@dataclass(frozen=True)
class ShareBar:
    """A share as a bar and a percentage.

    Attributes:
        share: The share, from 0 to 1; None where it is not known.
        greatest: The share whose bar is as long as the cell.
        width: Length of that bar in columns.
    """

    share: float | None
    greatest: float
    width: int = 8

    def bar(self, *, plain: bool = False) -> str:
        """The bar, padded to its width; of number signs where a terminal knows no blocks."""
        if self.share is None or self.greatest <= 0:
            return " " * self.width
        length = self.width * min(1.0, max(0.0, self.share) / self.greatest)
        if plain:
            return ("#" * round(length)).ljust(self.width)
        whole = int(length)
        part = _EIGHTHS[int(8 * (length - whole))].strip()
        return ("█" * whole + part).ljust(self.width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        percent = "–" if self.share is None else f"{self.share:.1%}"
        yield Text.assemble((self.bar(plain=options.ascii_only), "blue"), f" {percent:>6}", no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self.width + 7, self.width + 7)
