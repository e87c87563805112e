"""Tasks that run somewhere: what a place is, and the one way to use it, `map_tasks`."""

from __future__ import annotations

import contextlib
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from typing_extensions import Self

from edgewatt.errors import EdgewattError

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Outcome(Generic[ItemT, ResultT]):
    """What became of one task: `error` is None where it went well, and `result` is None where it did not.

    Attributes:
        item: What the task was given.
        result: What it returned.
        error: What went wrong.
    """

    item: ItemT
    result: ResultT | None
    error: EdgewattError | None = None


@dataclass(frozen=True)
class CaughtWarning:
    """A warning on its way from where the task ran to the user."""

    message: str
    category: type[Warning]
    filename: str
    line: int


@dataclass(frozen=True)
class Attempt:
    """What a task left behind where it ran; it is pickled on its way back.

    Attributes:
        result: What the task returned.
        error: What a user can put right.
        bug: The traceback of any other exception: a mistake in the program.
        warnings: Its warnings, in order.
    """

    result: Any = None
    error: EdgewattError | None = None
    bug: str | None = None
    warnings: tuple[CaughtWarning, ...] = ()


class TaskFailedError(RuntimeError):
    """A task failed by a mistake in the program; its text is the traceback from where it ran."""


class Place(ABC):
    """Where tasks run. It is a context manager, and may be used for many rounds of tasks while it is open."""

    @property
    @abstractmethod
    def jobs(self) -> int:
        """How many tasks run at once."""

    @abstractmethod
    def attempts(
        self, function: Callable[[Any], Any], items: Sequence[Any], started: Callable[[int], None]
    ) -> Generator[tuple[int, Attempt], None, None]:
        """Run a task for each item.

        Args:
            function: What to run; importable by its name where the tasks run, or a `functools.partial` of such.
            items: What to give it, one a task.
            started: Called with an item's index when its task is handed out.

        Yields:
            Index and attempt of each item once, as they end.
        """

    def check_folders(self, reads: Sequence[Path], writes: Sequence[Path]) -> None:  # noqa: B027  # most see them
        """Check that the tasks will see folders of this machine.

        Args:
            reads: Folders that tasks read.
            writes: Folders that they write to; made where they are missing.

        Raises:
            EdgewattError: They do not.
        """

    def close(self) -> None:  # noqa: B027  # most have nothing to free
        """End what the place started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ThisProcess(Place):
    """One task after another, here."""

    @property
    def jobs(self) -> int:
        """One."""
        return 1

    def attempts(
        self, function: Callable[[Any], Any], items: Sequence[Any], started: Callable[[int], None]
    ) -> Generator[tuple[int, Attempt], None, None]:
        """Run the tasks in order; arguments as for every place."""
        for index, item in enumerate(items):
            started(index)
            yield index, attempt(function, item)


def map_tasks(
    function: Callable[[ItemT], ResultT],
    items: Sequence[ItemT],
    place: Place,
    *,
    started: Callable[[ItemT], None] | None = None,
) -> Iterator[Outcome[ItemT, ResultT]]:
    """Run a function on each item, somewhere, going on after one that fails.

        with open_place(jobs=jobs, scheduler=scheduler) as place:
            for outcome in map_tasks(score, trials, place):
                ...

    Function, items and results are pickled on their way. The function is a public or private one of a module that can
    be imported where tasks run (not of `__main__`), or a `functools.partial` of one. Leaving the iterator early, or an
    exception in the loop, ends the tasks that still run.

    Args:
        function: The work on one item.
        items: The items.
        place: Where: from `edgewatt.workers.places.open_place`.
        started: Called with each item when its task is handed out.

    Yields:
        Outcomes in the order of `items`, each as soon as it and all before it are known. An `EdgewattError`, a refusal
        of the operating system, a lack of memory and the death of a worker are outcomes with an error; warnings of a
        task are given again here, once, just before its outcome.

    Raises:
        TaskFailedError: A task failed by a mistake in the program.
    """
    known: dict[int, Attempt] = {}
    following = 0

    def tell(index: int) -> None:
        if started is not None:
            started(items[index])

    with contextlib.closing(place.attempts(function, items, tell)) as attempts:
        for index, found in attempts:
            known[index] = found
            while following in known:
                yield _outcome(items[following], known.pop(following))
                following += 1


def _outcome(item: ItemT, found: Attempt) -> Outcome[ItemT, Any]:
    for told in found.warnings:
        warnings.warn_explicit(told.message, told.category, told.filename, told.line)
    if found.bug is not None:
        raise TaskFailedError(f"a task failed:\n{found.bug}")
    return Outcome(item, found.result, found.error)


def attempt(function: Callable[[Any], Any], item: Any) -> Attempt:
    """Run a task here and catch what it leaves behind, but no mistake of the program; for places.

    Args:
        function: The work.
        item: What to work on.
    """
    result, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(item)
        except EdgewattError as refused:
            error = refused
        except MemoryError:
            error = EdgewattError("there is not enough memory", fix="Work on fewer at once: --jobs 1")
        except OSError as refused:
            error = EdgewattError.of_system(refused)
    told = tuple(CaughtWarning(str(one.message), one.category, one.filename, one.lineno) for one in caught)
    return Attempt(result, error, warnings=told)


def safe_attempt(function: Callable[[Any], Any], item: Any) -> Attempt:
    """Run a task where no other exception than an exit may leave it: away from the user's process."""
    try:
        return attempt(function, item)
    except Exception:
        return Attempt(bug=traceback.format_exc())
