"""Data sets pushed to and pulled from a real DVC remote, a folder."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from edgewatt.cli import app
from edgewatt.errors import EdgewattError
from edgewatt.versioning.dvc import DvcError
from edgewatt.versioning.transfer import pull_data, push_data
from small_training import write_training_data

pytest.importorskip("dvc")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_pushed_without_git_and_pulled_elsewhere(tmp_path: Path) -> None:
    """Other folder, same bytes; what was changed there is not written over, and half a data set is none."""
    here, there, remote = tmp_path / "here", tmp_path / "there", tmp_path / "remote"
    data = write_training_data(here / "training_data", "ab")
    done = push_data(data, str(remote))
    assert (done.contents.stage, done.contents.networks, done.is_new) == ("training", ("a", "b"), True)
    assert done.pointer.name == "training_data.dvc"
    assert "analytics = false" in (here / ".dvc" / "config").read_text()

    there.mkdir()
    shutil.copy(done.pointer, there)
    pulled = there / "training_data"
    assert pull_data(pulled, str(remote)).contents.networks == ("a", "b")
    assert contents(pulled) == contents(data)

    changed = pulled / "a" / "convolutional.csv"
    changed.write_text("mine")
    with pytest.raises(EdgewattError, match=r"changed here.*a/convolutional.csv.*--force"):
        pull_data(pulled)
    assert changed.read_text() == "mine"
    pull_data(pulled, force=True)
    assert contents(pulled) == contents(data)

    # A remote that lost a part, as an interrupted push leaves it: nothing is touched, and the rest comes later.
    lost = next(path for path in remote.rglob("*") if path.is_file() and path.suffix != ".dir")
    lost.rename(tmp_path / "lost")
    shutil.rmtree(there / ".dvc" / "cache")
    shutil.rmtree(pulled)
    with pytest.raises(DvcError, match="fail"):
        pull_data(pulled)
    assert not pulled.exists()
    (tmp_path / "lost").rename(lost)
    pull_data(pulled)
    assert contents(pulled) == contents(data)


def test_a_clone_pulls_revisions(tmp_path: Path) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    data = write_training_data(origin / "data" / "training", "a")
    git(tmp_path, "init", "--quiet", str(origin))
    ended = CliRunner().invoke(app, ["data", "push", str(data), "--remote", str(tmp_path / "remote"), "--json"])
    told = json.loads(ended.stdout)
    assert (told["stage"], told["networks"], told["address"]) == ("training", ["a"], str(tmp_path / "remote"))
    # The repository is at the top of git's, the data is not in git, and what stands for it is.
    assert told["repository"] == str(origin)
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "--message", "first")
    first = contents(data)
    write_training_data(data, "b")
    push_data(data)
    git(origin, "commit", "--quiet", "--all", "--message", "second")

    git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    pulled = clone / "data" / "training"
    assert not pulled.exists()
    assert pull_data(pulled).contents.networks == ("a", "b")
    assert contents(pulled) == contents(data)
    # Back to the first, which needs no force: what is here was pushed.
    assert pull_data(pulled, rev="HEAD~1").contents.networks == ("a",)
    assert contents(pulled) == first
    pointer = (clone / "data" / "training.dvc").read_bytes()
    with pytest.raises(EdgewattError, match="not in the revision 'nowhere'"):
        pull_data(pulled, rev="nowhere")
    assert (clone / "data" / "training.dvc").read_bytes() == pointer


def test_a_remote_that_cannot_be_written(tmp_path: Path) -> None:
    data = write_training_data(tmp_path / "training", "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(DvcError, match=r"DVC: .*(file|directory)"):
        push_data(data, str(tmp_path / "file"))


def test_what_is_no_data_set_is_not_pushed(tmp_path: Path) -> None:
    (tmp_path / "photos" / "summer").mkdir(parents=True)
    with pytest.raises(EdgewattError, match="no data set in the base format"):
        push_data(tmp_path / "photos", str(tmp_path / "remote"))
    assert not (tmp_path / ".dvc").exists()
    with pytest.raises(EdgewattError, match="nothing says what belongs in the folder"):
        pull_data(tmp_path / "raw_data")


def test_a_web_server_that_everybody_reads_and_one_that_asks_for_a_password(tmp_path: Path) -> None:
    here, there, remote = tmp_path / "here", tmp_path / "there", tmp_path / "remote"
    data = write_training_data(here / "training", "a")
    pointer = push_data(data, str(remote)).pointer
    there.mkdir()
    shutil.copy(pointer, there)
    with served(remote, password=True) as address, pytest.raises(DvcError, match="password"):
        pull_data(there / "training", address)
    assert not (there / "training").exists()
    with served(remote) as address:
        pull_data(there / "training", address)
    assert contents(there / "training") == contents(data)


@contextmanager
def served(folder: Path, *, password: bool = False) -> Iterator[str]:
    """The address of a web server that serves a folder, or asks for a password."""

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if password:
                self.send_error(401)
            else:
                super().do_GET()

        def do_HEAD(self) -> None:
            if password:
                self.send_error(401)
            else:
                super().do_HEAD()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
