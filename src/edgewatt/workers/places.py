"""The place that a user asks for."""

from __future__ import annotations

import os

from edgewatt.errors import EdgewattError
from edgewatt.workers.base import Place, ThisProcess


def open_place(*, jobs: int | None = None, scheduler: str | None = None, tasks: int | None = None) -> Place:
    """Open the place that tasks run in; close it, or use it as a context manager.

    Args:
        jobs: Tasks at once, each in a process of its own; the cores that this process may use, when None. One job runs
            in this process.
        scheduler: Address of a Dask scheduler (`tcp://host:8786`) or the file that it wrote; its workers run the tasks
            instead.
        tasks: How many tasks there will be at most, where it is known: no more processes than that are started.

    Raises:
        EdgewattError: Both are given, the extra for clusters is missing, or the scheduler does not answer.
    """
    if scheduler is not None:
        if jobs is not None:
            raise EdgewattError(
                "both a number of jobs and a scheduler are given", fix="With --scheduler its workers are the jobs"
            )
        from edgewatt.workers.cluster import DaskCluster

        return DaskCluster(scheduler)
    wanted = usable_cores() if jobs is None else jobs
    if wanted < 1:
        raise EdgewattError(f"{wanted} jobs at once cannot work", fix="Give a number from 1")
    if tasks is not None:
        wanted = min(wanted, tasks)
    if wanted <= 1:
        return ThisProcess()
    from edgewatt.workers.local import LocalProcesses

    return LocalProcesses(wanted, usable_cores())


def usable_cores() -> int:
    """Number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
