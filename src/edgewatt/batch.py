"""Work on several networks that goes on after one that is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from edgewatt.errors import EdgewattError

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass
class Batch(Generic[ResultT]):
    """What became of several networks.

    Attributes:
        done: Results, in order.
        failed: Error of each network that failed, by name.
    """

    done: list[ResultT] = field(default_factory=list)
    failed: dict[str, EdgewattError] = field(default_factory=dict)

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
