from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgewatt.recording import settling
from edgewatt.recording.environment import Clock, Environment
from edgewatt.recording.signals import StopRequest


class _Board:
    """A board whose state is told in turn, the last one for ever, on a clock that sleeping moves on."""

    def __init__(self, states: list[Environment], patch: pytest.MonkeyPatch) -> None:
        self.now, self.states = 0.0, states
        patch.setattr(settling, "read_environment", lambda _: self._read())
        patch.setattr(settling.time, "monotonic", lambda: self.now)
        patch.setattr(settling.time, "sleep", self._sleep)

    def _read(self) -> Environment:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def _sleep(self, duration_s: float) -> None:
        self.now += duration_s


def _at(celsius: float, highest: float = 1000.0) -> Environment:
    return Environment("board", temperatures={"cpu": celsius}, gpu_clocks={"gpu": Clock(0.0, highest)})


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as one:
        yield one


def test_a_steady_board_is_waited_for_no_longer_than_was_asked(patch: pytest.MonkeyPatch) -> None:
    board = _Board([_at(40.0)], patch)
    settling.settle(Path("/"), 30.0, StopRequest())
    assert board.now == pytest.approx(30.0, abs=0.3)


def test_a_board_that_cools_is_waited_for_until_ten_seconds_change_nothing(patch: pytest.MonkeyPatch) -> None:
    board = _Board([_at(celsius) for celsius in (60, 55, 51, 48, 46, 45.5)], patch)
    settling.settle(Path("/"), 20.0, StopRequest())
    assert board.now == pytest.approx(50.0, abs=0.6)


def test_a_clock_whose_limit_still_changes_is_waited_for(patch: pytest.MonkeyPatch) -> None:
    board = _Board([_at(40.0), _at(40.0, 600.0)], patch)
    settling.settle(Path("/"), 10.0, StopRequest())
    assert board.now == pytest.approx(20.0, abs=0.3)


def test_a_board_that_never_settles_is_waited_for_five_times_as_long(patch: pytest.MonkeyPatch) -> None:
    board = _Board([_at(40.0 + 5 * (index % 2)) for index in range(100)], patch)
    settling.settle(Path("/"), 20.0, StopRequest())
    assert board.now == pytest.approx(100.0, abs=1.5)


def test_a_stop_and_no_time_at_all_end_the_waiting_at_once(patch: pytest.MonkeyPatch) -> None:
    board = _Board([_at(40.0), _at(60.0)], patch)
    settling.settle(Path("/"), 0.0, StopRequest())
    stopping = StopRequest()
    stopping.by = "SIGINT"
    settling.settle(Path("/"), 60.0, stopping)
    assert board.now == 0.0
