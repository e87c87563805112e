"""Work on several networks that goes on after one that is broken, one after another or shared out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from edgewatt.errors import EdgewattError
from edgewatt.workers.base import Place, map_tasks

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass
class Batch(Generic[ResultT]):
    """What became of several networks.

    Attributes:
        done: Results, in order.
        failed: Error of each network that failed, by name.
        already: Names of those in `done` that an earlier run had made from the same, and that were only read.
    """

    done: list[ResultT] = field(default_factory=list)
    failed: dict[str, EdgewattError] = field(default_factory=dict)
    already: list[str] = field(default_factory=list)

    @property
    def exit_status(self) -> int:
        """0 when all went well, 1 when a part failed, 2 when everything did."""
        if not self.failed:
            return 0
        return 1 if self.done else 2


def run_batch(
    items: Iterable[ItemT],
    name_of: Callable[[ItemT], str],
    work: Callable[[ItemT], ResultT],
    progress: Callable[[str], None] | None = None,
) -> Batch[ResultT]:
    """Work on items one after another, keeping the error of one that fails.

    Args:
        items: What to work on.
        name_of: An item's name.
        work: The work on one item.
        progress: Called with each item's name before its turn.
    """
    batch: Batch[ResultT] = Batch()
    for item in items:
        if progress:
            progress(name_of(item))
        try:
            batch.done.append(work(item))
        except EdgewattError as error:
            batch.failed[name_of(item)] = error
        except OSError as error:
            batch.failed[name_of(item)] = EdgewattError.of_system(error)
    return batch


@dataclass(frozen=True)
class Made(Generic[ResultT]):
    """A task's result, and whether an earlier run had made it already."""

    result: ResultT
    already: bool


def run_tasks(
    items: Sequence[ItemT],
    name_of: Callable[[ItemT], str],
    work: Callable[[ItemT], Made[ResultT]],
    place: Place,
    progress: Callable[[str], None] | None = None,
) -> Batch[ResultT]:
    """Work on items somewhere, keeping the error of one that fails; results are in the items' order.

    Args:
        items: What to work on.
        name_of: An item's name.
        work: The work on one item, as `map_tasks` takes it.
        place: Where.
        progress: Called with each item's name when it is handed out.
    """
    batch: Batch[ResultT] = Batch()
    started = None if progress is None else lambda item: progress(name_of(item))
    for outcome in map_tasks(work, items, place, started=started):
        name = name_of(outcome.item)
        if outcome.error is not None:
            batch.failed[name] = outcome.error
        elif outcome.result is not None:
            batch.done.append(outcome.result.result)
            if outcome.result.already:
                batch.already.append(name)
    return batch
