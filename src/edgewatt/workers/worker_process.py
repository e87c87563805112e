"""The parent's end of a worker process."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from edgewatt.workers.base import Attempt

#: How long workers have to clean up after what they were doing when they are told to stop.
_GRACE_S = 5.0
#: Libraries of linear algebra read these when they are loaded.
_BLAS_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


class WorkerProcess:
    """A process that runs tasks one after another.

    It is a fresh interpreter, not a fork (which would copy locks that threads hold), and it does not import `__main__`,
    so a script needs no guard around its own code. Ctrl-C is for the parent alone.

    Args:
        table_threads: Threads that polars may use in it; linear algebra gets one.
    """

    def __init__(self, table_threads: int) -> None:
        self.connection: Connection[bytes, bytes]
        self.connection, theirs = Pipe()
        program = f"import sys; sys.path[:] = {sys.path!r}; from edgewatt.workers.child import main; main({{}})"
        threads = {**dict.fromkeys(_BLAS_THREADS, "1"), "POLARS_MAX_THREADS": str(table_threads)}
        # A process inherits the mask of the thread that starts it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", program.format(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **threads},
            )
        finally:
            theirs.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def hand(self, content: bytes) -> None:
        """Send it a pickled task; where it has ended, `receive` tells."""
        with contextlib.suppress(OSError):
            self.connection.send_bytes(content)

    def receive(self) -> Attempt | None:
        """What became of its task, once `connection` is ready; None where the process ended instead."""
        try:
            found: Any = pickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return None
        assert isinstance(found, Attempt)
        return found

    def end(self) -> str:
        """End it at once, which harms nothing between two tasks, and say in words how it ended."""
        self.connection.close()
        self._process.kill()
        status = self._process.wait()
        if status < 0:
            return f"was ended by {signal.Signals(-status).name}"
        return f"ended with status {status}"

    @staticmethod
    def stop_all(workers: Iterable[WorkerProcess]) -> None:
        """End processes in the middle of their tasks, giving all of them together a moment to clean up."""
        stopping = list(workers)
        for worker in stopping:
            worker._process.terminate()
        until = time.monotonic() + _GRACE_S
        for worker in stopping:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker._process.wait(max(0.0, until - time.monotonic()))
            worker.end()
