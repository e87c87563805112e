"""Any hwmon chip that measures power: `power{N}_input` in uW, as the kernel's hwmon interface prescribes.

Among them the INA238 on the carrier of Jetson AGX Thor, whose rail is named by the chip's own `label`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from edgewatt.sensors.base import NOMINAL_MV, Channel, Pair, PowerSensor, Rail, RawReading, SensorSettings
from edgewatt.sensors.files import SensorFile, read_number, read_text
from edgewatt.sensors.sysfs import ChipFolder, children

_POWER_FILE = re.compile(r"power(\d+)_input\Z")
#: These say what a USB-C supply has agreed to deliver, not what is drawn.
_NOT_MEASURED = ("ucsi",)
_SHUNT_FILE = "shunt_resistor"


class PowerFileChannel(Channel):
    """A channel with a file of uW, and voltage and current where the chip has them."""

    def __init__(self, rail: Rail, power: SensorFile, voltage: SensorFile | None, current: SensorFile | None) -> None:
        super().__init__(rail, [file for file in (power, voltage, current) if file is not None])
        self._power = power
        self._voltage = voltage
        self._current = current

    def read_raw(self) -> RawReading:
        """Read mV, mA and uW."""
        return (
            None if self._voltage is None else self._voltage.read_number(),
            None if self._current is None else self._current.read_number(),
            self._power.read_number(),
        )

    def read_pair(self) -> Pair | None:
        """Read the power alone: one read is faster than two, and the chip's own product is of one conversion."""
        power_uw = self._power.read_number()
        return None if power_uw is None else (NOMINAL_MV, power_uw / NOMINAL_MV)


class HwmonSensor(PowerSensor):
    """A hwmon chip with power files.

    Args:
        folder: Its hwmon folder.
    """

    def __init__(self, folder: ChipFolder) -> None:
        name = f"{folder.name}@{folder.address}"
        super().__init__(name, folder.name, folder.path, list(_channels(name, folder)))

    def settings(self) -> SensorSettings:
        """Samples, update_interval and shunt, where the driver has them."""
        samples = read_number(self.path / "samples")
        micro_ohm = read_number(self.path / _SHUNT_FILE)
        return SensorSettings(
            driver=self.chip,
            samples=None if samples is None else int(samples),
            update_interval_ms=read_number(self.path / "update_interval"),
            shunt_ohm={} if micro_ohm is None else {channel.rail.channel: micro_ohm / 1e6 for channel in self.channels},
        )


def measures_power(folder: ChipFolder) -> bool:
    """Whether a hwmon chip measures power."""
    return not folder.name.startswith(_NOT_MEASURED) and bool(_power_numbers(folder))


def _power_numbers(folder: ChipFolder) -> list[int]:
    return sorted(int(match[1]) for file in children(folder.path) if (match := _POWER_FILE.match(file.name)))


def _channels(sensor: str, folder: ChipFolder) -> Iterator[Channel]:
    numbers = _power_numbers(folder)
    for number in numbers:
        rail = Rail(_label(folder, number, len(numbers)), folder.name, folder.path, sensor, number)
        yield PowerFileChannel(
            rail,
            SensorFile(folder.path / f"power{number}_input"),
            _file(folder, f"in{number}_input"),
            _file(folder, f"curr{number}_input"),
        )


def _label(folder: ChipFolder, number: int, count: int) -> str:
    """The channel's label, or the whole chip's."""
    own = read_text(folder.path / f"power{number}_label") or read_text(folder.path / f"in{number}_label")
    if own:
        return own
    whole = read_text(folder.path / "label")
    if whole is None:
        return f"{folder.name} power{number}"
    return whole if count == 1 else f"{whole} {number}"


def _file(folder: ChipFolder, name: str) -> SensorFile | None:
    path = folder.path / name
    return SensorFile(path) if path.exists() else None
