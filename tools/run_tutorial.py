"""Run the cells of docs/tutorial.md and put their outputs in the page.

    python tools/run_tutorial.py

The page's Python blocks are run one after another, as a notebook's cells are: they share their names, and the value of
a last line that is an expression is shown. What a cell prints and shows goes between the marks behind it; a picture
(*.svg) that a cell writes goes to docs/images. An output that only differs in the last digits is left as it is, so that
the page does not change from one machine to another.
"""

from __future__ import annotations

import ast
import contextlib
import io
import math
import os
import re
import tempfile
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from edgewatt.errors import EdgewattWarning
from edgewatt.formats.atomic import write_bytes

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
BEGIN, END = "<!-- output -->", "<!-- end of output -->"
_CELL = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n" + BEGIN + r"\n```text\n(?P<output>.*?)```\n" + END + r"\n)?",
    re.MULTILINE | re.DOTALL,
)
_WIDTH = 100
_TABLES: dict[str, Any] = {
    "tbl_width_chars": _WIDTH,
    "tbl_rows": -1,
    "tbl_hide_column_data_types": True,
    "tbl_hide_dataframe_shape": True,
}
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
#: Numbers are the same when they differ by less than this, or in their last digit: sums in another order, say.
_RELATIVE = 0.02


class Notebook:
    """Cells that share their names and a folder."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, code: str) -> str:
        """Run a cell in the working directory and return what it printed and shows."""
        tree = ast.parse(code)
        shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        output = io.StringIO()
        with contextlib.redirect_stdout(output), warnings.catch_warnings(), pl.Config(**_TABLES):
            # What it warns of is part of what a user sees.
            warnings.showwarning = lambda message, *_, **__: print(textwrap.fill(f"warning: {message}", _WIDTH))
            warnings.simplefilter("always", EdgewattWarning)
            exec(compile(tree, "<cell>", "exec"), self._names)
            if isinstance(shown, ast.Expr):
                value = eval(compile(ast.Expression(shown.value), "<cell>", "eval"), self._names)
                if value is not None:
                    print(value)
        return "".join(f"{line.rstrip()}\n" for line in output.getvalue().splitlines())


def with_outputs(page: str, run: Callable[[str], str]) -> str:
    """The page with each cell's output as `run` gives it; an output that agrees with the page's is the page's."""

    def replaced(cell: re.Match[str]) -> str:
        before, now = cell["output"], run(cell["code"])
        output = before if before is not None and agree(before, now) else now
        shown = f"\n{BEGIN}\n```text\n{output}```\n{END}\n" if output else ""
        return f"```python\n{cell['code']}```\n{shown}"

    return _CELL.sub(replaced, page)


def agree(one: str, other: str) -> bool:
    """Whether two outputs have the same words and, but for rounding, the same numbers."""
    if _NUMBER.sub("#", one).split() != _NUMBER.sub("#", other).split():
        return False
    return all(map(_close, _NUMBER.findall(one), _NUMBER.findall(other)))


def _close(one: str, other: str) -> bool:
    last_digit = 10.0 ** -max(len(text.partition(".")[2]) for text in (one, other))
    first, second = (float(text.replace(",", "")) for text in (one, other))
    # A little more than one last digit, for numbers that no float holds exactly.
    return math.isclose(first, second, rel_tol=_RELATIVE, abs_tol=1.01 * last_digit)


def main() -> None:
    """Run the page's cells in an empty folder, then write the page and its pictures."""
    before = PAGE.read_text()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        after = with_outputs(before, Notebook().run)
        for picture in Path().glob("*.svg"):
            write_bytes(PAGE.parent / "images" / picture.name, picture.read_bytes())
    if after != before:
        write_bytes(PAGE, after.encode())


if __name__ == "__main__":
    main()
