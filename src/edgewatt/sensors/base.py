"""What a power sensor is.

A sensor is one chip, or one source such as RAPL, with one channel for each rail. It opens its files once and is then
read as often as one likes:

    with sensor.select(rails) as chosen:
        voltage_mv, current_ma = chosen.read_total()

**A total as voltage and current.** Power logs hold mV and mA, whose product is uW. So a total is always given as such
a pair, by this convention:

- one rail with voltage and current: these two, as measured;
- one rail of which only power is known (RAPL, NVML, hwmon's `power*_input`): 1000 mV, and as many mA as the power
  has mW;
- a sum of rails: the voltage of the first of them (1000 mV while that is switched off), and the current that makes
  the product the sum of their powers.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from edgewatt.errors import EdgewattError
from edgewatt.sensors.files import SensorFile, error_counts

#: Voltage that stands for a rail of which only power is known.
NOMINAL_MV = 1000.0

#: Voltage in mV, current in mA, power in uW; each None where unknown.
RawReading: TypeAlias = "tuple[float | None, float | None, float | None]"
#: mV and mA whose product is a power in uW.
Pair: TypeAlias = "tuple[float, float]"

_Sensor = TypeVar("_Sensor", bound="PowerSensor")


@dataclass(frozen=True)
class Rail:
    """One supply that a sensor measures.

    Attributes:
        label: The board's name for it, such as VDD_IN; `channel 1` where the board gives none.
        chip: The chip or source that measures it, such as ina3221.
        path: The folder with its files, or what stands for it.
        sensor: Name of its sensor, such as ina3221@1-0040.
        channel: The driver's number for it.
        current_step_a: Smallest difference of two currents in A, where it is known.
    """

    label: str
    chip: str
    path: Path
    sensor: str
    channel: int = 0
    current_step_a: float | None = None

    @property
    def full_name(self) -> str:
        """Its sensor's name and its label, such as ina3221@1-0040:VDD_IN."""
        return f"{self.sensor}:{self.label}"


@dataclass(frozen=True)
class RailReading:
    """One reading of a rail. Currents and powers are signed: a sensor's offset makes small loads read below zero.

    Attributes:
        rail: The rail.
        voltage_v: Voltage in V, or None where unknown.
        current_a: Current in A, or None where unknown.
        power_w: Power in W, or None where unknown.
    """

    rail: Rail
    voltage_v: float | None
    current_a: float | None
    power_w: float | None


@dataclass(frozen=True)
class SensorSettings:
    """How a sensor is set, as far as its driver tells.

    Attributes:
        driver: Name of the driver or library.
        samples: Number of conversions that the chip's average is over.
        update_interval_ms: What the driver's `update_interval` says; `period.py` says what that means.
        enabled_channels: Numbers of the channels that are converted, ascending.
        shunt_ohm: Resistance of each channel's shunt by channel.
        other: Whatever else is known, by name.
    """

    driver: str
    samples: int | None = None
    update_interval_ms: float | None = None
    enabled_channels: tuple[int, ...] | None = None
    shunt_ohm: Mapping[int, float] = field(default_factory=dict)
    other: Mapping[str, str | float | int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """What is known, for JSON."""
        known: dict[str, Any] = {
            "driver": self.driver,
            "samples": self.samples,
            "update_interval_ms": self.update_interval_ms,
            "enabled_channels": None if self.enabled_channels is None else list(self.enabled_channels),
            "shunt_ohm": {str(channel): ohm for channel, ohm in self.shunt_ohm.items()} or None,
        }
        return {name: value for name, value in known.items() if value is not None} | dict(self.other)


class Channel(ABC):
    """What reads one rail.

    Attributes:
        rail: The rail.
        files: The files that are read, opened with the sensor.
    """

    def __init__(self, rail: Rail, files: Sequence[SensorFile] = ()) -> None:
        self.rail = rail
        self.files = tuple(files)

    @abstractmethod
    def read_raw(self) -> RawReading:
        """Read voltage in mV, current in mA and power in uW, each None where unknown."""

    def read_pair(self) -> Pair | None:
        """Read a pair of mV and mA whose product is the rail's power in uW; None where that is unknown.

        Channels that have power alone, or can read it faster than voltage and current, override this.
        """
        voltage_mv, current_ma, power_uw = self.read_raw()
        if voltage_mv is not None and current_ma is not None:
            return voltage_mv, current_ma
        return None if power_uw is None else (NOMINAL_MV, power_uw / NOMINAL_MV)

    def open(self) -> None:
        """Open the files."""
        for file in self.files:
            file.open()

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            file.close()

    @property
    def errors(self) -> dict[str, dict[str, int]]:
        """How often each error was met, by file and name of errno."""
        return error_counts(self.files)


class PowerSensor(ABC):
    """A chip or source that measures rails. It can be pickled, and is to be opened where it is read.

    Attributes:
        name: Its name, which no other sensor of the board has, such as ina3221@1-0040.
        chip: The kind of chip or source.
        path: The folder with its files, or what stands for it.
        channels: One for each rail that is read, in order.
    """

    def __init__(self, name: str, chip: str, path: Path, channels: Sequence[Channel]) -> None:
        self.name = name
        self.chip = chip
        self.path = path
        self.channels = tuple(channels)

    @property
    def rails(self) -> tuple[Rail, ...]:
        """The rails that are read."""
        return tuple(channel.rail for channel in self.channels)

    @abstractmethod
    def settings(self) -> SensorSettings:
        """How the sensor is set now."""

    def select(self: _Sensor, rails: Sequence[Rail]) -> _Sensor:
        """The same sensor with only some of its rails, in the order given.

        Raises:
            EdgewattError: The sensor has no such rail.
        """
        by_rail = {channel.rail: channel for channel in self.channels}
        missing = [rail.full_name for rail in rails if rail not in by_rail]
        if missing:
            raise EdgewattError(
                f"the sensor {self.name} has no rail {', '.join(missing)}",
                fix=f"Its rails are {', '.join(rail.label for rail in self.rails)}",
            )
        chosen = copy.copy(self)
        chosen.channels = tuple(by_rail[rail] for rail in rails)
        return chosen

    def open(self) -> None:
        """Open every file once; one that cannot be opened is counted and does not stop the others."""
        for channel in self.channels:
            channel.open()

    def close(self) -> None:
        """Close every file."""
        for channel in self.channels:
            channel.close()

    def read(self) -> list[RailReading]:
        """Read every rail, one after the other; what cannot be read is None and counted in `errors`."""
        return [reading_of(channel.rail, channel.read_raw()) for channel in self.channels]

    def read_pairs(self) -> list[Pair | None]:
        """Read every rail as a power log has it: mV and mA whose product is its power in uW, None where unknown."""
        return [channel.read_pair() for channel in self.channels]

    def read_total(self) -> Pair | None:
        """Read the sum of the rails as fast as possible.

        Returns:
            mV and mA whose product is the sum of the powers in uW, by the convention at the head of this module; None
            where one of the rails could not be read.
        """
        return sum_of_pairs(self.read_pairs())

    @property
    def errors(self) -> dict[str, dict[str, int]]:
        """How often each error was met since the sensor was made, by file and name of errno."""
        return {path: counts for channel in self.channels for path, counts in channel.errors.items()}

    def __enter__(self: _Sensor) -> _Sensor:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class CombinedSensor(PowerSensor):
    """Rails of several sensors, read one after the other as if they were one sensor's.

    Args:
        sensors: The sensors, each with the rails that are read.
    """

    def __init__(self, sensors: Sequence[PowerSensor]) -> None:
        self._sensors = tuple(sensors)
        super().__init__(
            "+".join(sensor.name for sensor in sensors),
            "+".join(dict.fromkeys(sensor.chip for sensor in sensors)),
            sensors[0].path,
            [channel for sensor in sensors for channel in sensor.channels],
        )

    def open(self) -> None:
        """Open every sensor."""
        for sensor in self._sensors:
            sensor.open()

    def close(self) -> None:
        """Close every sensor."""
        for sensor in self._sensors:
            sensor.close()

    def settings(self) -> SensorSettings:
        """Settings of each sensor under its name."""
        parts: dict[str, Any] = {sensor.name: sensor.settings().as_dict() for sensor in self._sensors}
        return SensorSettings(driver=self.chip, other=parts)


def reading_of(rail: Rail, raw: RawReading) -> RailReading:
    """A raw reading in V, A and W; power is that of the driver where it gives one."""
    voltage_mv, current_ma, power_uw = raw
    if power_uw is None and voltage_mv is not None and current_ma is not None:
        power_uw = voltage_mv * current_ma
    return RailReading(
        rail,
        None if voltage_mv is None else voltage_mv / 1e3,
        None if current_ma is None else current_ma / 1e3,
        None if power_uw is None else power_uw / 1e6,
    )


def sum_of_pairs(pairs: Sequence[Pair | None]) -> Pair | None:
    """Sum of rails that were read as pairs of mV and mA.

    Args:
        pairs: Those of the total's rails, in order.

    Returns:
        mV and mA by the convention at the head of this module, or None where one of them is unknown or there is none.
    """
    known = [pair for pair in pairs if pair is not None]
    if not known or len(known) < len(pairs):
        return None
    if len(known) == 1:
        return known[0]
    voltage_mv = known[0][0] if known[0][0] > 0 else NOMINAL_MV
    return voltage_mv, sum(voltage * current for voltage, current in known) / voltage_mv
