"""Runs of several boards side by side: `<model>` in a folder, or `<board>/<model>`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from edgewatt.errors import EdgewattError
from edgewatt.formats.folders import network_folders
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE

RunT = TypeVar("RunT")


@dataclass(frozen=True)
class RunFolder:
    """A run's folder.

    Attributes:
        path: Where it lies.
        board: Name of the board's folder that it lies in; empty where it lies beside others of no such folder.
    """

    path: Path
    board: str = ""

    @property
    def name(self) -> str:
        """`model`, or `board/model`: the path below the folder of all runs."""
        return f"{self.board}/{self.path.name}" if self.board else self.path.name


def run_folders(folder: Path, made_by: str, is_run: Callable[[Path], bool]) -> list[RunFolder]:
    """The runs of a folder, in alphabetical order of their names.

    A folder that is no run itself and holds folders that are is a board's folder. There is one level of them.

    Args:
        folder: The folder that holds them: raw, preprocessed or training data.
        made_by: The command that writes it, for the error.
        is_run: Whether a folder is a run's.

    Raises:
        EdgewattError: The folder is missing or unreadable, or the name of a folder in it is not UTF-8.
    """
    found = []
    for path in network_folders(folder, made_by):
        if is_run(path):
            found.append(RunFolder(path))
        else:
            found += [RunFolder(inner, path.name) for inner in network_folders(path, made_by) if is_run(inner)]
    return found


def chosen_runs(found: Mapping[str, RunT], wanted: Sequence[str], what: str, where: Path) -> list[RunT]:
    """Choose runs by name.

    Args:
        found: The runs by `RunFolder.name`.
        wanted: `board/model`, or `model` for those of all boards that have it, or a network for its runs in all states
            where no run has just its name; all, when empty.
        what: What a run is called in the error, such as `recording of`.
        where: Where they lie, for the error.

    Raises:
        EdgewattError: A name is of none of them.
    """
    if not wanted:
        return list(found.values())
    chosen: dict[str, RunT] = {}
    missing = []
    for name in wanted:
        fits = [full for full in found if name in (full, model_of(full))] or [
            full for full in found if name == network_of(full)
        ]
        if not fits:
            missing.append(name)
        chosen |= {full: found[full] for full in fits}
    if missing:
        raise EdgewattError(f"no {what} {', '.join(missing)}", where=where, fix=f"There are: {', '.join(found)}")
    return list(chosen.values())


def model_of(name: str) -> str:
    """The run's own name, without the board's folder."""
    return name.rpartition("/")[2]


def network_of(name: str) -> str:
    """The network that a run is of: its name without the board's folder and without the state behind an `@`."""
    own = model_of(name)
    return own.partition("@")[0] or own


def idle_power_file(run: Path) -> Path:
    """The idle power that counts for a recording: of the folder that it lies in, which may be its board's.

    Args:
        run: The recording's folder.

    Returns:
        The file beside the recording, or where there is none that beside its board's folder, if that exists.
    """
    beside, above = run.parent / IDLE_FILE, run.parent.parent / IDLE_FILE
    return above if above.exists() and not beside.exists() else beside
