"""Remotes of a DVC repository: by name, or by address, which then gets a name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.versioning.dvc import Dvc
from edgewatt.versioning.repository import found_repository

#: Names of remotes that are added for an address.
_NAME = "edgewatt"

_CREDENTIALS = re.compile(r"//[^/@]+@")


@dataclass(frozen=True)
class Remote:
    """A place that data is copied to.

    Attributes:
        name: Its name in the repository.
        address: Its URL or path.
    """

    name: str
    address: str

    def __str__(self) -> str:
        return f"{self.name} ({without_credentials(self.address)})"


def chosen_remote(dvc: Dvc, remote: str | None) -> tuple[Remote, list[list[str]]]:
    """The remote that is meant, and the commands of DVC that add it where it is not known yet.

    Args:
        dvc: The repository.
        remote: A name, a URL or a path; None for the repository's default.

    Raises:
        EdgewattError: There is no such remote, or none was named and there is no default.
    """
    known = {
        name: Remote(name, _address(dvc, value))
        for key, value in dvc.settings.items()
        if (name := _named(key)) is not None
    }
    default = dvc.settings.get("core.remote")
    if remote is None and default is None:
        raise EdgewattError(
            "the repository has no default remote", where=dvc.root, fix=f"Name one with --remote. {_listed(known)}"
        )
    wanted = remote or str(default)
    if wanted in known:
        return known[wanted], []
    if not is_address(wanted):
        raise EdgewattError(
            f"there is no remote {wanted!r}",
            where=dvc.root,
            fix=f"Give its URL or path, a path with a / in it. {_listed(known)}",
        )
    return _added(known, wanted, is_default=default is None)


def refuse_unusable(folder: Path, remote: str | None) -> None:
    """Refuse a remote that cannot be meant, before a repository is made for it.

    Args:
        folder: The folder of data, absolute.
        remote: As for `chosen_remote`.

    Raises:
        EdgewattError: It names nothing, or there is no repository that could know it by its name.
    """
    if remote is not None and not remote.strip():
        raise EdgewattError("the remote has no name", fix="Give its name, its URL, or a path with a / in it")
    if found_repository(folder) is None and (remote is None or not is_address(remote)):
        told = "no remote is named" if remote is None else f"there is no remote {remote!r}"
        raise EdgewattError(
            f"{told}, and the folder is in no DVC repository yet",
            where=folder,
            fix="Give the remote's URL, or a path with a / in it: --remote URL",
        )


def is_address(remote: str) -> bool:
    """Whether it is a URL or a path, and no name."""
    return "://" in remote or "/" in remote or "\\" in remote or remote in (".", "..")


def without_credentials(address: str) -> str:
    """A URL without the user and password that may be in it."""
    return _CREDENTIALS.sub("//", address)


def _added(known: Mapping[str, Remote], address: str, *, is_default: bool) -> tuple[Remote, list[list[str]]]:
    url = address if "://" in address else os.path.normpath(Path(address).expanduser().absolute())
    same = next((one for one in known.values() if one.address == url), None)
    if same is not None:
        return same, []
    number = 1
    while (name := _NAME if number == 1 else f"{_NAME}-{number}") in known:
        number += 1
    # What is shared holds no password: one that is in the address stays on this machine.
    local = ["--local"] if _CREDENTIALS.search(url) else []
    return Remote(name, url), [["remote", "add", *local, *(["--default"] if is_default else []), name, url]]


def _named(key: str) -> str | None:
    """The remote's name in the key of its URL."""
    found = re.fullmatch(r"remote\.(.+)\.url", key)
    return None if found is None else found[1]


def _address(dvc: Dvc, value: str) -> str:
    """A URL, or an absolute path; DVC keeps paths relative to its configuration."""
    return value if "://" in value else os.path.normpath(dvc.root / ".dvc" / value)


def _listed(known: Mapping[str, Remote]) -> str:
    return "There are: " + ", ".join(map(str, known.values())) if known else "There is none yet"
