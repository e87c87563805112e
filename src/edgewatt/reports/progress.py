"""Progress on standard error, off where nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from edgewatt.errors import printable


@contextmanager
def progress_bar(task: str, total: int | None = None) -> Iterator[Callable[[str], None]]:
    """Show a bar while a block works.

    Args:
        task: What is being done, as a participle: "Mapping".
        total: Number of steps, where it is known.

    Yields:
        A function to call with each step's name before its turn.
    """
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        identifier = progress.add_task(task, total=total)
        begun = False

        def step(name: str) -> None:
            nonlocal begun
            progress.update(identifier, description=escape(printable(f"{task} {name}")), advance=1 if begun else 0)
            begun = True

        yield step


@contextmanager
def seconds_bar(task: str, total_s: float) -> Iterator[Callable[[float], None]]:
    """Show a bar of seconds; yields a function to call with the seconds that are done."""
    with _bar(TextColumn("{task.completed:.0f}/{task.total:.0f} s")) as progress:
        identifier = progress.add_task(task, total=total_s)
        yield lambda seconds: progress.update(identifier, completed=seconds)


@contextmanager
def cycles_bar(cycles: int) -> Iterator[Callable[[str, int], None]]:
    """Show a bar of cycles; yields a function to call with what is being done and the cycles that are done."""
    with _bar(MofNCompleteColumn()) as progress:
        identifier = progress.add_task("Recording", total=cycles)
        yield lambda stage, done: progress.update(identifier, description=stage.capitalize(), completed=done)


@contextmanager
def steps_bar(task: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar of steps; yields a function to call with what is done, how much of it is, and how much there is."""
    with _bar(MofNCompleteColumn()) as progress:
        identifier = progress.add_task(task, total=None)
        yield lambda stage, done, total: progress.update(
            identifier, description=f"{task}: {stage}", completed=done, total=total
        )


def _bar(count: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
