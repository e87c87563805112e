"""A process of our own beside this one: it is given one object, reports events, and does not outlive us.

    parent                                      child
    Child("module", plan)   --- plan -------->  begin()
    send("go")              --- go ---------->  standard input, line by line; its end means that the parent is gone
    events()                <-- {"event": ..}-  one JSON object a line

The child has a session of its own, so that Ctrl-C reaches the parent alone, which then stops it in good order.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, BinaryIO

import orjson
from typing_extensions import Self

#: How often what may have ended is looked at.
POLL_S = 0.05


class Child:
    """The parent's end.

    Args:
        module: The module that is run as the child's program.
        plan: What it is given. It is pickled, which is safe between a process and its own child.
    """

    def __init__(self, module: str, plan: object) -> None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._left_over = b""
        content = pickle.dumps(plan)
        self._write(len(content).to_bytes(8, "little") + content)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, word: str) -> None:
        """Send it a word; nothing happens where it has ended."""
        self._write(f"{word}\n".encode())

    def events(self, timeout_s: float = POLL_S) -> list[dict[str, Any]]:
        """What it has reported since, waiting for at most `timeout_s` where that is nothing yet."""
        output = self._process.stdout
        assert output is not None
        if self._process.poll() is None or self._left_over:
            select.select([output], [], [], timeout_s)
        lines = (self._left_over + _available(output)).split(b"\n")
        self._left_over = lines.pop()
        return [orjson.loads(line) for line in lines if line]

    @property
    def ended(self) -> str | None:
        """How it ended, in words; None while it runs."""
        status = self._process.poll()
        if status is None:
            return None
        if status < 0:
            return f"was ended by {signal.Signals(-status).name}"
        return f"ended with status {status}"

    def stop(self, grace_s: float) -> None:
        """End it: by the end of its standard input, then by SIGTERM, then by SIGKILL."""
        self._close_input()
        if not self._wait(grace_s):
            self._process.terminate()
            if not self._wait(1.0):
                self._process.kill()
                self._process.wait()

    def close(self) -> None:
        """End it at once and free what it used."""
        if self._process.poll() is None:
            self._process.kill()
        self._close_input()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, timeout_s: float) -> bool:
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _write(self, content: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(content)
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # it has ended, which `ended` tells

    def _close_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()


def _available(file: Any) -> bytes:
    """What can be read without waiting."""
    content = b""
    while select.select([file], [], [], 0)[0]:
        part = os.read(file.fileno(), 65536)
        if not part:
            break
        content += part
    return content


class Parent:
    """The child's end.

    Attributes:
        plan: What the parent gave.
    """

    def __init__(self, plan: Any, reports: BinaryIO) -> None:
        self.plan = plan
        self._reports = reports
        self._parent = os.getppid()

    @classmethod
    def begin(cls) -> Parent:
        """Take what the parent gave. Whatever else is printed in this process goes to standard error from here on."""
        size = int.from_bytes(_read_exactly(8), "little")
        plan = pickle.loads(_read_exactly(size))
        reports = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        return cls(plan, reports)

    def report(self, event: str, **details: Any) -> None:
        """Report an event; nothing happens where the parent is gone."""
        with contextlib.suppress(BrokenPipeError):
            self._reports.write(orjson.dumps({"event": event, **details}) + b"\n")

    def is_gone(self) -> bool:
        """Whether the parent has ended or closed our standard input; does not wait, and drops what it sent."""
        if os.getppid() != self._parent:
            return True
        while select.select([0], [], [], 0)[0]:
            if not os.read(0, 4096):
                return True
        return False

    def listen(self, hear: Callable[[str], None], gone: Callable[[], None]) -> None:
        """Hear the parent's words in a thread of its own, and be told when it is gone."""

        def read() -> None:
            left_over = b""
            while part := os.read(0, 4096):
                *words, left_over = (left_over + part).split(b"\n")
                for word in words:
                    hear(word.decode())
            gone()

        threading.Thread(target=read, daemon=True).start()


def end_with_parent() -> None:
    """Have the kernel end this process with its parent, where it can (Linux): native code may hold up any thread."""
    if sys.platform != "linux":
        return
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Wait for something that has to be looked at; whether it came."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _read_exactly(count: int) -> bytes:
    content = b""
    while len(content) < count:
        part = os.read(0, count - len(content))
        if not part:
            sys.exit(1)  # the parent has ended before it gave us anything to do
        content += part
    return content
