"""`idling_power.json`: the board's mean power with nothing running, `{"timestamp", "avg_idle_power"}` in uW."""

from __future__ import annotations

from pathlib import Path

from pydantic import FiniteFloat

from edgewatt.errors import FormatError, warn
from edgewatt.formats.checked import FileModel, read_checked, write_checked

FILE_NAME = "idling_power.json"
_LAYOUT = 'The file is {"timestamp": "20241121-051743", "avg_idle_power": 4234560.2} with the power in microwatts'
#: No board that runs a CNN idles below 50 mW, or above 5 kW: such a number is of another unit.
_LEAST_UW, _MOST_UW = 5e4, 5e9


class IdlePower(FileModel):
    """A measurement of idle power.

    Attributes:
        timestamp: When the measurement ended.
        avg_idle_power: Mean power in uW.
    """

    timestamp: str = ""
    avg_idle_power: FiniteFloat

    @property
    def power_w(self) -> float:
        """Mean power in W."""
        return self.avg_idle_power / 1e6


def read_idle_power(path: Path) -> IdlePower:
    """Read an idle power file.

    Raises:
        FormatError: The file is missing, not of this format, or its power is of another unit.
    """
    if not path.exists():
        raise FormatError(
            "there is no idle power, so power above idle is not known",
            where=path,
            fix=f"Measure it with `edgewatt idle`, or write it by hand. {_LAYOUT}",
        )
    idle = read_checked(path, IdlePower, _LAYOUT)
    if idle.avg_idle_power == 0:
        warn("idle power is 0: power above idle will be the whole power", where=path)
    elif not _LEAST_UW <= idle.avg_idle_power <= _MOST_UW:
        raise FormatError(
            f"an idle power of {idle.avg_idle_power:g} uW is none of a board that runs a CNN, so it is of another unit",
            where=path,
            fix=_LAYOUT,
        )
    return idle


def write_idle_power(path: Path, idle: IdlePower) -> None:
    """Write an idle power file, whole or not at all."""
    write_checked(path, idle)
