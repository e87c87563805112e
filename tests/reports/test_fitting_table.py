"""Tables on narrow terminals."""

from __future__ import annotations

import pytest
from rich.console import Console

from edgewatt.reports.cells import LayerName
from edgewatt.reports.tables import new_table


def printed(width: int) -> list[str]:
    table = new_table("Title", ["layer", "kind"], ["ms", "W", "mJ"], optional=[[3], [1, 2]])
    table.add_row(LayerName("/features/features.0/Conv"), "conv", "0.123456", "12.345678", "1.234567")
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize(
    ("width", "shown", "left_out"),
    [
        (80, ["conv", "0.123456", "12.345678", "1.234567"], ""),
        (50, ["conv", "0.123456", "1.234567"], "W"),
        (30, ["1.234567"], "kind, ms, W"),
    ],
)
def test_less_important_columns_give_way(width: int, shown: list[str], left_out: str) -> None:
    lines = printed(width)
    assert max(map(len, lines)) <= width
    (row,) = [line for line in lines if "Conv" in line]
    assert row.split()[1:] == shown
    told = " ".join(" ".join(lines).split())
    assert told.endswith(f"left out in a narrow terminal: {left_out}") if left_out else "left out" not in told


def test_a_table_that_was_printed_is_whole_again() -> None:
    table = new_table("Title", ["layer"], ["ms", "W"], optional=[[1], [2]])
    table.add_row("a", "1", "2")
    for width in (10, 80):
        console = Console(width=width, force_terminal=False)
        with console.capture() as captured:
            console.print(table)
    assert captured.get().splitlines()[-1].split() == ["a", "1", "2"]
