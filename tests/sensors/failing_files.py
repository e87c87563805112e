"""Files that fail as the kernel's do, which regular files cannot."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path


class FailingFiles:
    """Makes chosen files fail when they are read or opened.

    Attributes:
        on_read: errno by path.
        on_open: errno by path.
        on_write: errno by path, when it is opened to be written.
    """

    def __init__(self) -> None:
        self.on_read: dict[Path, int] = {}
        self.on_open: dict[Path, int] = {}
        self.on_write: dict[Path, int] = {}
        self._paths: dict[int, Path] = {}

    def open(self, real: Callable[..., int]) -> Callable[..., int]:
        def replacement(path: str | Path, flags: int, *rest: int, **named: int) -> int:
            resolved = Path(path).resolve()
            number = self.on_open.get(resolved, self.on_write.get(resolved) if flags & os.O_WRONLY else None)
            if number is not None:
                raise OSError(number, os.strerror(number), str(path))
            descriptor = real(path, flags, *rest, **named)
            self._paths[descriptor] = resolved
            return descriptor

        return replacement

    def pread(self, real: Callable[[int, int, int], bytes]) -> Callable[[int, int, int], bytes]:
        def replacement(descriptor: int, size: int, offset: int) -> bytes:
            path = self._paths.get(descriptor)
            number = None if path is None else self.on_read.get(path)
            if number is not None:
                raise OSError(number, os.strerror(number))
            return real(descriptor, size, offset)

        return replacement

    def fail(self, path: Path, name: str, *, opening: bool = False, writing: bool = False) -> None:
        chosen = self.on_write if writing else self.on_open if opening else self.on_read
        chosen[path.resolve()] = getattr(errno, name)

    def heal(self, path: Path) -> None:
        self.on_read.pop(path.resolve(), None)
        self.on_open.pop(path.resolve(), None)
