"""Files that fail as the kernel's do, which regular files cannot."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest


class FailingFiles:
    """Makes chosen files fail when they are read or opened.

    Attributes:
        on_read: errno by path.
        on_open: errno by path.
    """

    def __init__(self) -> None:
        self.on_read: dict[Path, int] = {}
        self.on_open: dict[Path, int] = {}
        self._paths: dict[int, Path] = {}

    def open(self, real: Callable[..., int]) -> Callable[..., int]:
        def replacement(path: str | Path, flags: int, *rest: int, **named: int) -> int:
            resolved = Path(path).resolve()
            if resolved in self.on_open:
                raise OSError(self.on_open[resolved], os.strerror(self.on_open[resolved]), str(path))
            descriptor = real(path, flags, *rest, **named)
            self._paths[descriptor] = resolved
            return descriptor

        return replacement

    def pread(self, real: Callable[[int, int, int], bytes]) -> Callable[[int, int, int], bytes]:
        def replacement(descriptor: int, size: int, offset: int) -> bytes:
            number = self.on_read.get(self._paths[descriptor])
            if number is not None:
                raise OSError(number, os.strerror(number))
            return real(descriptor, size, offset)

        return replacement

    def fail(self, path: Path, name: str, *, opening: bool = False) -> None:
        (self.on_open if opening else self.on_read)[path.resolve()] = getattr(errno, name)

    def heal(self, path: Path) -> None:
        self.on_read.pop(path.resolve(), None)
        self.on_open.pop(path.resolve(), None)


@pytest.fixture
def failing_files(monkeypatch: pytest.MonkeyPatch) -> FailingFiles:
    files = FailingFiles()
    monkeypatch.setattr(os, "open", files.open(os.open))
    monkeypatch.setattr(os, "pread", files.pread(os.pread))
    return files
