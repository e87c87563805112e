"""The program of a worker process: it runs the tasks that it is sent and does not outlive its parent."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import NoReturn

from edgewatt.workers.base import Attempt, safe_attempt

#: How long a task may take to clean up when the parent is gone.
_GRACE_S = 5.0
#: Linux ends the process with the highest score first when memory runs out; it should be a worker, which is replaced.
_OOM_SCORE = "500"


def main(descriptor: int) -> None:
    """Work until the parent closes its end.

    Args:
        descriptor: Our end of the connection, an open file descriptor.
    """
    signal.signal(signal.SIGTERM, _leave)
    sys.unraisablehook = _leave_again
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    connection: Connection[bytes, bytes] = Connection(descriptor)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    while True:
        content = _run(tasks.get())
        try:
            connection.send_bytes(content)
        except OSError:
            sys.exit(1)  # nobody is there to be told


def _run(content: bytes) -> bytes:
    attempt = safe_attempt(_unpack, content)
    try:
        return pickle.dumps(attempt)
    except Exception as error:
        return pickle.dumps(Attempt(bug=f"the result cannot be sent back: {error!r}"))


def _unpack(content: bytes) -> object:
    function, item = pickle.loads(content)
    return function(item)


def _receive(connection: Connection[bytes, bytes], tasks: SimpleQueue[bytes]) -> None:
    """Pass tasks on; where the parent is gone, end this process as SIGTERM would, also in the middle of a task."""
    try:
        while True:
            tasks.put(connection.recv_bytes())
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_GRACE_S)
        os._exit(1)


def _leave_again(raised: sys.UnraisableHookArgs) -> None:
    """Leave at the next moment where the first came while a library could not pass the exception on."""
    if isinstance(raised.exc_value, SystemExit):
        os.kill(os.getpid(), signal.SIGTERM)
    else:
        sys.__unraisablehook__(raised)


def _leave(number: int, _: FrameType | None) -> NoReturn:
    """Leave by an exception, so that half-written files are removed on the way."""
    sys.exit(128 + number)
