"""RAPL: energy counters of x86 processors, through the kernel's powercap interface.

`/sys/class/powercap/intel-rapl:N` is a package, `intel-rapl:N:M` a part of it or, for `dram`, the memory beside it;
AMD's processors show theirs under the same names. The same packages are shown again as `intel-rapl-mmio:N`, which are
not counted twice. `energy_uj` counts uJ, moves about once a millisecond, starts anew behind `max_energy_range_uj`, and
may be read by root alone since Linux 5.10 (CVE-2020-8694).

Source: the kernel's Documentation/power/powercap/powercap.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from edgewatt.sensors.base import Channel, PowerSensor, Rail, RawReading, SensorSettings
from edgewatt.sensors.energy_counter import EnergyCounter
from edgewatt.sensors.files import SensorFile, read_number, read_text
from edgewatt.sensors.sysfs import children

CHIP = "rapl"
_POWERCAP = "sys/class/powercap"
_ZONE = re.compile(r"intel-rapl:\d+(:\d+)?\Z")
#: Memory is measured beside the packages; cores and graphics are within them, and psys is around them.
_COUNTED = re.compile(r"package-\d+(-die-\d+)?(-dram)?\Z")


class EnergyChannel(Channel):
    """A zone's counter of uJ."""

    def __init__(self, rail: Rail, energy: SensorFile, counter: EnergyCounter) -> None:
        super().__init__(rail, (energy,))
        self._energy = energy
        self._counter = counter

    def open(self) -> None:
        """Open the file and start from the counter's value."""
        super().open()
        self._counter.start(self._energy.read_number())

    def read_raw(self) -> RawReading:
        """Read the mean power since the counter last moved."""
        return None, None, self._counter.power_uw(self._energy.read_number())


class RaplSensor(PowerSensor):
    """The processor's energy counters.

    Args:
        root: Root folder.
    """

    def __init__(self, root: Path) -> None:
        path = root / _POWERCAP
        super().__init__(CHIP, CHIP, path, list(_channels(path)))

    @property
    def counted_rails(self) -> tuple[Rail, ...]:
        """The rails that add up without counting anything twice: packages and memory."""
        return tuple(rail for rail in self.rails if _COUNTED.match(rail.label))

    def settings(self) -> SensorSettings:
        """The counters' ranges."""
        ranges = {c.rail.label: read_number(c.rail.path / "max_energy_range_uj") for c in self.channels}
        return SensorSettings(
            driver="powercap",
            other={f"{label} range uJ": value for label, value in ranges.items() if value is not None},
        )


def _channels(path: Path) -> Iterator[Channel]:
    names: dict[str, str] = {}
    for index, zone in enumerate(zone for zone in children(path) if _ZONE.match(zone.name)):
        name = read_text(zone / "name")
        if name is None:
            continue
        names[zone.name] = name
        parent = names.get(zone.name.rpartition(":")[0])
        label = name if parent is None else f"{parent}-{name}"
        rail = Rail(label, CHIP, zone, CHIP, index)
        counter = EnergyCounter(range_uj=read_number(zone / "max_energy_range_uj"))
        yield EnergyChannel(rail, SensorFile(zone / "energy_uj"), counter)
