"""Folders like those that boards show below /sys and /proc, for tests.

Values, labels and addresses are those of real boards where the facts give them, and else fit the chip's steps. Links
are as in sysfs: the chip's folder is below /sys/devices, and drivers, devices and classes link to it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

Files = Mapping[str, object]

MODELS = {
    "orin-nano": ("NVIDIA Jetson Orin Nano Developer Kit", "nvidia,p3768-0000+p3767-0005", "nvidia,tegra234"),
    "agx-orin": ("NVIDIA Jetson AGX Orin Developer Kit", "nvidia,p3737-0000+p3701-0000", "nvidia,tegra234"),
    "igx-orin": ("NVIDIA IGX Orin Development Kit", "nvidia,p3740-0002+p3701-0008", "nvidia,tegra234"),
    "xavier-nx": ("NVIDIA Jetson Xavier NX Developer Kit", "nvidia,p3509-0000+p3668-0000", "nvidia,tegra194"),
    "agx-xavier": ("Jetson-AGX", "nvidia,p2972-0000", "nvidia,tegra194"),
    "tx1": ("NVIDIA Jetson TX1 Developer Kit", "nvidia,p2371-2180", "nvidia,tegra210"),
    "tx2": ("quill", "nvidia,p2771-0000", "nvidia,tegra186"),
    "tx2-nx": ("NVIDIA Jetson TX2 NX Developer Kit", "nvidia,p3509-0000+p3636-0001", "nvidia,tegra186"),
    "nano": ("NVIDIA Jetson Nano Developer Kit", "nvidia,p3449-0000-b00+p3448-0000-b00", "nvidia,tegra210"),
    "nano-2gb": ("NVIDIA Jetson Nano 2GB Developer Kit", "nvidia,p3542-0000+p3448-0003", "nvidia,tegra210"),
    "thor": ("NVIDIA Jetson AGX Thor Developer Kit", "nvidia,p3971-0089+p3834-0008", "nvidia,tegra264"),
}


class Tree:
    """A root folder with a board in it.

    Attributes:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str | Path, content: object) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else f"{content}\n".encode()
        file.write_bytes(data)
        return file

    def name_board(self, model: str | None, *compatible: str) -> Tree:
        if model is not None:
            self.write("proc/device-tree/model", model.encode() + b"\0")
        if compatible:
            self.write("proc/device-tree/compatible", b"".join(entry.encode() + b"\0" for entry in compatible))
        return self

    def add_hwmon(self, driver: str, address: str, hwmon: str, files: Files) -> Path:
        """An i2c chip under a hwmon driver; returns its folder."""
        device = self.root / f"sys/devices/platform/bus@0/c240000.i2c/i2c-{address.split('-')[0]}/{address}"
        folder = device / "hwmon" / hwmon
        self._fill(folder, {"name": driver, **files})
        self._fill(device, {"name": driver})
        self._link(self.root / f"sys/bus/i2c/drivers/{driver}/{address}", device)
        self._link(self.root / f"sys/bus/i2c/devices/{address}", device)
        self._link(self.root / f"sys/class/hwmon/{hwmon}", folder)
        self._link(folder / "device", device)
        for name in ("bind", "unbind", "uevent"):
            self.write(f"sys/bus/i2c/drivers/{driver}/{name}", "")
        return folder

    def add_ina3221(
        self,
        address: str,
        hwmon: str,
        rails: Mapping[int, tuple[str | None, int, int]],
        *,
        shunt: int = 5000,
        samples: int = 1,
        interval: int = 7,
        enabled: tuple[int, ...] = (1, 2, 3),
    ) -> Path:
        """An INA3221; rails are label, mV and mA by channel."""
        files: dict[str, object] = {"samples": samples, "update_interval": interval}
        for number in (1, 2, 3):
            label, voltage, current = rails.get(number, (None, 0, 0))
            files |= {f"in{number}_input": voltage, f"curr{number}_input": current}
            files |= {f"in{number}_enable": int(number in enabled), f"shunt{number}_resistor": shunt}
            files |= {f"in{number + 3}_input": current * shunt // 1000, f"curr{number}_crit": 7784}
            if label is not None:
                files[f"in{number}_label"] = label
        files |= {"in7_input": 7360, "in7_label": "sum of shunt voltages", "curr4_input": 1472}
        files |= {"uevent": "OF_NAME=ina3221", "power/control": "auto"}
        return self.add_hwmon("ina3221", address, hwmon, files)

    def add_ina3221x(
        self, address: str, number: int, rails: Mapping[int, tuple[str, int, int]], *, both: bool = True, mode: int = 1
    ) -> Path:
        """An INA3221 under NVIDIA's IIO driver; rails are label, mV and mA by channel."""
        device = self.root / f"sys/devices/c250000.i2c/i2c-{address.split('-')[0]}/{address}"
        folder = device / f"iio:device{number}"
        files: dict[str, object] = {"name": "ina3221x", "running_mode": mode}
        for channel, (label, voltage, current) in rails.items():
            power = voltage * current // 1000
            shown_current, shown_power = (current, power) if mode else (0, 0)
            files |= {f"rail_name_{channel}": label, f"in_voltage{channel}_input": voltage}
            files |= {f"in_current{channel}_input": shown_current, f"in_power{channel}_input": shown_power}
            files |= {f"in_current{channel}_trigger_input": 0 if mode else current}
            files |= {f"warn_current_limit_{channel}": "32760 ma", f"crit_power_limit_{channel}": "165000 mw"}
            files |= {f"polling_delay_{channel}": "0 ms"}
            if both:
                files[f"ui_input_{channel}"] = f"{voltage} {current}"
        self._fill(folder, files)
        self._fill(device, {"name": "ina3221x"})
        self._link(self.root / f"sys/bus/i2c/drivers/ina3221x/{address}", device)
        self._link(self.root / f"sys/bus/iio/devices/iio:device{number}", folder)
        return folder

    def add_rapl(self, zones: Mapping[str, tuple[str, int]], energy_range: int = 262_143_328_850) -> Path:
        """RAPL zones: name and uJ by folder."""
        for folder, (name, energy) in zones.items():
            path = f"sys/class/powercap/{folder}"
            self.write(f"{path}/name", name)
            self.write(f"{path}/energy_uj", energy)
            self.write(f"{path}/max_energy_range_uj", energy_range)
        return self.root / "sys/class/powercap"

    def _fill(self, folder: Path, files: Files) -> None:
        for name, content in files.items():
            self.write(folder / name, content)

    def _link(self, link: Path, target: Path) -> None:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(target, link.parent))


def orin_nano(root: Path, hwmon: str = "hwmon1", samples: int = 1, interval: int = 7) -> Tree:
    tree = Tree(root).name_board(*MODELS["orin-nano"])
    tree.add_ina3221("1-0040", hwmon, ORIN_NANO_RAILS, samples=samples, interval=interval)
    return tree


def agx_orin(root: Path, *, jetpack: int) -> Tree:
    tree = Tree(root).name_board(*MODELS["agx-orin"])
    tree.add_ina3221("1-0040", "hwmon3", AGX_ORIN_RAILS, shunt=2000)
    if jetpack >= 6:  # unused channels have no label and are switched off
        rail = {2: ("VDDQ_VDD2_1V8AO", 4968, 80)}
        tree.add_ina3221("1-0041", "hwmon4", rail, shunt=2000, interval=2, enabled=(2,))
    else:  # they share a label and read zero
        rails = {1: ("NC", 0, 0), 2: ("VDDQ_VDD2_1V8AO", 4968, 80), 3: ("NC", 0, 0)}
        tree.add_ina3221("1-0041", "hwmon4", rails, shunt=2000)
    return tree


def tx2(root: Path, *, carrier: bool = True) -> Tree:
    tree = Tree(root).name_board(*MODELS["tx2"])
    tree.add_ina3221x("0-0040", 0, {0: ("VDD_SYS_GPU", 19152, 8), 1: ("VDD_SYS_SOC", 19152, 40)})
    tree.add_ina3221x("0-0041", 1, {0: ("VDD_IN", 19152, 272), 1: ("VDD_SYS_CPU", 19152, 96)})
    if carrier:
        tree.add_ina3221x("0-0042", 2, {0: ("VDD_MUX", 19136, 80), 1: ("VDD_5V0_IO_SYS", 5040, 160)})
        tree.add_ina3221x("0-0043", 3, {0: ("VDD_3V3_IO_SLP", 3296, 40), 1: ("VDD_1V8_IO", 1800, 24)})
    return tree


def agx_xavier(root: Path) -> Tree:
    tree = Tree(root).name_board(*MODELS["agx-xavier"])
    tree.add_ina3221x("1-0040", 0, {0: ("GPU", 19248, 60), 1: ("CPU", 19248, 20), 2: ("SOC", 19248, 130)})
    tree.add_ina3221x("1-0041", 1, {0: ("CV", 19248, 0), 1: ("VDDRQ", 19248, 10), 2: ("SYS5V", 5032, 535)})
    return tree


def thor(root: Path, *, gpu_ma: int = 20) -> Tree:
    tree = Tree(root).name_board(*MODELS["thor"])
    rails = {1: ("VDD_GPU", 19864, gpu_ma), 2: ("VDD_CPU_SOC_MSS", 19856, 300), 3: ("VIN_SYS_5V0", 4968, 820)}
    tree.add_ina3221("2-0040", "hwmon5", rails, shunt=2000)
    vin = {"label": "VIN", "in0_input": 2, "in1_input": 19875, "curr1_input": 1056, "power1_input": 20986000}
    tree.add_hwmon("ina238", "2-0044", "hwmon4", {**vin, "shunt_resistor": 2000, "temp1_input": 41000})
    tree.write("sys/class/hwmon/hwmon6/name", "soctherm_oc")
    tree.write("sys/class/hwmon/hwmon6/oc1_event_cnt", 0)
    return tree


def nano(root: Path) -> Tree:
    tree = Tree(root).name_board(*MODELS["nano"])
    tree.add_ina3221x(
        "6-0040", 0, {0: ("POM_5V_IN", 5064, 184), 1: ("POM_5V_GPU", 5064, 0), 2: ("POM_5V_CPU", 5064, 16)}
    )
    return tree


ORIN_NANO_RAILS = {1: ("VDD_IN", 5000, 1096), 2: ("VDD_CPU_GPU_CV", 5000, 88), 3: ("VDD_SOC", 5000, 288)}
AGX_ORIN_RAILS = {1: ("VDD_GPU_SOC", 12008, 280), 2: ("VDD_CPU_CV", 12008, 40), 3: ("VIN_SYS_5V0", 4968, 980)}
