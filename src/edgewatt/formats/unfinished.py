"""Hidden folders that are being written beside their places, and what a run that was killed left of them.

.writing-XXXX.part/owner    which folder it is for; locked while its writer lives, so nobody takes it for a dead one's
                   new/     what is written
                   old/     what was there before; only while `new` takes its place
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOTDIR
from pathlib import Path

import orjson

_PREFIX, _SUFFIX = ".writing-", ".part"
_OWNER, _NEW, _OLD = "owner", "new", "old"
#: A folder without an owner is one that is just being made, or of a version that had none.
_OWNERLESS_S = 3600.0


@contextmanager
def writing_beside(folder: Path, *, keep_others: bool) -> Iterator[Path]:
    """Give an empty hidden folder to write to, which takes the place of `folder` when the block ends well.

    Args:
        folder: The folder to write, an absolute path; the one above it is there.
        keep_others: Whether files that were in the folder and are not written again stay.

    Yields:
        The folder to write to.

    Raises:
        OSError: The folder cannot be written.
    """
    hidden, owner = _make_hidden(folder, keep_others)
    try:
        beside = hidden / _NEW
        beside.mkdir()
        yield beside
        _take_the_place(hidden, folder, keep_others)
    finally:
        if (hidden / _OLD).exists() and not folder.exists():
            # Interrupted between the two renames: what was there before is out of its place, the new is complete.
            with contextlib.suppress(OSError):
                _put_in_place(hidden, folder, keep_others)
        shutil.rmtree(hidden, ignore_errors=True)
        os.close(owner)


def finish_unfinished(folder: Path) -> None:
    """Remove what killed runs left half-written in a folder; what only had to take its place takes it.

    What a living process writes stays, also on another machine that shares the file system.

    Args:
        folder: The folder that holds the folders of networks.
    """
    if not folder.is_dir():
        return
    for hidden in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            _finish(hidden)


def _make_hidden(folder: Path, keep_others: bool) -> tuple[Path, int]:
    """Make a hidden folder and lock it; the lock goes with the process, however that ends."""
    content = orjson.dumps({"folder": os.fsencode(folder.name).hex(), "keep_others": keep_others})
    while True:
        # The name may be as long as the file system allows, so it is not part of the hidden one.
        hidden = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_PREFIX, suffix=_SUFFIX))
        path = hidden / _OWNER
        owner = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if _lock(owner) and path.exists():
            os.write(owner, content)
            return hidden, owner
        os.close(owner)  # somebody took it for a dead one's before it was locked


def _lock(owner: int) -> bool:
    """Whether nobody else holds it; a file system without locks has nobody who takes a folder for a dead one's."""
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _finish(hidden: Path) -> None:
    path = hidden / _OWNER
    if not path.exists():
        if time.time() - hidden.stat().st_mtime > _OWNERLESS_S:
            shutil.rmtree(hidden)
        return
    owner = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if (hidden / _OLD).exists():
            wanted = orjson.loads(path.read_bytes())
            folder = hidden.parent / os.fsdecode(bytes.fromhex(wanted["folder"]))
            if not folder.exists():
                _put_in_place(hidden, folder, wanted["keep_others"])
        shutil.rmtree(hidden)
    finally:
        os.close(owner)


def _take_the_place(hidden: Path, folder: Path, keep_others: bool) -> None:
    if folder.exists():
        if not folder.is_dir():
            raise NotADirectoryError(ENOTDIR, "there is a file of that name")
        folder.replace(hidden / _OLD)
    _put_in_place(hidden, folder, keep_others)


def _put_in_place(hidden: Path, folder: Path, keep_others: bool) -> None:
    new, old = hidden / _NEW, hidden / _OLD
    if keep_others and old.exists():
        for path in old.iterdir():
            if not (new / path.name).exists():
                path.replace(new / path.name)
    new.replace(folder)
