from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from edgewatt.recording.signals import stop_requests


def _send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    assert {number: signal.getsignal(number) for number in before} == before, "handlers are put back"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_a_request(number: signal.Signals) -> None:
    with stop_requests() as request:
        assert request.by is None
        _send(number)
        assert request.by == number.name


def test_a_second_ctrl_c_does_not_wait() -> None:
    with stop_requests():
        _send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            _send(signal.SIGINT)


def test_an_inner_block_passes_a_request_on() -> None:
    with stop_requests() as outer:
        with stop_requests() as inner:
            _send(signal.SIGTERM)
            assert (inner.by, outer.by) == ("SIGTERM", None)
        assert outer.by == "SIGTERM"
        with stop_requests() as later:
            pass
        assert later.by is None
    with stop_requests() as calm, stop_requests():
        pass
    assert calm.by is None


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_requests() as request:
            _send(signal.SIGHUP)
            assert request.by is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_take_no_signals() -> None:
    seen: list[object] = []

    def work() -> None:
        with stop_requests() as request:
            seen.extend([request.by, signal.getsignal(signal.SIGTERM)])

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [None, before]
