"""What switches power modes for a sweep: the machine's nvpmodel, or the simulated board."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from edgewatt.backends.base import Backend
from edgewatt.backends.simulated import SimulatedBackend
from edgewatt.errors import EdgewattError
from edgewatt.recording.kept_power_mode import SwitchedModes, kept_power_mode
from edgewatt.recording.power_modes import PowerModes, RestartNeededError
from edgewatt.sensors.simulated import SHARED_POWER_VARIABLE, SharedPower


class ModeSwitch(Protocol):
    """Switches power modes."""

    def enter(self, mode: str) -> Backend:
        """Switch to a mode; the backend to record with in it.

        Raises:
            EdgewattError: It could not be switched.
        """


class _MachineModes:
    def __init__(self, switched: SwitchedModes, backend: Backend) -> None:
        self._switched, self._backend = switched, backend

    def enter(self, mode: str) -> Backend:
        self._switched.switch(mode)
        return self._backend


class _SimulatedModes:
    """The simulated board, whose idle power the simulated sensor shows while nothing is recorded."""

    def __init__(self, backend: SimulatedBackend, folder: Path) -> None:
        self._backend, self._power = backend, folder / "idle_power"

    def enter(self, mode: str) -> Backend:
        board = self._backend.board.in_mode(mode)
        SharedPower.create(self._power, board.idle_power_w).close()
        os.environ[SHARED_POWER_VARIABLE] = str(self._power)
        return SimulatedBackend(board, self._backend.slowdown)


@contextmanager
def mode_switch(
    modes: Sequence[str], backend: Backend, root: Path, announce: Callable[[str], None] | None = None
) -> Iterator[ModeSwitch]:
    """Get ready to record in several power modes; the one from before is put back when the block ends.

    Every mode is switched to once, so that one that needs a restart is refused before anything is recorded.

    Args:
        modes: Names of the modes.
        backend: What executes networks.
        root: Folder that /etc and programs lie below.
        announce: Called with a sentence before the machine's mode is switched.

    Raises:
        NoDeviceError: The machine has no power modes.
        EdgewattError: It has no mode of a name, one needs a restart, or switching needs root.
    """
    if isinstance(backend, SimulatedBackend):
        for mode in modes:
            backend.board.in_mode(mode)
        known = os.environ.get(SHARED_POWER_VARIABLE)
        with TemporaryDirectory(prefix="edgewatt-") as folder:
            try:
                yield _SimulatedModes(backend, Path(folder))
            finally:
                os.environ.pop(SHARED_POWER_VARIABLE, None)
                if known is not None:
                    os.environ[SHARED_POWER_VARIABLE] = known
        return
    machine = PowerModes(root)
    for mode in modes:
        machine.find(mode)
    if announce is not None:
        announce(
            f"switching the power mode to {', '.join(modes)} in turn, and back to {machine.current().name} at the end"
        )
    with kept_power_mode(machine, root) as switched:
        _try_all(modes, switched)
        yield _MachineModes(switched, backend)


def _try_all(modes: Sequence[str], switched: SwitchedModes) -> None:
    refused = []
    for mode in modes:
        try:
            switched.switch(mode)
        except RestartNeededError as error:
            refused.append(error)
    if refused:
        raise EdgewattError("; ".join(error.what for error in refused), fix=refused[0].fix)
