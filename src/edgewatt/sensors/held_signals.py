"""Signals that wait until what was begun is undone: for settings of a machine that must be put back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ending_signals_raise() -> Iterator[None]:
    """Make signals that would end the process raise SystemExit instead, so that what was begun is undone."""
    replaced = []
    if threading.current_thread() is threading.main_thread():
        replaced = [number for number in _SIGNALS[1:] if signal.getsignal(number) is signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, _raise_exit)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


def _raise_exit(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - what a handler is given
    raise SystemExit(128 + number)


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold signals back for a moment, so that a second Ctrl-C does not leave the settings half written.

    Blocking them would not do: another thread of the process would take them, and Python still run their handlers here.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - what a handler is given
        caught.append(number)

    handlers = {number: signal.signal(number, remember) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if caught:
            signal.raise_signal(caught[0])
