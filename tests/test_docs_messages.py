"""Messages that the troubleshooting page quotes are messages of the program."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "troubleshooting.md"
_ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
#: Stands for what a message of the source is filled in with.
_FILLED_IN = "\0"


@cache
def texts_of_the_source() -> tuple[str, ...]:
    """All texts of the source, with a mark where something is filled in."""
    texts = []
    for file in sorted((ROOT / "src" / "edgewatt").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (str(part.value) if isinstance(part, ast.Constant) else _FILLED_IN for part in node.values)
                texts.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return tuple(texts)


def occurs(message: str) -> bool:
    """Whether a text of the source has all the message's words in their order; `...` is anything."""
    return any(_has_in_order(text, message.split("...")) for text in texts_of_the_source())


def _has_in_order(text: str, parts: list[str]) -> bool:
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def test_every_quoted_message_is_one_of_the_program() -> None:
    messages = _ROW.findall(PAGE.read_text())
    assert len(messages) > 50
    assert len(set(messages)) == len(messages)
    gone = [message for message in messages if not occurs(message)]
    assert gone == [], "the program says these no more: correct docs/troubleshooting.md"


def test_a_message_that_the_program_never_says_is_told_apart() -> None:
    assert occurs("there is no " + "trtexec")
    assert not occurs("there is no trtexec " + "at all")
    assert not occurs("the sensor ... is made " + "of ...")
