from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError, EdgewattWarning
from edgewatt.formats.run_info import FILE_NAME, RunInfo, write_run_info
from edgewatt.recording.staging import check_name, clear_abandoned, is_complete, staging


def _dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_recording_appears_whole(tmp_path: Path) -> None:
    with staging(tmp_path, "net") as stage:
        (stage.recording / "file").write_text("new")
        assert not (tmp_path / "net").exists()
        assert stage.publish() == tmp_path / "net"
    assert [path.name for path in tmp_path.iterdir()] == ["net"]
    assert (tmp_path / "net" / "file").read_text() == "new"


def test_the_one_from_before_stays_until_the_new_one_is_there(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "file").write_text("old")
    with pytest.raises(RuntimeError), staging(tmp_path, "net"):
        raise RuntimeError
    assert (tmp_path / "net" / "file").read_text() == "old"
    with staging(tmp_path, "net") as stage:
        (stage.recording / "file").write_text("new")
        stage.publish()
    assert (tmp_path / "net" / "file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["net"]


def test_what_killed_recorders_left_is_removed_and_what_they_replaced_comes_back(tmp_path: Path) -> None:
    dead, living = tmp_path / f".recording-a-{_dead_pid()}", tmp_path / f".recording-b-{os.getpid()}"
    for folder in (dead / "a", dead / "replaced", living / "b"):
        folder.mkdir(parents=True)
    (dead / "replaced" / "file").write_text("old")
    (tmp_path / ".recording-notes").mkdir()
    with pytest.warns(EdgewattWarning, match="killed before it could be written"):
        clear_abandoned(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"a", living.name, ".recording-notes"}
    assert (tmp_path / "a" / "file").read_text() == "old"


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EdgewattError, match="cannot be written"), staging(tmp_path / "file", "net"):
        pass


def test_complete_recordings_are_told_from_interrupted_and_short_ones(tmp_path: Path) -> None:
    assert not is_complete(tmp_path, "net")
    folder = tmp_path / "net"
    info = RunInfo(model="net", board="b", cycle_start_us=[0, 2], cycle_end_us=[1, 3])
    write_run_info(folder / FILE_NAME, info)
    assert is_complete(tmp_path, "net")
    assert is_complete(tmp_path, "net", 2)
    assert not is_complete(tmp_path, "net", 3)
    write_run_info(folder / FILE_NAME, info.model_copy(update={"interrupted": True}))
    assert not is_complete(tmp_path, "net")
    (folder / FILE_NAME).write_text("{")
    assert not is_complete(tmp_path, "net")
    (folder / FILE_NAME).unlink()
    assert not is_complete(tmp_path, "net")
    (folder / "trt_profiling").mkdir()
    (folder / "trt_profiling" / "trt_layer_latency.json").write_text("{}")
    assert is_complete(tmp_path, "net"), "one of the base method's"


@pytest.mark.parametrize("name", ["a\nb", "", ".hidden", "a/b", "a\0b", "a" * 201])
def test_names_that_are_no_folders_are_refused(name: str) -> None:
    with pytest.raises(EdgewattError, match="cannot be called"):
        check_name(name)
    check_name("resnet18@b4-float16-15W")
