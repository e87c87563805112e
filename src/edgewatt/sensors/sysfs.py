"""Where the kernel shows its sensor chips, by name and address: numbers such as hwmon1 change from boot to boot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgewatt.sensors.files import read_text

_I2C_ADDRESS = re.compile(r"(\d+)-([0-9a-f]{4})\Z")
_CHIP_FILE = re.compile(r"((in|curr|power|in_voltage|in_current)\d+_input|ui_input_\d+)\Z")


@dataclass(frozen=True)
class ChipFolder:
    """A folder with a chip's files.

    Attributes:
        name: What the chip's driver calls it, such as ina3221.
        address: Its i2c bus and address such as 1-0040, or the device that it belongs to.
        path: The folder.
    """

    name: str
    address: str
    path: Path

    @property
    def order(self) -> tuple[int, int, str, str]:
        """Key that orders chips by bus and address, whatever their numbers in the kernel."""
        match = _I2C_ADDRESS.match(self.address)
        if match is None:
            return (1 << 30, 0, self.name, self.address)
        return (int(match[1]), int(match[2], 16), self.name, self.address)


def find_chips(root: Path) -> list[ChipFolder]:
    """Every chip below `root` that measures voltage, current or power, each once, ordered by bus and address.

    Drivers, devices and classes are searched, because a container or a hardened system may show only some of them.
    """
    found: dict[object, ChipFolder] = {}
    for chip in (*_i2c_chips(root), *_class_chips(root)):
        key = (chip.name, chip.address) if _I2C_ADDRESS.match(chip.address) else chip.path.resolve()
        found.setdefault(key, chip)
    return sorted(found.values(), key=lambda chip: chip.order)


def children(folder: Path) -> list[Path]:
    """What is in a folder, by name; nothing where it is missing or cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _i2c_chips(root: Path) -> Iterator[ChipFolder]:
    bus = root / "sys/bus/i2c"
    devices = [device for driver in children(bus / "drivers") for device in children(driver)]
    for device in (*devices, *children(bus / "devices")):
        if not _I2C_ADDRESS.match(device.name):
            continue
        # Before hwmon had folders of its own, the device's was the chip's.
        iio = [child for child in children(device) if child.name.startswith("iio:device")]
        for folder in (*children(device / "hwmon"), *iio, device):
            name = read_text(folder / "name") or read_text(device / "name")
            if name and _has_chip_files(folder):
                yield ChipFolder(name, device.name, folder)


def _class_chips(root: Path) -> Iterator[ChipFolder]:
    for folder in (*children(root / "sys/class/hwmon"), *children(root / "sys/bus/iio/devices")):
        name = read_text(folder / "name")
        if name and _has_chip_files(folder):
            yield ChipFolder(name, _device_of(folder), folder)


def _device_of(folder: Path) -> str:
    """Name of the device that a class folder belongs to; the folder's own name where it does not tell."""
    resolved = folder.resolve()
    for parent in resolved.parents[:2]:
        if _I2C_ADDRESS.match(parent.name):
            return parent.name
    device = folder / "device"
    return device.resolve().name if device.exists() else folder.name


def _has_chip_files(folder: Path) -> bool:
    return any(_CHIP_FILE.match(file.name) for file in children(folder))
