"""Folders that hold one folder a network: raw_data/, preprocessed_data/ and training_data/."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.formats.unfinished import writing_beside


def network_folders(folder: Path, made_by: str) -> list[Path]:
    """The folders of networks, in alphabetical order; hidden ones are unfinished and left out.

    Args:
        folder: The folder that holds them.
        made_by: The command that writes it, for the error.

    Raises:
        EdgewattError: It is missing or unreadable, or the name of a folder in it is not UTF-8.
    """
    if not folder.is_dir():
        raise EdgewattError("there is no such folder", where=folder, fix=f"Name the folder that `{made_by}` wrote")
    real = folder.resolve()
    # A link to the folder itself, or to one above it, would show its networks again.
    above = {real, *real.parents}
    try:
        found = sorted(
            path
            for path in folder.iterdir()
            if path.is_dir() and not path.name.startswith(".") and path.resolve() not in above
        )
    except OSError as error:
        raise EdgewattError.of_system(error, "cannot be read", folder) from error
    for path in found:
        try:
            path.name.encode()
        except UnicodeEncodeError as error:
            raise EdgewattError("the folder's name is not UTF-8", where=path, fix="Rename it") from error
    return found


def refuse_same_folder(source: Path, target: Path) -> None:
    """Refuse to write results where they would take the place of what they are made from.

    Raises:
        EdgewattError: Both are one folder.
    """
    if source.resolve() == target.resolve():
        raise EdgewattError(
            "the results would take the place of what they are made from", where=target, fix="Name another folder"
        )


def refuse_foreign(folder: Path, what: str, *, is_own: bool) -> None:
    """Refuse to write a folder in the place of something else.

    Args:
        folder: The folder.
        what: What it would become, such as `a recording`.
        is_own: Whether what is there is such a thing itself.

    Raises:
        EdgewattError: There is a file of that name, or a folder that holds other things.
    """
    if not folder.exists() or is_own or (folder.is_dir() and not any(folder.iterdir())):
        return
    kind = "a folder with other things in it" if folder.is_dir() else "a file"
    raise EdgewattError(
        f"there is {kind}, which {what} would take the place of", where=folder, fix="Move it away, or use another name"
    )


@contextmanager
def replacing_folder(folder: Path, *, keep_others: bool) -> Iterator[Path]:
    """Give an empty hidden folder beside `folder` to write to, which takes its place when the block ends well.

    So a reader finds the files of one run or of another, and never some of each.

    Args:
        folder: The folder to write; missing folders above it are made.
        keep_others: Whether files that were in the folder and are not written again stay.

    Yields:
        The folder to write to.

    Raises:
        EdgewattError: The folder cannot be written.
    """
    try:
        folder = folder.resolve()
        folder.parent.mkdir(parents=True, exist_ok=True)
        with writing_beside(folder, keep_others=keep_others) as beside:
            yield beside
    except OSError as error:
        raise EdgewattError.of_system(error, "cannot be written", folder) from error
