"""The workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from edgewatt.errors import EdgewattError, warn
from edgewatt.extras import check_extra
from edgewatt.workers import cluster_worker
from edgewatt.workers.base import Attempt, Place
from edgewatt.workers.cluster_worker import Seen, Software

#: How long the scheduler may take to answer, and the first worker to be there.
_ANSWER_S = 10.0
#: How long a goodbye to a scheduler that is gone may take.
_GOODBYE_S = 2.0
#: Tasks handed out for each thread of a worker: the next one is there when one ends.
_AHEAD = 2
_START = "Start one with `dask scheduler`; it prints its address, like tcp://host:8786"


class DaskCluster(Place):
    """The workers of a scheduler that somebody started.

    Tasks of a worker that is lost run again on another; Dask gives a task up when it has lost a number of workers
    (`distributed.scheduler.allowed-failures`, 3 unless the scheduler is told otherwise).

    Args:
        address: The scheduler's address, `tcp://host:8786`, or the file that it wrote (`dask scheduler
            --scheduler-file`).

    Raises:
        EdgewattError: The extra is missing, the scheduler does not answer or has no worker, or a worker runs another
            edgewatt or Python.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = _connect(address)
        self._software = cluster_worker.software()
        try:
            self._check_workers()
        except BaseException:
            self.close()
            raise

    @property
    def jobs(self) -> int:
        """Number of workers: each runs one task at a time, whatever its number of threads."""
        return len(self._workers())

    def attempts(
        self, function: Callable[[Any], Any], items: Sequence[Any], started: Callable[[int], None]
    ) -> Generator[tuple[int, Attempt], None, None]:
        """Run the tasks; arguments as for every place."""
        from distributed import as_completed

        indices: dict[str, int] = {}
        waiting = iter(range(len(items)))
        run = uuid.uuid4().hex
        ended = as_completed([], loop=self._client.loop, with_results=True, raise_errors=False)
        futures: dict[int, Any] = {}

        def hand_out() -> None:
            while len(futures) < max(1, _AHEAD * self.jobs) and (index := next(waiting, None)) is not None:
                started(index)
                future = self._client.submit(
                    cluster_worker.run_there,
                    self._software,
                    Path.cwd(),
                    function,
                    items[index],
                    key=f"edgewatt-{run}-{index}",
                    pure=False,
                )
                indices[future.key], futures[index] = index, future
                ended.add(future)

        try:
            hand_out()
            while futures:
                future, result = next(ended)
                index = indices[future.key]
                del futures[index]
                found = self._found(future, result)
                hand_out()
                yield index, found
        finally:
            self._client.cancel(list(futures.values()), force=True)

    def check_folders(self, reads: Sequence[Path], writes: Sequence[Path]) -> None:
        """Check that every worker sees the same folders as this machine; arguments as for every place."""
        for folder in writes:
            folder.mkdir(parents=True, exist_ok=True)
        tokens = [folder / f".seen-by-workers-{uuid.uuid4().hex}.part" for folder in writes]
        try:
            for token in tokens:
                token.touch()
            folders = [Seen(folder, frozenset(path.name for path in folder.iterdir())) for folder in reads]
            folders += [Seen(token.parent, frozenset((token.name,))) for token in tokens]
            answers = self._client.run(cluster_worker.unseen, Path.cwd(), folders, on_error="return")
        finally:
            for token in tokens:
                token.unlink(missing_ok=True)
        for worker, answer in answers.items():
            if answer is not None:
                raise EdgewattError(
                    f"the worker {worker} does not see the folder as it is here",
                    where=answer,
                    fix="Workers need a file system that they share with this machine, under the same path",
                )

    def close(self) -> None:
        """Let go of the scheduler; its workers stay."""
        with contextlib.suppress(TimeoutError):
            self._client.close(timeout=_GOODBYE_S)

    def _workers(self) -> dict[str, Any]:
        workers: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return workers

    def _check_workers(self) -> None:
        from distributed import TimeoutError as DaskTimeoutError

        try:
            self._client.wait_for_workers(1, timeout=_ANSWER_S)
        except (TimeoutError, DaskTimeoutError) as error:
            raise EdgewattError(
                "the scheduler has no worker", where=self._address, fix=f"Start some: dask worker {self._address}"
            ) from error
        answers = self._client.run(cluster_worker.software, on_error="return")
        for worker, found in answers.items():
            _check_software(worker, found, self._software)
        threads = max(int(worker["nthreads"]) for worker in self._workers().values())
        if threads > 1:
            warn(
                f"a worker has {threads} threads, and works on one task at a time all the same",
                where=self._address,
                fix="Start one worker a core: dask worker --nworkers N --nthreads 1",
            )

    def _found(self, future: Any, result: Any) -> Attempt:
        if future.status == "finished":
            assert isinstance(result, Attempt)
            return result
        if future.status == "error":
            error = result[1] if isinstance(result, tuple) else result
            return _lost(error)
        raise EdgewattError("the scheduler is gone", where=self._address, fix="Start it again, and run this again")


def _connect(address: str) -> Any:
    check_extra("distributed", "cluster", "a cluster needs Dask, which is not installed")
    from distributed import Client
    from distributed.comm import get_address_host_port

    _silence()
    if not address.strip():
        raise EdgewattError("the scheduler has no address", fix=_START)
    try:
        if Path(address).is_file():
            return Client(scheduler_file=address, timeout=_ANSWER_S, set_as_default=False)
        _, port = get_address_host_port(address)
        if not 0 < port < 2**16:
            raise ValueError(f"there is no port {port}")
        return Client(address, timeout=_ANSWER_S, set_as_default=False)
    # What is no scheduler answers anything, and Dask takes it for its own: there is no common kind of error.
    except Exception as error:
        told = str(error).splitlines() or [type(error).__name__]
        raise EdgewattError(f"no Dask scheduler answers: {told[0]}", where=address, fix=_START) from error


def _silence() -> None:
    """Keep Dask's log, which tells of a lost worker in pages, to itself; each part of it has a level of its own."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _check_software(worker: str, found: Any, wanted: Software) -> None:
    if not isinstance(found, Software):
        raise EdgewattError(
            f"edgewatt does not start on the worker: {found}",
            where=worker,
            fix="Install the same edgewatt on all workers",
        )
    here, there = f"{wanted.edgewatt} on Python {wanted.python}", f"{found.edgewatt} on Python {found.python}"
    if here != there or found.source != wanted.source:
        other = f"runs edgewatt {there}, and here is {here}" if here != there else "runs other code of the same version"
        raise EdgewattError(
            f"the worker {other}", where=worker, fix="Install the same on all machines, and start the workers again"
        )
    differing = [name for name, number in wanted.numeric.items() if found.numeric[name] != number]
    if differing:
        warn(
            f"the worker has another version of {', '.join(differing)}: last digits of results may differ", where=worker
        )


def _lost(error: BaseException) -> Attempt:
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        return Attempt(
            error=EdgewattError(
                "every worker that worked on it was lost",
                fix="It may need more memory than a worker has (--memory-limit), or take fewer cycles",
            )
        )
    return Attempt(bug=f"{type(error).__name__}: {error}")
