from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import worker_tasks

from edgewatt.errors import EdgewattError, EdgewattWarning, FormatError
from edgewatt.workers.base import Place, TaskFailedError, ThisProcess, map_tasks
from edgewatt.workers.local import LocalProcesses
from edgewatt.workers.places import open_place, usable_cores


@pytest.fixture(scope="module")
def processes() -> Iterator[LocalProcesses]:
    with LocalProcesses(2, 2) as place:
        yield place


@pytest.fixture(params=["here", "beside"])
def place(request: pytest.FixtureRequest, processes: LocalProcesses) -> Place:
    return ThisProcess() if request.param == "here" else processes


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_outcomes_are_in_the_order_of_items(place: Place) -> None:
    begun: list[int] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcomes = list(map_tasks(worker_tasks.slow_first, [0, 1, 2], place, started=begun.append))
    assert [(outcome.item, outcome.result, outcome.error) for outcome in outcomes] == [(n, n, None) for n in range(3)]
    assert begun == [0, 1, 2]
    told = [(str(one.message), one.category) for one in caught]
    assert told == [
        pair for n in range(3) for pair in ((f"task {n}", EdgewattWarning), ("numbers overflow", RuntimeWarning))
    ]


def test_errors_are_the_items_own(place: Place) -> None:
    found = [outcome.error for outcome in map_tasks(worker_tasks.refuse, ["format", "system", "fine", "memory"], place)]
    assert [str(error) for error in found] == [
        "file, line 3: a number is none. Write a number",
        "locked/file: Permission denied. Ask for the right to it, or name another place",
        "None",
        "there is not enough memory. Work on fewer at once: --jobs 1",
    ]
    assert isinstance(found[0], FormatError)
    assert (found[0].what, found[0].where, found[0].fix) == ("a number is none", "file, line 3", "Write a number")


def test_a_mistake_of_the_program_is_told_with_its_traceback(processes: LocalProcesses) -> None:
    with pytest.raises(TaskFailedError, match=r"worker_tasks.py.*\n.*return 1 / number(.|\n)*ZeroDivisionError"):
        list(map_tasks(worker_tasks.divide, [1, 0], processes))
    with pytest.raises(ZeroDivisionError):
        list(map_tasks(worker_tasks.divide, [1, 0], ThisProcess()))


def test_what_worker_processes_find(processes: LocalProcesses) -> None:
    found = [outcome.result for outcome in map_tasks(worker_tasks.surroundings, [1, 2, 3, 4], processes)]
    assert all(one is not None and os.getpid() != one["pid"] for one in found)
    assert len({one["pid"] for one in found if one}) <= 2
    assert {(one["blas_threads"], one["table_threads"], one["interrupt_blocked"]) for one in found if one} == {
        (1, "1", True)
    }


def test_a_killed_worker_costs_its_task_a_second_try(processes: LocalProcesses, tmp_path: Path) -> None:
    outcome = next(map_tasks(worker_tasks.killed_once, [tmp_path], processes))
    assert (outcome.result, outcome.error) == ("alive", None)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_task_that_kills_its_workers(processes: LocalProcesses, tmp_path: Path) -> None:
    outcome = next(map_tasks(worker_tasks.killed_always, [tmp_path], processes))
    assert len(list(tmp_path.iterdir())) == 2
    assert str(outcome.error).startswith("the process that worked on it was ended by SIGKILL, and so did a second one")
    assert [outcome.result for outcome in map_tasks(worker_tasks.double, [1, 2], processes)] == [2, 4]


def test_leaving_early_ends_what_still_runs(tmp_path: Path) -> None:
    with LocalProcesses(2, 2) as place:
        outcomes = place.attempts(worker_tasks.wait_long, [tmp_path, tmp_path], lambda _: None)
        with pytest.raises(TimeoutError), _alarm_when(lambda: len(list(tmp_path.iterdir())) == 2):
            next(outcomes)
        assert list(tmp_path.iterdir()) == []


@contextlib.contextmanager
def _alarm_when(condition: Callable[[], bool]) -> Iterator[None]:
    """Interrupt the block as Ctrl-C would, once a condition holds."""

    def look(*_: object) -> None:
        if condition():
            raise TimeoutError
        signal.setitimer(signal.ITIMER_REAL, 0.05)

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_do_not_outlive_their_parent(tmp_path: Path, number: int) -> None:
    """The script has no guard around its own code, which worker processes therefore must not run."""
    script = tmp_path / "script.py"
    script.write_text(
        "import worker_tasks\nfrom pathlib import Path\n"
        "from edgewatt.workers.base import map_tasks\nfrom edgewatt.workers.places import open_place\n"
        "with open_place(jobs=2) as place:\n"
        "    list(map_tasks(worker_tasks.wait_long, [Path('marks')] * 2, place))\n"
    )
    marks = tmp_path / "marks"
    marks.mkdir()
    path = os.pathsep.join((str(Path(worker_tasks.__file__).parent), os.environ.get("PYTHONPATH", "")))
    parent = subprocess.Popen(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: len(list(marks.iterdir())) == 2)
    pids = [int(mark.name) for mark in marks.iterdir()]
    # Ctrl-C reaches the whole group.
    (os.kill if number == signal.SIGKILL else os.killpg)(parent.pid, number)
    _, told = parent.communicate(timeout=30)
    wait_for(lambda: not any(map(is_alive, pids)))
    assert list(marks.iterdir()) == []
    assert told.count(b"Traceback") == (number == signal.SIGINT)


def test_the_place_that_is_asked_for() -> None:
    assert usable_cores() >= 1
    assert isinstance(open_place(jobs=1), ThisProcess)
    assert isinstance(open_place(jobs=4, tasks=1), ThisProcess)
    assert open_place(jobs=4, tasks=3).jobs == 3
    assert open_place(tasks=100).jobs == min(usable_cores(), 100)
    for wrong in ({"jobs": 0}, {"jobs": 2, "scheduler": "tcp://127.0.0.1:1"}):
        with pytest.raises(EdgewattError):
            open_place(**wrong)  # type: ignore[arg-type]
