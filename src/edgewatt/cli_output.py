"""What all commands share: options, and how results, failures and warnings are shown."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgewatt.errors import EdgewattError, EdgewattWarning, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Track = Annotated[str | None, typer.Option(help="MLflow that keeps the predictors; MLFLOW_TRACKING_URI if not given.")]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Networks at once, each in a process of its own; by default one for each core."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Let the workers of this Dask scheduler do the work: tcp://HOST:PORT, or the file that it wrote.",
    ),
]
Redo = Annotated[bool, typer.Option("--redo", help="Do again what was done already, from the same input.")]
Networks = Annotated[
    list[str] | None, typer.Option(help="Only these networks: names separated by commas, or the option repeated.")
]


def split(values: Sequence[str] | None) -> list[str]:
    """Values of an option that was repeated, or given several separated by commas."""
    parts = [part.strip() for value in values or () for part in value.split(",") if part.strip()]
    if values and not parts:
        raise EdgewattError("an option that names something names nothing", fix="Leave it out, or give it a value")
    return parts


def refuse_given(context: typer.Context, names: Sequence[str], why: str, fix: str) -> None:
    """Refuse options that would have no effect.

    Args:
        context: Of the command.
        names: Its parameters that have none here.
        why: What they are of, behind the options' names.
        fix: What to do.

    Raises:
        EdgewattError: The command line gives one of them.
    """
    options = {option.name: "/".join([*option.opts, *option.secondary_opts]) for option in context.command.params}
    # By name, as versions of Typer have the enumeration in different places.
    sources = {name: context.get_parameter_source(name) for name in names}
    given = [options[name] for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if given:
        raise EdgewattError(f"{', '.join(given)} {'is' if len(given) == 1 else 'are'} {why}", fix=fix)


def show(as_json: bool, value: dict[str, Any], *parts: RenderableType) -> None:
    """Print a result on standard output, for machines or for people."""
    if as_json:
        import orjson

        options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
        try:
            content = orjson.dumps(value, option=options)
        except TypeError as error:
            raise EdgewattError(
                f"the result cannot be JSON: {error}", fix="Give files and folders names that are UTF-8"
            ) from error
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    from rich.console import Console

    console = Console(highlight=False)
    for part in parts:
        _print_part(console, part)


def _print_part(console: Console, part: RenderableType) -> None:
    """Print text or a table; a table that does not fit breaks its lines, and no number is cut."""
    from rich.measure import Measurement
    from rich.text import Text

    from edgewatt.reports.fitting_table import FittingTable

    if isinstance(part, str | Text):
        console.print(part, markup=False, soft_wrap=True)
        return
    table = part.fitted(console, console.width) if isinstance(part, FittingTable) else part
    needed = Measurement.get(console, console.options.update(width=1000), table).minimum
    console.print(table, markup=False, width=max(console.width, needed))


def exit_status(app: Callable[[], object]) -> int:
    """Run the command line and return its exit status; bad input ends with one line, never with a traceback."""
    _open_streams()
    status = _status(app)
    try:
        sys.stdout.flush()
    except OSError as error:
        status = status or _refused(error)
        # Python flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _status(app: Callable[[], object]) -> int:
    try:
        app()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except EdgewattError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        return _refused(error)
    except MemoryError as error:
        print(f"error: {EdgewattError(f'not enough memory: {error}', fix='Take fewer cycles')}", file=sys.stderr)
        return 2
    return 0


def _refused(error: OSError) -> int:
    """Say what the system refused; a reader of standard output that has seen enough needs no word."""
    if isinstance(error, BrokenPipeError):
        return 1
    where = "standard output" if error.filename is None else error.filename
    print(f"error: {EdgewattError.of_system(error, where=where)}", file=sys.stderr)
    return 2


def _open_streams() -> None:
    """Let standard output and error take any text, also where they were closed."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  # stays open to the end
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def tell_already(done: str, networks: Sequence[str]) -> None:
    """Tell on standard error which networks an earlier run had done already; `done` is the verb."""
    if networks:
        print(f"already {done}: {printable(', '.join(networks))} (--redo does it again)", file=sys.stderr)


def end_batch(failures: Sequence[object], status: int) -> None:
    """Tell on standard error what failed, and end with the exit status where it is not 0."""
    for line in failures:
        print(line, file=sys.stderr)
    if status:
        raise typer.Exit(status)


def show_warnings() -> None:
    """Show our warnings, a line each, and keep those of libraries to ourselves."""
    warnings.showwarning = _print_warning
    warnings.simplefilter("always", EdgewattWarning)


def _print_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, EdgewattWarning):
        print(f"warning: {message}", file=sys.stderr)
