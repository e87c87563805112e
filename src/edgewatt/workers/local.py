"""Processes beside this one, as many as there are cores."""

from __future__ import annotations

import pickle
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import wait
from typing import Any

from edgewatt.errors import EdgewattError
from edgewatt.workers.base import Attempt, Place
from edgewatt.workers.worker_process import WorkerProcess

#: A worker that the system ended may be the victim of another program's hunger: its task gets a second chance.
_TRIES = 2


class LocalProcesses(Place):
    """Worker processes on this machine, started when they are needed and kept until the place is closed.

    Args:
        jobs: How many.
        cores: Cores that they share.
    """

    def __init__(self, jobs: int, cores: int) -> None:
        self._jobs = jobs
        self._table_threads = max(1, cores // jobs)
        self._idle: list[WorkerProcess] = []

    @property
    def jobs(self) -> int:
        """The number of processes."""
        return self._jobs

    def attempts(
        self, function: Callable[[Any], Any], items: Sequence[Any], started: Callable[[int], None]
    ) -> Generator[tuple[int, Attempt], None, None]:
        """Run the tasks; arguments as for every place."""
        waiting = deque(range(len(items)))
        busy: dict[Any, tuple[WorkerProcess, int]] = {}
        deaths: Counter[int] = Counter()

        def hand_out() -> None:
            while waiting and len(busy) < self._jobs:
                index = waiting.popleft()
                content = pickle.dumps((function, items[index]))
                if not deaths[index]:
                    started(index)
                worker = self._idle.pop() if self._idle else WorkerProcess(self._table_threads)
                busy[worker.connection] = (worker, index)
                worker.hand(content)

        def collect() -> list[tuple[int, Attempt]]:
            ended = []
            for connection in wait(list(busy)):
                worker, index = busy[connection]
                found = worker.receive()
                del busy[connection]
                if found is not None:
                    self._idle.append(worker)
                    ended.append((index, found))
                    continue
                how = worker.end()
                deaths[index] += 1
                if deaths[index] < _TRIES:
                    waiting.appendleft(index)
                else:
                    ended.append((index, Attempt(error=_killed(how))))
            return ended

        try:
            hand_out()
            while busy:
                ended = collect()
                hand_out()
                yield from ended
        finally:
            WorkerProcess.stop_all(worker for worker, _ in busy.values())

    def close(self) -> None:
        """End the processes."""
        while self._idle:
            self._idle.pop().end()


def _killed(how: str) -> EdgewattError:
    return EdgewattError(
        f"the process that worked on it {how}, and so did a second one",
        fix="It may need more memory than there is: work on fewer at once (--jobs 1), or take fewer cycles",
    )
