from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgewatt.formats import unfinished
from edgewatt.formats.unfinished import finish_unfinished, writing_beside


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def write_and_die(folder: Path, at: str) -> None:
    """Write a folder in a process of its own that is killed at some point."""

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if at == "between the renames":
        unfinished._put_in_place = die  # type: ignore[assignment]
    with writing_beside(folder, keep_others=True) as beside:
        (beside / "a").write_text("2")
        if at == "writing":
            die()


def killed(folder: Path, at: str) -> None:
    process = multiprocessing.get_context("spawn").Process(target=write_and_die, args=(folder, at))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "a").write_text("1")
    (folder / "mine").write_text("1")
    return folder


def test_what_a_killed_writer_left_is_removed(folder: Path) -> None:
    killed(folder, "writing")
    assert len(list(folder.parent.iterdir())) == 2
    finish_unfinished(folder.parent)
    assert contents(folder) == {"a": "1", "mine": "1"}
    assert [path.name for path in folder.parent.iterdir()] == ["net"]


def test_what_only_had_to_take_its_place_takes_it(folder: Path) -> None:
    killed(folder, "between the renames")
    assert not folder.exists()
    finish_unfinished(folder.parent)
    assert contents(folder) == {"a": "2", "mine": "1"}
    assert [path.name for path in folder.parent.iterdir()] == ["net"]


def test_an_interruption_between_the_renames(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, interrupted = unfinished._put_in_place, []

    def interrupt_once(*arguments: object) -> None:
        if not interrupted:
            interrupted.append(1)
            raise KeyboardInterrupt
        whole(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(unfinished, "_put_in_place", interrupt_once)
    with pytest.raises(KeyboardInterrupt), writing_beside(folder, keep_others=True) as beside:
        (beside / "a").write_text("2")
    assert contents(folder) == {"a": "2", "mine": "1"}


def test_what_a_living_process_writes_stays(folder: Path) -> None:
    with writing_beside(folder, keep_others=False) as beside:
        (beside / "a").write_text("2")
        finish_unfinished(folder.parent)
        assert contents(beside) == {"a": "2"}
    assert contents(folder) == {"a": "2"}


def test_a_folder_without_an_owner_stays_for_a_while(tmp_path: Path) -> None:
    hidden = tmp_path / ".writing-x.part"
    hidden.mkdir()
    finish_unfinished(tmp_path)
    assert hidden.exists()
    os.utime(hidden, (0, 0))
    finish_unfinished(tmp_path)
    assert not hidden.exists()
    finish_unfinished(tmp_path / "none")


@contextmanager
def cleaner_first(folder: Path) -> Iterator[None]:
    """Let somebody take each new hidden folder for a dead one's before its writer locks it, once."""
    lock, taken = unfinished._lock, []

    def clean_then_lock(owner: int) -> bool:
        if not taken:
            taken.append(1)
            finish_unfinished(folder)
        return lock(owner)

    unfinished._lock = clean_then_lock
    try:
        yield
    finally:
        unfinished._lock = lock


def test_a_cleaner_that_comes_before_the_lock(folder: Path) -> None:
    with cleaner_first(folder.parent), writing_beside(folder, keep_others=False) as beside:
        (beside / "a").write_text("2")
    assert contents(folder) == {"a": "2"}
    assert [path.name for path in folder.parent.iterdir()] == ["net"]
