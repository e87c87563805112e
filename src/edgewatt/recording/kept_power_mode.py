"""The power mode from before, which is put back however a sweep over modes ends.

It is kept in a file first. A restart does not bring a power mode back, nvpmodel keeps it, so the file lies in /var/lib
and not in /run, and any later process can restore from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.checked import FileModel, read_checked, write_checked
from edgewatt.recording.environment import read_environment
from edgewatt.recording.power_modes import PowerMode, PowerModes
from edgewatt.recording.staging import is_running
from edgewatt.sensors.held_signals import ending_signals_raise, signals_held

_STATE_FILE = "var/lib/edgewatt/power_mode.json"
_AS_ROOT = "Switching power modes needs root: run as root, outside of containers"


class _Kept(FileModel):
    """What the file holds.

    Attributes:
        number: The mode's number.
        name: Its name.
        clocks_locked: Whether the clocks were locked.
        process: Number of the process that switches.
    """

    schema_version: int = 1
    number: int
    name: str
    clocks_locked: bool
    process: int


class SwitchedModes:
    """Switches between power modes, for the time that the one from before is kept."""

    def __init__(self, modes: PowerModes, kept: _Kept) -> None:
        self._modes, self._kept = modes, kept

    @property
    def before(self) -> str:
        """Name of the mode from before."""
        return self._kept.name

    def switch(self, name: str) -> None:
        """Switch to a mode, with clocks locked if they were.

        Raises:
            EdgewattError: It could not be switched.
        """
        self._set(self._modes.find(name))

    def put_back(self) -> None:
        """Switch to the mode from before."""
        self._set(PowerMode(self._kept.number, self._kept.name))

    def _set(self, mode: PowerMode) -> None:
        if self._modes.current().number == mode.number:
            return
        self._modes.switch(mode)
        if self._kept.clocks_locked:
            self._modes.lock_clocks()


def state_file(root: Path = Path("/")) -> Path:
    """Where the mode from before is kept."""
    return root / _STATE_FILE


@contextmanager
def kept_power_mode(modes: PowerModes, root: Path = Path("/")) -> Iterator[SwitchedModes]:
    """Let a block switch power modes, and put back the mode from before: well, after an exception, or after a signal.

    SIGTERM and SIGHUP raise SystemExit in the block, unless they are handled already. Only SIGKILL leaves another mode;
    `restore_power_mode` then sets it back, as the next block does at its end.

    Args:
        modes: The machine's modes.
        root: Folder that the state file is kept below.

    Raises:
        EdgewattError: The mode cannot be kept (root is needed), or another process switches modes.
    """
    state = state_file(root)
    kept = _keep(modes, state, root)
    switched = SwitchedModes(modes, kept)
    with ending_signals_raise():
        try:
            yield switched
        finally:
            with signals_held():
                switched.put_back()
                state.unlink(missing_ok=True)


def restore_power_mode(root: Path = Path("/")) -> str | None:
    """Put back the power mode that a sweep which was killed has left.

    Args:
        root: Folder that the state file and the programs lie below.

    Returns:
        The mode's name; None where none was left.

    Raises:
        EdgewattError: It cannot be set, or the sweep still runs.
        FormatError: The file is damaged.
    """
    state = state_file(root)
    if not state.exists():
        return None
    kept = _read(state)
    switched = SwitchedModes(PowerModes(root), kept)
    with signals_held():
        switched.put_back()
        state.unlink()
    return kept.name


def _keep(modes: PowerModes, state: Path, root: Path) -> _Kept:
    """Keep the mode from before: the first thing that is written, so the first that is refused without root."""
    if state.exists():
        before = _read(state)
        warn(f"an earlier recording was killed in another power mode; {before.name} is put back at the end of this one")
        kept = before.model_copy(update={"process": os.getpid()})
    else:
        now = modes.current()
        locked = read_environment(root).clocks_locked is True
        kept = _Kept(number=now.number, name=now.name, clocks_locked=locked, process=os.getpid())
    try:
        write_checked(state, kept)
    except EdgewattError as error:
        raise EdgewattError(f"the power mode {error.what}", where=state, fix=_AS_ROOT) from error
    return kept


def _read(state: Path) -> _Kept:
    kept = read_checked(state, _Kept, "Set the power mode with `sudo nvpmodel -m NUMBER`, and remove the file")
    if kept.process != os.getpid() and is_running(kept.process):
        raise EdgewattError(
            f"process {kept.process} is recording in several power modes", where=state, fix="Wait for it, or stop it"
        )
    return kept
