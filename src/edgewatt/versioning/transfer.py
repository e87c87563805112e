"""Data sets to and from a DVC remote."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewatt.errors import EdgewattError
from edgewatt.formats.atomic import write_bytes
from edgewatt.versioning.contents import Contents, data_set
from edgewatt.versioning.dvc import Dvc, DvcError, pointer_of
from edgewatt.versioning.remotes import Remote, chosen_remote, refuse_unusable, without_credentials
from edgewatt.versioning.repository import git_top, repository_of


@dataclass(frozen=True)
class Transfer:
    """A data set that was pushed or pulled.

    Attributes:
        folder: The folder.
        contents: What it holds.
        pointer: The small file that stands for it in version control.
        repository: The DVC repository.
        is_new: Whether the repository was made for it.
        remote: Name of the remote.
        address: Its URL or path, without a password.
    """

    folder: Path
    contents: Contents
    pointer: Path
    repository: Path
    is_new: bool
    remote: str
    address: str

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "folder": str(self.folder),
            "stage": self.contents.stage,
            "networks": list(self.contents.networks),
            "others": list(self.contents.others),
            "pointer": str(self.pointer),
            "repository": str(self.repository),
            "new_repository": self.is_new,
            "remote": self.remote,
            "address": self.address,
        }


def push_data(folder: Path, remote: str | None = None) -> Transfer:
    """Put a data set under version control and copy it to a remote.

    Args:
        folder: Recordings, mapped networks or training tables; one folder a network.
        remote: Name, URL or path of the remote; None for the repository's default.

    Raises:
        EdgewattError: It is no data set, DVC is not installed, or the remote cannot be written.
    """
    contents = data_set(folder)
    place = _absolute(folder)
    refuse_unusable(place, remote)
    dvc, is_new = repository_of(place)
    chosen, first = chosen_remote(dvc, remote)
    to = ["push", "--remote", chosen.name, *_path(dvc, pointer_of(place))]
    dvc.run(*first, ["add", *_path(dvc, place)], to)
    return _transfer(folder, contents, dvc, is_new, chosen)


def pull_data(folder: Path, remote: str | None = None, *, rev: str | None = None, force: bool = False) -> Transfer:
    """Fetch a data set from a remote: all of it, and only then is the folder touched.

    Args:
        folder: The folder that was pushed; `FOLDER.dvc` beside it says what belongs in it.
        remote: Name, URL or path of the remote; None for the repository's default.
        rev: A commit, branch or tag of the git repository, whose `FOLDER.dvc` counts.
        force: Write over files in the folder that were changed here and are kept nowhere else.

    Raises:
        EdgewattError: DVC is not installed, nothing says what belongs in the folder, the remote lacks a part of it,
            files were changed here, or what came is no data set.
    """
    place = _absolute(folder)
    pointer = pointer_of(place)
    if rev is None and not pointer.is_file():
        raise EdgewattError(
            "nothing says what belongs in the folder",
            where=folder,
            fix=f"Put {pointer.name} beside it, which `edgewatt data push` wrote",
        )
    refuse_unusable(place, remote)
    before = pointer.read_bytes() if pointer.is_file() else None
    wanted = before if rev is None else _pointer_at(place, pointer, rev)
    if wanted is None or b"outs:" not in wanted:
        raise EdgewattError(
            f"{pointer.name} says of no data what belongs in the folder",
            where=pointer,
            fix="Take it from git again, or push the data anew",
        )
    dvc, is_new = repository_of(place)
    chosen, first = chosen_remote(dvc, remote)
    if wanted is not None and wanted != before:
        write_bytes(pointer, wanted)
    try:
        _fetch(dvc, first, pointer, chosen, force)
    except BaseException:
        if before is None:
            pointer.unlink(missing_ok=True)
        elif wanted != before:
            write_bytes(pointer, before)
        raise
    return _transfer(folder, data_set(folder), dvc, is_new, chosen)


def _fetch(dvc: Dvc, first: Sequence[Sequence[str]], pointer: Path, remote: Remote, force: bool) -> None:
    checkout = ["checkout", *(["--force"] if force else [])]
    try:
        dvc.run(*first, ["fetch", "--remote", remote.name, *_path(dvc, pointer)], [*checkout, *_path(dvc, pointer)])
    except DvcError as error:
        if "unsaved files" in error.what or "without a confirmation" in error.what:
            raise EdgewattError(
                f"files were changed here, and are kept nowhere else: {_listed(error.what)}",
                where=pointer.with_suffix(""),
                fix="Push them first, move them away, or write over them with --force",
            ) from error
        if "missing-files" in error.what:
            # A web server that refuses, or is not there, is to DVC one that has no such file.
            raise DvcError(
                f"the remote {remote} has not all of the data, does not answer, or lets nobody in without a password",
                where=pointer,
                fix="Check its address and your credentials, or have the data pushed",
            ) from error
        raise


def _absolute(folder: Path) -> Path:
    """The folder's place without dots in it; links stay, for DVC follows none out of its repository."""
    return Path(os.path.normpath(folder.absolute()))


def _path(dvc: Dvc, path: Path) -> list[str]:
    """A path as DVC's last argument, which no name turns into an option."""
    return [f"./{path.relative_to(dvc.root).as_posix()}"]


def _pointer_at(folder: Path, pointer: Path, rev: str) -> bytes:
    """The pointer as it is in a revision of the git repository."""
    top = git_top(folder)
    if top is None:
        raise EdgewattError(
            "revisions are those of git, and the folder is in no git repository",
            where=folder,
            fix=f"Leave --rev away: {pointer.name} beside the folder then says what belongs in it",
        )
    if not rev or rev.startswith("-"):
        raise EdgewattError(f"{rev!r} is no revision", where=top, fix="Name a commit, a branch or a tag")
    name = f"{rev}:{pointer.relative_to(top).as_posix()}"
    shown = subprocess.run(["git", "-C", str(top), "show", "--end-of-options", name], capture_output=True)
    if shown.returncode != 0:
        reason = shown.stderr.decode(errors="replace").strip().splitlines()
        raise EdgewattError(
            f"{pointer.name} is not in the revision {rev!r}: {reason[-1] if reason else 'git said nothing'}",
            where=top,
            fix="Name a commit, a branch or a tag in which it was committed (git log)",
        )
    return shown.stdout


def _listed(message: str) -> str:
    """The files that DVC names, the first few of them."""
    named = [word for word in message.split() if "/" in word]
    return ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")


def _transfer(folder: Path, contents: Contents, dvc: Dvc, is_new: bool, remote: Remote) -> Transfer:
    address = without_credentials(remote.address)
    return Transfer(folder, contents, pointer_of(_absolute(folder)), dvc.root, is_new, remote.name, address)
