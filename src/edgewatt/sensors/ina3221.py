"""Texas Instruments INA3221: three channels, under either of its two drivers.

- `ina3221` (hwmon, L4T 34 and newer, mainline): channels 1 to 3, `in{N}_input` in mV, `curr{N}_input` in mA, labels in
  `in{N}_label`, no power. `in4` to `in7` are shunt voltages in uV, `in7` their sum: none of them is a rail.
- `ina3221x` (IIO, L4T up to 32): channels 0 to 2, `in_voltage{N}_input` in mV, `in_current{N}_input` in mA, labels in
  `rail_name_{N}`; `ui_input_{N}` holds both in one read. `in_power{N}_input` is their product cut to whole mW, so it
  is not read.

Sources: the kernel's Documentation/hwmon/ina3221.rst and drivers/hwmon/ina3221.c; NVIDIA's L4T 4.9 kernel,
drivers/staging/iio/meter/ina3221.c; data sheet SBOS576 (a step is 40 uV over the shunt).
"""

from __future__ import annotations

from collections.abc import Iterator

from edgewatt.sensors.base import Channel, Pair, PowerSensor, Rail, RawReading, SensorSettings
from edgewatt.sensors.files import SensorFile, read_number, read_text
from edgewatt.sensors.sysfs import ChipFolder

CHIP = "ina3221"
HWMON_DRIVER, IIO_DRIVER = "ina3221", "ina3221x"
HWMON_CHANNELS, IIO_CHANNELS = (1, 2, 3), (0, 1, 2)
#: What boards write as the label of a channel that is wired to nothing.
NOT_CONNECTED = "NC"
_SHUNT_STEP_V = 40e-6


class VoltageCurrentChannel(Channel):
    """A channel with a file of mV and a file of mA.

    The voltage is read first, as the base method does.
    """

    def __init__(self, rail: Rail, voltage: SensorFile, current: SensorFile) -> None:
        super().__init__(rail, (voltage, current))
        self._voltage = voltage
        self._current = current

    def read_raw(self) -> RawReading:
        """Read mV and mA."""
        return self._voltage.read_number(), self._current.read_number(), None

    def read_pair(self) -> Pair | None:
        """Read mV and mA, both or none."""
        voltage_mv = self._voltage.read_number()
        current_ma = self._current.read_number()
        return None if voltage_mv is None or current_ma is None else (voltage_mv, current_ma)


class OneFileChannel(Channel):
    """A channel whose mV and mA are in one file, and so of one conversion."""

    def __init__(self, rail: Rail, both: SensorFile) -> None:
        super().__init__(rail, (both,))
        self._both = both

    def read_raw(self) -> RawReading:
        """Read mV and mA."""
        numbers = self._both.read_numbers(2)
        return (None, None, None) if numbers is None else (numbers[0], numbers[1], None)


class Ina3221(PowerSensor):
    """An INA3221 under the hwmon driver.

    Args:
        folder: Its hwmon folder.
    """

    def __init__(self, folder: ChipFolder) -> None:
        name = f"{HWMON_DRIVER}@{folder.address}"
        super().__init__(name, CHIP, folder.path, list(_hwmon_channels(name, folder)))

    def settings(self) -> SensorSettings:
        """Samples, update_interval, enabled channels and shunts, as they are now."""
        samples = read_number(self.path / "samples")
        enabled = {n: read_number(self.path / f"in{n}_enable") for n in HWMON_CHANNELS}
        shunts = {n: read_number(self.path / f"shunt{n}_resistor") for n in HWMON_CHANNELS}
        known = any(value is not None for value in enabled.values())
        return SensorSettings(
            driver=HWMON_DRIVER,
            samples=None if samples is None else int(samples),
            update_interval_ms=read_number(self.path / "update_interval"),
            enabled_channels=tuple(n for n, value in enabled.items() if value) if known else None,
            shunt_ohm={n: micro_ohm / 1e6 for n, micro_ohm in shunts.items() if micro_ohm is not None},
        )


class Ina3221Iio(PowerSensor):
    """An INA3221 under NVIDIA's IIO driver of L4T 32 and older.

    Args:
        folder: Its iio folder.
    """

    def __init__(self, folder: ChipFolder) -> None:
        name = f"{IIO_DRIVER}@{folder.address}"
        super().__init__(name, CHIP, folder.path, list(_iio_channels(name, folder)))

    def settings(self) -> SensorSettings:
        """What the driver tells: whether the chip converts all the time, and the delays between reads."""
        names = ("running_mode", *(f"polling_delay_{n}" for n in IIO_CHANNELS))
        texts = {name: read_text(self.path / name) for name in names}
        mode = texts["running_mode"]
        if mode in _RUNNING_MODES:
            texts["running_mode"] = _RUNNING_MODES[mode]
        return SensorSettings(driver=IIO_DRIVER, other={name: text for name, text in texts.items() if text})


_RUNNING_MODES = {"0": "triggered", "1": "continuous"}


def _hwmon_channels(sensor: str, folder: ChipFolder) -> Iterator[Channel]:
    for number in HWMON_CHANNELS:
        voltage = SensorFile(folder.path / f"in{number}_input")
        current = SensorFile(folder.path / f"curr{number}_input")
        label = read_text(folder.path / f"in{number}_label")
        if label == NOT_CONNECTED or not current.path.exists() or _is_disabled(folder, number):
            continue
        micro_ohm = read_number(folder.path / f"shunt{number}_resistor")
        rail = Rail(
            label or f"channel {number}",
            CHIP,
            folder.path,
            sensor,
            number,
            _SHUNT_STEP_V / (micro_ohm / 1e6) if micro_ohm else None,
        )
        yield VoltageCurrentChannel(rail, voltage, current)


def _is_disabled(folder: ChipFolder, number: int) -> bool:
    """Whether a channel is switched off, by its enable file, or by the error that its value gives."""
    if read_number(folder.path / f"in{number}_enable") == 0:
        return True
    probe = SensorFile(folder.path / f"in{number}_input")
    probe.read_number()
    probe.close()
    return "ENODATA" in probe.errors


def _iio_channels(sensor: str, folder: ChipFolder) -> Iterator[Channel]:
    # A chip that converts on demand gives its values through files of their own, and 0 in the others.
    triggered = read_number(folder.path / "running_mode") == 0
    for number in IIO_CHANNELS:
        voltage = folder.path / f"in_voltage{number}_input"
        current = folder.path / f"in_current{number}_{'trigger_' if triggered else ''}input"
        both = folder.path / f"ui_input_{number}"
        label = read_text(folder.path / f"rail_name_{number}")
        if label == NOT_CONNECTED or not (current.exists() or both.exists()):
            continue
        rail = Rail(label or f"channel {number}", CHIP, folder.path, sensor, number)
        if both.exists() and not triggered:
            yield OneFileChannel(rail, SensorFile(both))
        else:
            yield VoltageCurrentChannel(rail, SensorFile(voltage), SensorFile(current))
