"""What a folder of data holds, and remotes by name and address."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.versioning.contents import data_set
from edgewatt.versioning.dvc import Dvc, check_dvc
from edgewatt.versioning.remotes import Remote, chosen_remote, is_address, without_credentials
from edgewatt.versioning.transfer import pull_data, push_data
from recording_builder import RecordingBuilder
from small_training import write_training_data


def test_the_stage_is_what_most_folders_are(tmp_path: Path) -> None:
    data = write_training_data(tmp_path / "training", "abc")
    (data / "notes").mkdir()
    found = data_set(data)
    assert (found.stage, found.networks, found.others) == ("training", ("a", "b", "c"), ("notes",))
    assert str(found) == "training tables of 3 networks; nothing in notes"


def test_recordings_in_the_base_format(tmp_path: Path) -> None:
    RecordingBuilder(tmp_path / "raw", "net").write()
    assert str(data_set(tmp_path / "raw")) == "1 recording"


def test_remotes_by_name_and_by_address(tmp_path: Path) -> None:
    dvc = Dvc(tmp_path, {"core.remote": "backup", "remote.backup.url": "s3://bucket/x", "remote.disk.url": "../disk"})
    assert chosen_remote(dvc, None) == (Remote("backup", "s3://bucket/x"), [])
    # DVC keeps paths relative to its configuration.
    disk = Remote("disk", str(tmp_path / "disk"))
    assert chosen_remote(dvc, "disk") == chosen_remote(dvc, str(tmp_path / "disk")) == (disk, [])
    with pytest.raises(EdgewattError, match=r"no remote 'other'.*backup \(s3://bucket/x\)"):
        chosen_remote(dvc, "other")
    with pytest.raises(EdgewattError, match="no default remote"):
        chosen_remote(Dvc(tmp_path), None)


@pytest.mark.parametrize("remote", [None, "", "  ", "backup"])
def test_a_remote_that_nothing_knows_makes_no_repository(tmp_path: Path, remote: str | None) -> None:
    RecordingBuilder(tmp_path / "raw", "net").write()
    with pytest.raises(EdgewattError, match="remote"):
        push_data(tmp_path / "raw", remote)
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_a_pointer_that_says_nothing_is_not_pulled(tmp_path: Path) -> None:
    (tmp_path / "raw.dvc").write_text("")
    with pytest.raises(EdgewattError, match=r"raw\.dvc says of no data"):
        pull_data(tmp_path / "raw", str(tmp_path / "remote"))
    assert [path.name for path in tmp_path.iterdir()] == ["raw.dvc"]


def test_a_new_address_gets_a_name_and_a_password_stays_here(tmp_path: Path) -> None:
    url = "s3://bucket/data"
    assert chosen_remote(Dvc(tmp_path), url) == (
        Remote("edgewatt", url),
        [["remote", "add", "--default", "edgewatt", url]],
    )
    taken = Dvc(tmp_path, {"core.remote": "edgewatt", "remote.edgewatt.url": "s3://other"})
    secret = "https://me:secret@host/data"
    remote, commands = chosen_remote(taken, secret)
    assert commands == [["remote", "add", "--local", "edgewatt-2", secret]]
    assert str(remote) == "edgewatt-2 (https://host/data)"


def test_addresses_and_names() -> None:
    addresses = ["s3://bucket/path", "https://host/x.dvc", "../remote", "/data", "ssh://me@host/path", "."]
    assert all(map(is_address, addresses))
    assert not any(map(is_address, ["origin", "my-remote", "remote.2"]))


def test_passwords_are_not_shown() -> None:
    assert without_credentials("https://me:secret@host/x") == "https://host/x"
    assert without_credentials("s3://bucket/a@b") == "s3://bucket/a@b"


def test_without_dvc_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EdgewattError, match=r"pip install 'edgewatt\[data\]'"):
        check_dvc()
