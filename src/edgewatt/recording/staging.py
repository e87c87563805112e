"""A recording that appears whole or not at all: written in a hidden folder beside, then renamed.

raw_data/.recording-resnet18-4711/resnet18/     while it is being recorded by process 4711
raw_data/resnet18/                              once it is complete, or complete up to where it was stopped
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE
from edgewatt.formats.recording import RecordingPaths
from edgewatt.formats.run_info import read_run_info

_HIDDEN = re.compile(r"\.recording-(?P<name>.+)-(?P<pid>\d+)")
_REPLACED = "replaced"
#: What else lies beside recordings: idle power, and the truth of simulated ones.
_NOT_RUNS = (IDLE_FILE, "truth")


class Staging:
    """A hidden folder for one recording.

    Attributes:
        folder: The hidden folder, for what is no part of the recording.
        recording: The folder inside it that becomes the recording.
    """

    def __init__(self, raw_dir: Path, name: str) -> None:
        self.folder = raw_dir / f".recording-{name}-{os.getpid()}"
        self.recording = self.folder / name
        self._final = raw_dir / name

    def publish(self) -> Path:
        """Make it the recording, in place of one that was there before."""
        if self._final.exists():
            self._final.replace(self.folder / _REPLACED)
        self.recording.replace(self._final)
        return self._final


@contextmanager
def staging(raw_dir: Path, name: str) -> Iterator[Staging]:
    """A hidden folder beside where a recording will be, gone when the block ends.

    Args:
        raw_dir: The raw data folder, made where it is missing.
        name: The run's name.

    Raises:
        EdgewattError: The folder cannot be written.
    """
    try:
        raw_dir.mkdir(parents=True, exist_ok=True)
        clear_abandoned(raw_dir)
        stage = Staging(raw_dir, name)
        shutil.rmtree(stage.folder, ignore_errors=True)
        stage.recording.mkdir(parents=True)
    except OSError as error:
        raise EdgewattError.of_system(error, "cannot be written", raw_dir) from error
    try:
        yield stage
    finally:
        shutil.rmtree(stage.folder, ignore_errors=True)


def clear_abandoned(raw_dir: Path) -> None:
    """Remove what recorders left that were killed before they could write a recording."""
    for folder in sorted(raw_dir.glob(".recording-*")):
        match = _HIDDEN.fullmatch(folder.name)
        if match is None or is_running(int(match["pid"])):
            continue
        replaced, final = folder / _REPLACED, raw_dir / match["name"]
        if replaced.exists() and not final.exists():
            replaced.replace(final)  # killed between two renames: the recording from before is whole
        warn("an earlier recording was killed before it could be written, and is removed", where=folder)
        shutil.rmtree(folder, ignore_errors=True)


def is_complete(raw_dir: Path, name: str, cycles: int = 1) -> bool:
    """Whether there is a recording of a name that was not interrupted and has at least so many cycles."""
    paths = RecordingPaths(raw_dir / name)
    if not paths.run_info.exists():
        return paths.layer_latency.exists()  # one of the base method's, which does not tell
    try:
        info = read_run_info(paths.run_info)
    except EdgewattError:
        return False
    return not info.interrupted and (info.cycle_end_us is None or len(info.cycle_end_us) >= cycles)


def check_name(name: str) -> None:
    """Make sure that a name can be a folder's.

    Raises:
        EdgewattError: It cannot.
    """
    if name in _NOT_RUNS:
        raise EdgewattError(f"a run cannot be called {name!r}, as something else is", fix="Choose another name")
    if not name or name.startswith(".") or "/" in name or not name.isprintable() or len(name) > 200:
        raise EdgewattError(f"a run cannot be called {name!r}", fix="Use letters, digits, '-', '_', '@' and '.'")


def is_running(pid: int) -> bool:
    """Whether there is a process of a number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
