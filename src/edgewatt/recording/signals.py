"""Ctrl-C and SIGTERM as something that is asked for, so that what was recorded can be written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Whether the user asked to stop.

    Attributes:
        by: Name of the signal; None where nobody asked.
    """

    def __init__(self) -> None:
        self.by: str | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - what a handler is given
        """Note a signal; a second Ctrl-C does not wait for anything."""
        if self.by is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.by = signal.Signals(number).name


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Take signals that would end the process as requests, for the time of a block in the main thread.

    A block inside of another one passes a request on to it when it ends.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    # What is ignored stays ignored: under nohup a terminal that closes must not end a recording.
    taken = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, request.handle) for number in taken}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
            outer = getattr(handler, "__self__", None)
            if isinstance(outer, StopRequest):
                outer.by = outer.by or request.by
