from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.formats.folders import network_folders, replacing_folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_unfinished_folders_and_files_are_no_networks(tmp_path: Path) -> None:
    for name in ("b", "a", ".writing-x.part", ".recording-a-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("")
    assert [folder.name for folder in network_folders(tmp_path, "map")] == ["a", "b"]


def test_a_missing_folder_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match="Name the folder that `map` wrote"):
        network_folders(tmp_path / "none", "map")


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"x\xff")).mkdir()
    with pytest.raises(EdgewattError, match="name is not UTF-8"):
        network_folders(tmp_path, "map")


@pytest.mark.parametrize("keep_others", [True, False])
def test_a_folder_is_replaced(tmp_path: Path, keep_others: bool) -> None:
    folder = tmp_path / "deep" / "net"
    with replacing_folder(folder, keep_others=keep_others) as beside:
        (beside / "a").write_text("1")
        (beside / "b").write_text("1")
    with replacing_folder(folder, keep_others=keep_others) as beside:
        (beside / "a").write_text("2")
        assert contents(folder) == {"a": "1", "b": "1"}
    assert contents(folder) == ({"a": "2", "b": "1"} if keep_others else {"a": "2"})
    assert [path.name for path in folder.parent.iterdir()] == ["net"]


def test_a_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "a").write_text("1")
    with pytest.raises(ZeroDivisionError), replacing_folder(folder, keep_others=True) as beside:
        (beside / "a").write_text(str(1 // 0))
    assert contents(folder) == {"a": "1"}
    assert [path.name for path in tmp_path.iterdir()] == ["net"]


def test_a_link_keeps_pointing(tmp_path: Path) -> None:
    (tmp_path / "disk" / "net").mkdir(parents=True)
    (tmp_path / "net").symlink_to(tmp_path / "disk" / "net")
    with replacing_folder(tmp_path / "net", keep_others=False) as beside:
        (beside / "a").write_text("1")
    assert (tmp_path / "net").is_symlink()
    assert contents(tmp_path / "disk" / "net") == {"a": "1"}


def test_a_file_is_not_taken_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "net").write_text("mine")
    with (
        pytest.raises(EdgewattError, match="there is a file of that name"),
        replacing_folder(tmp_path / "net", keep_others=True),
    ):
        pass
    assert (tmp_path / "net").read_text() == "mine"
