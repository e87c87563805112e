"""A real Dask scheduler and two real workers on this machine, one of which is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import worker_tasks
from recordings import contents, simulated_copies, wait_for

from edgewatt.errors import EdgewattError, EdgewattWarning
from edgewatt.mapping.run import map_recordings
from edgewatt.workers.base import TaskFailedError, map_tasks
from edgewatt.workers.places import open_place

pytest.importorskip("distributed", reason="the extra for clusters is not installed")

from edgewatt.workers import cluster_worker
from edgewatt.workers.cluster import _check_software

NAMES = "abcde"


@dataclass(frozen=True)
class Cluster:
    """A scheduler and its workers."""

    address: str
    file: Path
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    path = os.pathsep.join((str(Path(worker_tasks.__file__).parent), os.environ.get("PYTHONPATH", "")))
    processes: list[subprocess.Popen[bytes]] = []

    def start(program: str, *options: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--scheduler-file", str(file), *options]
        quiet = subprocess.DEVNULL
        environment = {**os.environ, "PYTHONPATH": path}
        processes.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet))

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        for _ in range(2):
            start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder))
        wait_for(file.exists)
        yield Cluster(json.loads(file.read_text())["address"], file, processes[1:])
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_tasks_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    with open_place(scheduler=cluster.address) as place, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wait_for(lambda: place.jobs == 2)
        place.check_folders([tmp_path], [tmp_path / "made"])
        assert list((tmp_path / "made").iterdir()) == []
        outcomes = list(map_tasks(worker_tasks.slow_first, [0, 1, 2, 3, 4, 5], place))
        assert [outcome.result for outcome in outcomes] == list(range(6))
        assert [str(one.message) for one in caught if one.category is EdgewattWarning] == [
            f"task {n}" for n in range(6)
        ]
        refused = [str(outcome.error) for outcome in map_tasks(worker_tasks.refuse, ["format", "fine"], place)]
        assert refused == ["file, line 3: a number is none. Write a number", "None"]
        with pytest.raises(TaskFailedError, match="ZeroDivisionError"):
            list(map_tasks(worker_tasks.divide, [0], place))


def test_a_worker_that_is_killed_in_the_middle(cluster: Cluster, tmp_path: Path) -> None:
    raw = simulated_copies(tmp_path / "raw", NAMES, 200)
    map_recordings(raw, tmp_path / "here", jobs=1)
    begun: list[str] = []

    def kill_one(name: str) -> None:
        begun.append(name)
        if len(begun) == len(NAMES):  # two tasks a worker are handed out at first, the fifth when the first has ended
            cluster.workers[0].send_signal(signal.SIGKILL)

    batch = map_recordings(raw, tmp_path / "there", scheduler=cluster.address, progress=kill_one)
    assert cluster.workers[0].wait(10) == -signal.SIGKILL
    assert ([network.model for network in batch.done], batch.failed) == (list(NAMES), {})
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    again = map_recordings(raw, tmp_path / "there", scheduler=str(cluster.file))
    assert again.already == list(NAMES)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "no://127.0.0.1:1", "tcp://127.0.0.1:99999"])
def test_no_scheduler_at_the_address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewatt.workers.cluster._ANSWER_S", 0.5)
    with pytest.raises(EdgewattError, match="no Dask scheduler answers"):
        open_place(scheduler=address)


def test_a_file_that_is_no_scheduler_s(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"model": "lenet"}')
    with pytest.raises(EdgewattError, match="no Dask scheduler answers"):
        open_place(scheduler=str(tmp_path / "run.json"))


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EdgewattError, match=r"pip install 'edgewatt\[cluster\]'"):
        open_place(scheduler="tcp://127.0.0.1:1")


def test_workers_with_other_software() -> None:
    here = cluster_worker.software()
    _check_software("w", here, here)
    for other, told in (
        (replace(here, edgewatt="9.9"), r"runs edgewatt 9\.9 on Python"),
        (replace(here, python="2.7"), r"on Python 2\.7, and here is"),
        (replace(here, source="x"), "runs other code of the same version"),
        (ModuleNotFoundError("No module named 'edgewatt'"), "does not start on the worker: No module named 'edgewatt'"),
    ):
        with pytest.raises(EdgewattError, match=told):
            _check_software("w", other, here)
    with pytest.warns(EdgewattWarning, match="another version of numpy: last digits"):
        _check_software("w", replace(here, numeric={**here.numeric, "numpy": "1.0"}), here)


def test_a_worker_that_came_later_with_other_software() -> None:
    wanted = replace(cluster_worker.software(), source="the client's")
    found = cluster_worker.run_there(wanted, Path.cwd(), worker_tasks.double, 1)
    assert "a worker runs another edgewatt" in str(found.error)


def test_a_folder_that_a_worker_does_not_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_worker, "_SHOW_S", 0.0)
    (tmp_path / "raw" / "a").mkdir(parents=True)
    seen = cluster_worker.Seen(Path("raw"), frozenset("a"))
    assert cluster_worker.unseen(tmp_path, [seen]) is None
    assert cluster_worker.unseen(tmp_path, [replace(seen, names=frozenset("ab"))]) == "raw"
    assert cluster_worker.unseen(tmp_path, [replace(seen, folder=Path("none"))]) == "none"
