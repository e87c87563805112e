"""Tasks for tests; worker processes import them from here."""

from __future__ import annotations

import os
import signal
import time
import warnings
from pathlib import Path

from edgewatt.errors import FormatError, warn


def double(number: int) -> int:
    """The quick task."""
    return 2 * number


def slow_first(number: int) -> int:
    """Ends long after the others where the number is 0."""
    time.sleep(0.5 if number == 0 else 0.0)
    warn(f"task {number}")
    warnings.warn("numbers overflow", RuntimeWarning, stacklevel=1)
    return number


def refuse(what: str) -> str:
    """Fails in every way that is a user's to put right."""
    if what == "format":
        raise FormatError("a number is none", where="file, line 3", fix="Write a number")
    if what == "system":
        raise PermissionError(13, "Permission denied", "locked/file")
    if what == "memory":
        raise MemoryError("no 5 TiB")
    return what


def divide(number: int) -> float:
    """Has a mistake in it for 0."""
    return 1 / number


def killed(marks: Path, times: int) -> str:
    """Is killed the first `times` times that it runs; leaves a mark each time."""
    (marks / f"{time.monotonic_ns()}").touch()
    if len(list(marks.iterdir())) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def killed_once(marks: Path) -> str:
    """The first worker dies."""
    return killed(marks, 1)


def killed_always(marks: Path) -> str:
    """Every worker dies."""
    return killed(marks, 99)


def wait_long(folder: Path) -> None:
    """Says which process it runs in, works for a minute, and cleans up after itself."""
    mark = folder / f"{os.getpid()}"
    try:
        mark.touch()
        time.sleep(60)
    finally:
        mark.unlink(missing_ok=True)


def surroundings(_: int) -> dict[str, object]:
    """What a worker process finds."""
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return {
        "pid": os.getpid(),
        "blas_threads": max(pool["num_threads"] for pool in threadpool_info()),
        "table_threads": os.environ["POLARS_MAX_THREADS"],
        "interrupt_blocked": signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()),
    }
