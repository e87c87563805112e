"""Bring docs/command-line.md up to date with the commands' help.

    python tools/command_line_page.py [--check]

Between a pair of marks the page holds, for each command, what its help says: usage, arguments, options and defaults.
Only that is written here; the text around it is written by hand and stays. A command that is new gets a section, in the
order in which `edgewatt --help` lists them. With --check nothing is written, and the exit status is 1 when the page is
out of date.
"""

from __future__ import annotations

import argparse
import enum
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union

import typer
from typer.models import ArgumentInfo, OptionInfo

from edgewatt.cli import app
from edgewatt.formats.atomic import write_bytes

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"
BEGIN, END = "<!-- from the help: make docs -->", "<!-- end of the help -->"
_HEADING = re.compile(r"^## `edgewatt ([a-z][a-z -]*)`\n", re.MULTILINE)
_MADE = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
#: The word for a value of an option that names none.
_VALUES = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}


@dataclass(frozen=True)
class Parameter:
    """An argument or option: how it is typed, what its help says, and its default as text."""

    spelling: str
    is_option: bool
    is_required: bool
    help: str
    default: str

    @property
    def row(self) -> str:
        """Its row of the table."""
        cells = [f"`{self.spelling}`", self.help]
        if self.is_option:
            cells.append("required" if self.is_required else f"`{self.default}`" if self.default else "")
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    @property
    def usage(self) -> str:
        """How it stands in the line of usage; options that may be left away do not."""
        if self.is_option:
            return f" {self.spelling}" if self.is_required else ""
        return f" {self.spelling}" if self.is_required else f" [{self.spelling}]"


def commands(group: typer.Typer, prefix: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each command's name, with its group's in front, and its function."""
    for command in group.registered_commands:
        if command.callback is not None and not command.hidden:
            yield prefix + (command.name or command.callback.__name__.replace("_", "-")), command.callback
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            # A group is named where it is made or where it is added.
            name = next(name for name in (inner.name, inner.typer_instance.info.name) if isinstance(name, str))
            yield from commands(inner.typer_instance, f"{prefix}{name} ")


def parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    """The arguments and options of a command."""
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind, *rest = typing.get_args(parameter.annotation) or (parameter.annotation,)
        for info in rest:
            if isinstance(info, ArgumentInfo | OptionInfo) and not info.hidden:
                yield _parameter(name, kind, info, parameter.default)


def _parameter(name: str, kind: Any, info: ArgumentInfo | OptionInfo, default: object) -> Parameter:
    is_option = isinstance(info, OptionInfo)
    value_type, is_list = _value_type(kind)
    spelling = _option(name, value_type, info) if is_option else (info.metavar or name.upper())
    return Parameter(
        spelling=spelling + (" ..." if is_list and not is_option else ""),
        is_option=is_option,
        is_required=default is inspect.Parameter.empty,
        help=" ".join(filter(None, [info.help, _limits(info)])),
        default=_default(default),
    )


def _value_type(kind: Any) -> tuple[Any, bool]:
    """The type of a single value, and whether there may be several."""
    if typing.get_origin(kind) in (Union, UnionType):
        (kind,) = (one for one in typing.get_args(kind) if one is not NoneType)
    return (typing.get_args(kind)[0], True) if typing.get_origin(kind) is list else (kind, False)


def _option(name: str, value_type: Any, info: ArgumentInfo | OptionInfo) -> str:
    # Inside Annotated, what stands first is a spelling, which typer keeps as the default.
    declared = [info.default, *(info.param_decls or ())]
    spelled = [one for one in declared if isinstance(one, str) and one.startswith("-")]
    first = ", ".join(spelled) or "--" + name.replace("_", "-")
    if value_type is bool:
        return first if spelled else f"{first}, --no-{first[2:]}"
    if isinstance(value_type, type) and issubclass(value_type, enum.Enum):
        return f"{first} {'|'.join(str(one.value) for one in value_type)}"
    return f"{first} {info.metavar or _VALUES.get(value_type, 'VALUE')}"


def _limits(info: ArgumentInfo | OptionInfo) -> str:
    if info.min is None:
        return ""
    return f"From {info.min:g}." if info.max is None else f"From {info.min:g} to {info.max:g}."


def _default(value: object) -> str:
    if value is inspect.Parameter.empty or value is None or isinstance(value, bool):
        return ""
    if isinstance(value, enum.Enum):
        return str(value.value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def made(name: str, function: Callable[..., Any]) -> str:
    """What the page says of a command by its help, with the marks around it."""
    found = list(parameters(function))
    arguments = [parameter for parameter in found if not parameter.is_option]
    options = [parameter for parameter in found if parameter.is_option]
    lines = [BEGIN, "", inspect.getdoc(function) or "", "", "```text"]
    lines += [f"edgewatt {name}{''.join(one.usage for one in (*arguments, *options))} [OPTIONS]", "```", ""]
    if arguments:
        lines += ["| argument | meaning |", "|---|---|", *(one.row for one in arguments), ""]
    if options:
        lines += ["| option | meaning | default |", "|---|---|---|", *(one.row for one in options), ""]
    return "\n".join([*lines, END])


def updated(page: str, wanted: Iterable[tuple[str, Callable[..., Any]]]) -> str:
    """The page with every command's part as its help is now.

    Raises:
        SystemExit: If the page has a section of a command that is gone.
    """
    intro, *parts = _HEADING.split(page)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    text = intro
    for name, function in wanted:
        section = sections.pop(name, f"\n{BEGIN}{END}\n\n")
        if not _MADE.search(section):
            section = f"\n{BEGIN}{END}\n{section}"
        section = _MADE.sub(lambda _, n=name, f=function: made(n, f), section, count=1).rstrip("\n")
        text += f"## `edgewatt {name}`\n{section}\n\n"
    if sections:
        raise SystemExit(f"{PAGE.name} has sections of commands that are gone, remove them: {', '.join(sections)}")
    return text.rstrip("\n") + "\n"


def main() -> None:
    """Write the page, or say that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, say whether it is out of date")
    arguments = parser.parse_args()
    before = PAGE.read_text()
    after = updated(before, commands(app))
    if arguments.check and after != before:
        sys.exit(f"{PAGE.name} is out of date: make docs")
    if after != before:
        write_bytes(PAGE, after.encode())


if __name__ == "__main__":
    main()
