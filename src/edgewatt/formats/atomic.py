"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgewatt.errors import EdgewattError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to, and rename it to `path` when the block ends well.

    When the block fails or is interrupted, what was there before stays and the half-written file goes.

    Args:
        path: The file to write; missing folders above it are made. Of a link the file that it leads to is written.

    Yields:
        The path to write to.

    Raises:
        EdgewattError: The folder or the file cannot be written, or there is a device, a pipe or a folder of that name.
    """
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not path.is_file():
        raise EdgewattError(
            "a folder lies there" if path.is_dir() else "it is no ordinary file, and is not replaced by one",
            where=path,
            fix="Name another file",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        beside = Path(name)
        try:
            yield beside
            beside.chmod(0o666 & ~_umask())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise EdgewattError.of_system(error, "cannot be written", path) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path`, whole or not at all."""
    with replacing(path) as beside:
        beside.write_bytes(content)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
