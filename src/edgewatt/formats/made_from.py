"""`made_from.json`: what a folder of results was made from, so that the same need not be made again. Ours.

It holds digests and settings alone, no time, host or path: the same input gives the same file anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.checked import FileModel, read_checked, write_checked

FILE_NAME = "made_from.json"
SCHEMA_VERSION = 1
_AT_ONCE = 1 << 20


class MadeFrom(FileModel):
    """What a folder was made from.

    Attributes:
        schema_version: Version of this format.
        edgewatt_version: The version that made it.
        source: Digest of that edgewatt's own source, which may change under one version.
        settings: Settings that the result depends on.
        inputs: SHA-256 of each file that it was made from, by its path below the input's folder.
        outputs: SHA-256 of each file that was made, by name.
        told: What the result says beside its files.
    """

    schema_version: int = SCHEMA_VERSION
    edgewatt_version: str
    source: str
    settings: dict[str, Any] = Field(default_factory=dict)
    inputs: dict[str, str]
    outputs: dict[str, str] = Field(default_factory=dict)
    told: dict[str, Any] = Field(default_factory=dict)


def file_digests(folder: Path, paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of files.

    Args:
        folder: The folder that names start from.
        paths: Files below it.

    Raises:
        FormatError: A file cannot be read.
    """
    return {_name(path, folder): _digest(path) for path in sorted(paths)}


def visible_files(folder: Path) -> list[Path]:
    """All files in a folder and below it, but hidden ones."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def write_made_from(folder: Path, made: MadeFrom, outputs: Iterable[Path]) -> None:
    """Write the file beside what was made.

    Args:
        folder: The folder.
        made: What it was made from; its outputs are filled in.
        outputs: The files that were made, in the folder.
    """
    digests = file_digests(folder, outputs)
    write_checked(folder / FILE_NAME, made.model_copy(update={"outputs": digests}))


def made_already(folder: Path, wanted: MadeFrom) -> MadeFrom | None:
    """What an earlier run left in a folder, if it was made from the same and is whole; None where it must be made.

    Args:
        folder: The folder.
        wanted: What it would be made from now; its outputs and what it tells are not compared.
    """
    try:
        found = read_checked(folder / FILE_NAME, MadeFrom, "Make it again")
        compared = {"outputs": found.outputs, "told": found.told}
        if found != wanted.model_copy(update=compared):
            return None
        whole = found.outputs == file_digests(folder, [folder / name for name in found.outputs])
    except EdgewattError:
        return None
    return found if whole else None


def _name(path: Path, folder: Path) -> str:
    """A file's name as text that JSON can hold, whatever its bytes are."""
    return path.relative_to(folder).as_posix().encode("utf-8", "backslashreplace").decode()


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while part := file.read(_AT_ONCE):
                digest.update(part)
    except OSError as error:
        raise FormatError.of_system(error, "cannot be read", path) from error
    return digest.hexdigest()
