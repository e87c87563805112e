"""Errors and warnings that a user can act on."""

from __future__ import annotations

import errno
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


#: What to do about what the operating system refuses, by its number.
_SYSTEM_FIXES = {
    errno.EACCES: "Ask for the right to it, or name another place",
    errno.EPERM: "Ask for the right to it, or name another place",
    errno.EROFS: "Name a place that can be written to",
    errno.ENOSPC: "Free space on that disk, or name another place",
    errno.EDQUOT: "Free space on that disk, or name another place",
    errno.EFBIG: "Name another place: files of that size cannot lie there",
    errno.ENAMETOOLONG: "Choose a shorter name",
    errno.ENOENT: "Check the path",
    errno.ENOTDIR: "A part of that path is a file: check the path",
    errno.EISDIR: "That is a folder: name a file",
    errno.EMFILE: "Allow more open files (ulimit -n)",
    errno.EIO: "Look at the disk: it did not do what it was asked for",
}


class EdgewattError(Exception):
    """Something is wrong that the user can put right.

    Args:
        what: What is wrong, in one sentence without a full stop at its end.
        where: The file, with line or layer where one is known.
        fix: What to do about it.

    Attributes:
        exit_status: The exit status that the command line ends with.
    """

    exit_status = 2

    def __init__(self, what: str, *, where: str | Path | None = None, fix: str | None = None) -> None:
        self.what = what
        self.where = None if where is None else str(where)
        self.fix = fix
        super().__init__(_sentence(what, where, fix))

    @classmethod
    def of_system(cls, error: OSError, what: str = "", where: str | Path | None = None) -> Self:
        """What the operating system refused: a folder that may not be looked into, a name that is too long.

        Args:
            error: What it said.
            what: What could not be done, such as `cannot be read`; the system's reason is added.
            where: The file or folder; None for the one that the system named.
        """
        reason = error.strerror or str(error)
        return cls(
            f"{what}: {reason}" if what else reason,
            where=error.filename if where is None else where,
            fix=_SYSTEM_FIXES.get(error.errno or 0),
        )


class FormatError(EdgewattError):
    """A file does not hold what its format prescribes."""


class CheckFailedError(EdgewattError):
    """A check or a budget failed, or a part of a batch did."""

    exit_status = 1


class NoDeviceError(EdgewattError):
    """There is no usable sensor, backend or device."""

    exit_status = 3


class EdgewattWarning(UserWarning):
    """Something that the user should know about a result that is still right."""


def warn(what: str, *, where: str | Path | None = None, fix: str | None = None) -> None:
    """Warn the user; arguments as for `EdgewattError`."""
    warnings.warn(_sentence(what, where, fix), EdgewattWarning, stacklevel=2)


def _sentence(what: str, where: str | Path | None, fix: str | None) -> str:
    located = what if where is None else f"{where}: {what}"
    return printable(located if fix is None else f"{located}. {fix}")


def printable(text: str) -> str:
    r"""Return `text` with control characters as escapes (`\x1e`), so that a terminal shows them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
