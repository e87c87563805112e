"""Which sensor a recording logs, and into which files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewatt.errors import EdgewattError, NoDeviceError, warn
from edgewatt.formats.recording import RecordingPaths
from edgewatt.recording.logger_main import RailLog
from edgewatt.sensors.base import PowerSensor, Rail
from edgewatt.sensors.discovery import NONE, Discovery, discover


@dataclass(frozen=True)
class PowerSource:
    """What is logged.

    Attributes:
        sensor: Its `read_total` is the board's input.
        why: Why these rails are.
        further: Rails that get a log of their own, each as a sensor with that rail alone.
        found: What was found on the board; None for a sensor that belongs to the backend.
    """

    sensor: PowerSensor
    why: str
    further: tuple[PowerSensor, ...] = ()
    found: Discovery | None = None

    def logs(self, paths: RecordingPaths) -> list[RailLog]:
        """The logs, that of the board's input first."""
        names = [_file_word(sensor.rails[0].label) for sensor in self.further]
        further = [
            RailLog(sensor, paths.folder / f"{paths.model}_power_log.{name}.log")
            for sensor, name in zip(self.further, names, strict=True)
        ]
        return [RailLog(self.sensor, paths.power_log), *further]

    def as_dict(self) -> dict[str, Any]:
        """For JSON, without the settings."""
        rails = [*self.sensor.rails, *(rail for sensor in self.further for rail in sensor.rails)]
        steps = {rail.label: rail.current_step_a for rail in rails if rail.current_step_a is not None}
        return {
            "name": self.sensor.name,
            "chip": self.sensor.chip,
            "path": str(self.sensor.path),
            "rails": [rail.label for rail in rails],
            "total": [rail.label for rail in self.sensor.rails],
            "why_total": self.why,
            "current_step_a": steps,
        }


def find_power_source(
    root: Path, sensor: str | None, own: PowerSensor | None = None, further_rails: Sequence[str] = ()
) -> PowerSource | None:
    """Find what to log.

    Args:
        root: Folder that /sys and /proc are read below.
        sensor: What the user asked for, as for `edgewatt.sensors.discovery.discover`.
        own: The backend's own sensor, used where no other is asked for.
        further_rails: Labels of rails that get logs of their own.

    Returns:
        The source; None where none was asked for. Where nothing was asked for and the machine has no sensor at all,
        that is said, and runtimes alone can still be recorded.

    Raises:
        NoDeviceError: The sensor or rails that were asked for are not there, or the board's input is not known.
        EdgewattError: There is no such rail, or further rails were named where no board's are logged.
    """
    if sensor == NONE:
        return _without_further(None, further_rails)
    if own is not None and sensor in (None, own.chip):
        source = PowerSource(own, "it is what the backend pretends to draw; nothing is measured")
        return _without_further(source, further_rails)
    try:
        found = discover(root, sensor)
    except NoDeviceError as error:
        if sensor is not None or further_rails:
            raise
        warn(f"{error.what}: runtimes are recorded without power", fix=error.fix)
        return None
    total = found.total_sensor()
    why = found.total.reason if found.total is not None else ""
    further = tuple(found.sensor_of([_rail(found, label)]) for label in further_rails)
    return PowerSource(total, why, further, found)


def _without_further(source: PowerSource | None, further_rails: Sequence[str]) -> PowerSource | None:
    if further_rails:
        logged = "no power is" if source is None else f"only {source.sensor.name} is"
        raise EdgewattError(
            f"{', '.join(further_rails)} cannot be logged: {logged}", fix="Leave --rails away, or name a board's sensor"
        )
    return source


def _rail(found: Discovery, label: str) -> Rail:
    fits = [rail for rail in found.rails if label in (rail.label, rail.full_name)]
    if len(fits) != 1:
        raise NoDeviceError(
            f"{found.board.name} has {len(fits)} rails {label!r}",
            fix=f"Its rails are {', '.join(rail.full_name for rail in found.rails)}",
        )
    return fits[0]


def _file_word(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", label)
