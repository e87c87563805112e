"""Files of the kernel that are read over and over, each of which may fail without the others."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

#: A value, or several; a page is the most that sysfs gives.
_MOST_BYTES = 128
_PAGE_BYTES = 4096
#: Some drivers write the unit behind the number: `32760 ma`.
_WITH_UNIT = re.compile(rb"\s*([+-]?\d+(?:\.\d+)?)\s*[a-zA-Z]{0,4}\s*\Z")
#: After these the device behind an open file is gone; only opening it anew can find another.
_GONE = frozenset({errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.EBADF})
#: Keys beside the names of errno in error counts.
EMPTY, NOT_A_NUMBER = "empty", "not a number"


class SensorFile:
    """One file that the kernel makes anew at each read.

    It is opened once and read at offset 0 through its raw descriptor: text files of Python turn some of the kernel's
    errors (EAGAIN) into a TypeError. An error gives None and is counted. A file that could not be opened, or whose
    device has gone, is opened anew at the next read.

    Attributes:
        path: The file.
        errors: How often each error was met, by the name of its errno.
    """

    __slots__ = ("_descriptor", "errors", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.errors: Counter[str] = Counter()
        self._descriptor: int | None = None

    def open(self) -> None:
        """Open the file; an error is counted."""
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                self.errors[errno_name(error)] += 1

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def read_bytes(self) -> bytes | None:
        """What the file holds now, or None after an error."""
        if self._descriptor is None:
            self.open()
            if self._descriptor is None:
                return None
        try:
            return os.pread(self._descriptor, _MOST_BYTES, 0)
        except OSError as error:
            self.errors[errno_name(error)] += 1
            if error.errno in _GONE:
                self._forget()
            return None

    def read_number(self) -> float | None:
        """The number that the file holds now, signed, without its unit; None after an error."""
        content = self.read_bytes()
        if content is None:
            return None
        try:
            return int(content)
        except ValueError:
            return self._number_with_unit(content)

    def read_numbers(self, count: int) -> list[float] | None:
        """The `count` numbers that the file holds now, or None after an error."""
        content = self.read_bytes()
        if content is None:
            return None
        fields = content.split()
        numbers = [number for field in fields if (number := parse_number(field)) is not None]
        if len(numbers) != count or len(fields) != count:
            self.errors[EMPTY if not fields else NOT_A_NUMBER] += 1
            return None
        return numbers

    def __getstate__(self) -> tuple[Path, Counter[str]]:
        return self.path, self.errors

    def __setstate__(self, state: tuple[Path, Counter[str]]) -> None:
        # A descriptor means nothing in another process.
        self.path, self.errors = state
        self._descriptor = None

    def _number_with_unit(self, content: bytes) -> float | None:
        number = parse_number(content)
        if number is None:
            self.errors[NOT_A_NUMBER if content.strip() else EMPTY] += 1
        return number

    def _forget(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                os.close(descriptor)
            except OSError:
                self.errors["close"] += 1


def parse_number(content: bytes) -> float | None:
    """The number in a file's content, without a unit behind it, or None where there is none."""
    match = _WITH_UNIT.match(content)
    if match is None:
        return None
    return float(match[1]) if b"." in match[1] else int(match[1])


def read_text(path: Path) -> str | None:
    """A small file's text without white space and NUL around it; None where it is missing, unreadable or empty."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = os.pread(descriptor, _PAGE_BYTES, 0)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return content.decode("utf-8", "replace").strip(" \t\r\n\0") or None


def read_number(path: Path) -> float | None:
    """A small file's number; None where it is missing, unreadable or holds no number."""
    text = read_text(path)
    return None if text is None else parse_number(text.encode())


def errno_name(error: OSError) -> str:
    """The name of an error's errno, such as EIO."""
    return errno.errorcode.get(error.errno or 0, f"errno {error.errno}")


def error_counts(files: Iterable[SensorFile]) -> dict[str, dict[str, int]]:
    """How often each error was met in each file, for files with errors."""
    return {str(file.path): dict(file.errors) for file in files if file.errors}
