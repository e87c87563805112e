"""The cells of the tutorial run, and give what the page shows."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial.md"


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "run_tutorial.py"))


def test_the_cells_give_what_the_page_shows(
    tool: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    assert tool["with_outputs"](page, tool["Notebook"]().run) == page, "out of date: make docs brings it up to date"
    picture = (tmp_path / "tutorial_power.svg").read_text()
    assert picture.startswith("<svg")
    assert "href" not in picture


def test_cells_share_their_names_and_show_their_last_value(tool: dict[str, Any]) -> None:
    notebook = tool["Notebook"]()
    assert notebook.run("number = 20") == ""
    assert notebook.run("print('twice', number)\nnumber * 2") == "twice 20\n40\n"
    assert notebook.run("None") == ""
    told = notebook.run("from edgewatt.errors import warn\nwarn('mind this')\nprint('after')")
    assert told == "warning: mind this\nafter\n"


def test_outputs_are_put_behind_their_cells(tool: dict[str, Any]) -> None:
    page = "a\n\n```python\n1 + 1\n```\n\nb\n\n```python\nx = 1\n```\n"
    once = tool["with_outputs"](page, {"1 + 1\n": "2\n", "x = 1\n": ""}.__getitem__)
    assert once == (
        "a\n\n```python\n1 + 1\n```\n\n<!-- output -->\n```text\n2\n```\n<!-- end of output -->\n\nb\n\n"
        "```python\nx = 1\n```\n"
    )
    assert tool["with_outputs"](once, {"1 + 1\n": "5\n", "x = 1\n": ""}.__getitem__) == once.replace("\n2\n", "\n5\n")


def test_an_output_may_differ_in_its_last_digits(tool: dict[str, Any]) -> None:
    agree = tool["agree"]
    assert agree("7.31 W, 1,000 cycles", "7.30 W, 1,001 cycles")
    assert agree("│ a │ 0.05 │", "│ a  │ 0.06 │")
    assert not agree("7.31 W", "7.6 W")
    assert not agree("7.31 W", "7.31 mW")
    assert not agree("1 2", "1")
