"""Progress on standard error, off where nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


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
            progress.update(identifier, description=f"{task} {name}", advance=1 if begun else 0)
            begun = True

        yield step
