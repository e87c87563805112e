"""Files that are written whole, in the place of files alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.formats.atomic import write_bytes


def test_a_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"before")
    (tmp_path / "link").symlink_to("target")
    write_bytes(tmp_path / "link", b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"after"


def test_a_link_to_nothing_makes_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EdgewattError, match="no ordinary file"):
        write_bytes(tmp_path / "pipe", b"x")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match="a folder lies there"):
        write_bytes(tmp_path, b"x")
