"""A progress function that sends this process a signal, once."""

from __future__ import annotations

import os
import signal
import threading


class Interruption:
    """Sends a signal once some cycles are done.

    Args:
        number: The signal.
        cycles: So many.
        after_s: How long after that.
    """

    def __init__(self, number: signal.Signals, cycles: int, after_s: float = 0.0) -> None:
        self.number, self.cycles, self.after_s, self.sent = number, cycles, after_s, False

    def __call__(self, what: str, done: int) -> None:
        if what == "running" and done >= self.cycles and not self.sent:
            self.sent = True
            if self.after_s:
                threading.Timer(self.after_s, self._send).start()
            else:
                self._send()

    def _send(self) -> None:
        os.kill(os.getpid(), self.number)
