"""What all commands share: options, and how results, failures and warnings are shown."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgewatt.errors import EdgewattWarning

if TYPE_CHECKING:
    from rich.console import RenderableType

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Networks = Annotated[
    list[str] | None, typer.Option(help="Only these networks: names separated by commas, or the option repeated.")
]


def split(values: Sequence[str] | None) -> list[str]:
    """Values of an option that was repeated, or given several separated by commas."""
    return [part.strip() for value in values or () for part in value.split(",") if part.strip()]


def show(as_json: bool, value: dict[str, Any], *parts: RenderableType) -> None:
    """Print a result on standard output, for machines or for people."""
    if as_json:
        import orjson

        options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
        sys.stdout.buffer.write(orjson.dumps(value, option=options))
        sys.stdout.buffer.flush()
        return
    from rich.console import Console

    console = Console(highlight=False)
    for part in parts:
        console.print(part, markup=False, soft_wrap=isinstance(part, str))


def end_batch(failures: Sequence[object], exit_status: int) -> None:
    """Tell on standard error what failed, and end with the exit status where it is not 0."""
    for line in failures:
        print(line, file=sys.stderr)
    if exit_status:
        raise typer.Exit(exit_status)


def show_warnings() -> None:
    """Show our warnings, a line each, and keep those of libraries to ourselves."""
    warnings.showwarning = _print_warning
    warnings.simplefilter("always", EdgewattWarning)


def _print_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, EdgewattWarning):
        print(f"warning: {message}", file=sys.stderr)
