"""What runs on a worker of a Dask cluster; it is imported there."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edgewatt import __version__
from edgewatt.errors import EdgewattError
from edgewatt.workers.base import Attempt, attempt, safe_attempt
from edgewatt.workers.identity import source_digest

#: Libraries whose version may change the last digits of a result.
_NUMERIC = ("numpy", "scipy", "polars", "scikit-learn")
#: How long a shared file system may take to show a new file to another machine.
_SHOW_S = 5.0

# Warnings, the working folder and the mask of new files belong to a process as a whole: one task at a time in it.
_one_task = threading.Lock()


@dataclass(frozen=True)
class Software:
    """What must be the same on all machines, and what should be.

    Attributes:
        edgewatt: Version of edgewatt.
        source: Digest of its source.
        python: Major and minor version of Python.
        numeric: Versions of the libraries that compute.
    """

    edgewatt: str
    source: str
    python: str
    numeric: dict[str, str]


@dataclass(frozen=True)
class Seen:
    """What a folder must hold to be the same as the client's.

    Attributes:
        folder: The folder, as the client names it.
        names: What is in it.
    """

    folder: Path
    names: frozenset[str]


def software() -> Software:
    """The software of this process."""
    # Polars reads it when it is imported, which is in the first task; workers share the cores among themselves.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    major, minor, _ = platform.python_version_tuple()
    return Software(__version__, source_digest(), f"{major}.{minor}", {name: version(name) for name in _NUMERIC})


def unseen(working_folder: Path, folders: Sequence[Seen]) -> str | None:
    """The first folder that this machine lacks, or that is another one here; None where all are the same."""
    until = time.monotonic() + _SHOW_S
    for seen in folders:
        while not _is_seen(working_folder / seen.folder, seen.names):
            if time.monotonic() > until:
                return str(seen.folder)
            time.sleep(0.1)
    return None


def _is_seen(folder: Path, names: frozenset[str]) -> bool:
    try:
        return names <= {path.name for path in folder.iterdir()}
    except OSError:
        return False


def run_there(wanted: Software, working_folder: Path, function: Callable[[Any], Any], item: Any) -> Attempt:
    """Run a task as it would run at the client.

    Args:
        wanted: The client's software.
        working_folder: The client's working folder, which relative paths start from.
        function: The work.
        item: What to work on.
    """
    here = software()
    if (here.edgewatt, here.source) != (wanted.edgewatt, wanted.source):
        return attempt(_refuse, f"a worker runs another edgewatt: {here.edgewatt}, here {wanted.edgewatt}")
    from threadpoolctl import threadpool_limits

    with _one_task, _working_in(working_folder), threadpool_limits(limits=1):
        return safe_attempt(function, item)


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Work in a folder, so that messages and files name paths as the client does; where it exists here."""
    before = Path.cwd()
    if folder.is_dir():
        os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _refuse(why: str) -> None:
    raise EdgewattError(why, fix="Install the same one on all workers and start them again")
