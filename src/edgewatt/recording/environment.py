"""What surrounds a recording and changes it: board, power mode, clocks, temperatures, throttling, load, versions.

Everything is read from files below a root folder, and what is not there or not to be read is left out. Where things
lie is NVIDIA's Jetson Linux (L4T 32 to 39) beside what every Linux has:

- power mode: /var/lib/nvpmodel/status (`pmode:0002`), its name in /etc/nvpmodel.conf (`< POWER_MODEL ID=2 NAME=15W >`)
- GPU: the devfreq device whose name has gpu, ga10b, gv11b or gp10b in it
- memory: the EMC clock in debugfs (root only), or its devfreq device
- throttling: event counters of the over-current alarms (`soctherm_oc`), alarms of current limits, cooling devices
"""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import edgewatt
from edgewatt.recording.power_modes import read_power_modes
from edgewatt.sensors.boards import identify_board
from edgewatt.sensors.files import read_number, read_text

_GPU_WORDS = ("gpu", "ga10b", "gv11b", "gp10b")
_EMC = "sys/kernel/debug/bpmp/debug/clk/emc"
_GPU_LOADS = (
    "sys/devices/gpu.0/load",
    "sys/devices/platform/gpu.0/load",
    "sys/devices/platform/bus@0/17000000.gpu/load",
)
#: Below this a thermal zone says that what it measures is off.
_OFF_CELSIUS = -100.0
_LOAD_SAMPLES, _LOAD_EVERY_S = 5, 0.04
_PACKAGES = ("numpy", "onnx", "onnxruntime", "polars", "scikit-learn")


@dataclass(frozen=True)
class Clock:
    """A clock, in kHz.

    Attributes:
        lowest: The lowest that it may be set to now.
        highest: The highest.
        current: What it is; None where that is not told.
        governor: What decides between them.
    """

    lowest: float
    highest: float
    current: float | None = None
    governor: str | None = None

    @property
    def locked(self) -> bool:
        """Whether it cannot change."""
        return self.lowest == self.highest

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        known = {
            "lowest_khz": self.lowest,
            "highest_khz": self.highest,
            "current_khz": self.current,
            "governor": self.governor,
        }
        return {name: value for name, value in known.items() if value is not None} | {"locked": self.locked}


@dataclass(frozen=True)
class Environment:
    """A board's state at one time; empty or None is unknown.

    Attributes:
        board: The board's name.
        l4t: NVIDIA's release of its Linux, such as R36.4.4.
        power_mode: Name of the power mode.
        cpu_clocks: Clock of each processor that is online, by name.
        gpu_clocks: Clock of each GPU, by name.
        memory_clock: Clock of the memory.
        temperatures: In degrees Celsius, by zone.
        throttling: Counters and states that grow when the board is throttled, by file.
        load: The system's load average over a minute.
        gpu_load: Share of time that the GPU was busy lately, from 0 to 1.
    """

    board: str
    l4t: str | None = None
    power_mode: str | None = None
    cpu_clocks: dict[str, Clock] = field(default_factory=dict)
    gpu_clocks: dict[str, Clock] = field(default_factory=dict)
    memory_clock: Clock | None = None
    temperatures: dict[str, float] = field(default_factory=dict)
    throttling: dict[str, float] = field(default_factory=dict)
    load: float | None = None
    gpu_load: float | None = None

    @property
    def clocks_locked(self) -> bool | None:
        """Whether no clock can change (as `jetson_clocks` sets them); None where none is known."""
        clocks = [*self.cpu_clocks.values(), *self.gpu_clocks.values()]
        return all(clock.locked for clock in clocks) if clocks else None

    def clocks_as_dict(self) -> dict[str, Any]:
        """The clocks, for JSON."""
        known: dict[str, Any] = {
            "cpu": {name: clock.as_dict() for name, clock in self.cpu_clocks.items()},
            "gpu": {name: clock.as_dict() for name, clock in self.gpu_clocks.items()},
            "memory": self.memory_clock.as_dict() if self.memory_clock else None,
            "locked": self.clocks_locked,
        }
        return {name: value for name, value in known.items() if value not in (None, {})}


def read_environment(root: Path = Path("/")) -> Environment:
    """Read a board's state.

    Args:
        root: Folder that /sys, /proc, /etc and /var are read below.
    """
    return Environment(
        board=identify_board(root).name,
        l4t=_l4t(root),
        power_mode=_power_mode(root),
        cpu_clocks=_cpu_clocks(root),
        gpu_clocks=_gpu_clocks(root),
        memory_clock=_memory_clock(root),
        temperatures=_temperatures(root),
        throttling=_throttling(root),
        load=_load(root),
        gpu_load=gpu_load(root),
    )


def gpu_load(root: Path = Path("/")) -> float | None:
    """Share of time that an integrated GPU was busy lately, from 0 to 1; None where it is not told."""
    paths = [root / path for path in _GPU_LOADS] + sorted(root.glob("sys/class/devfreq/*gpu*/device/load"))
    values = [value for path in paths if (value := read_number(path)) is not None]
    return values[0] / 1000 if values else None


def mean_gpu_load(root: Path = Path("/")) -> float | None:
    """The GPU's load over a fifth of a second: what is told is a moment's."""
    loads = []
    for _ in range(_LOAD_SAMPLES):
        load = gpu_load(root)
        if load is None:
            return None
        loads.append(load)
        time.sleep(_LOAD_EVERY_S)
    return sum(loads) / len(loads)


def software_versions() -> dict[str, str]:
    """Versions of what edgewatt itself runs on."""
    versions = {
        "edgewatt": edgewatt.__version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def host_facts() -> dict[str, Any]:
    """What is known of the machine whatever its board: processors that may be used, memory, container."""
    facts: dict[str, Any] = {"processors": os.cpu_count()}
    if hasattr(os, "sched_getaffinity"):
        facts["usable_processors"] = len(os.sched_getaffinity(0))
    if sys.platform == "linux":
        facts["memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        facts["container"] = Path("/.dockerenv").exists() or Path("/run/.containerenv").exists()
    return facts


def _l4t(root: Path) -> str | None:
    text = read_text(root / "etc/nv_tegra_release") or ""
    match = re.search(r"R(\d+) \(release\), REVISION: ([\d.]+)", text)
    if match:
        return f"R{match[1]}.{match[2]}"
    # Images that are put together from packages have no such file.
    status = root / "var/lib/dpkg/status"
    try:
        with status.open(encoding="utf-8", errors="replace") as file:
            package = ""
            for line in file:
                if line.startswith("Package:"):
                    package = line.split(":", 1)[1].strip()
                elif package == "nvidia-l4t-core" and line.startswith("Version:"):
                    return f"R{line.split(':', 1)[1].strip().partition('-')[0]}"
    except OSError:
        return None
    return None


def _power_mode(root: Path) -> str | None:
    status = read_text(root / "var/lib/nvpmodel/status") or ""
    match = re.search(r"pmode:(\d+)", status)
    if match is None:
        return None
    number = int(match[1])
    names = {mode.number: mode.name for mode in read_power_modes(root)}
    return names.get(number, f"mode {number}")


def _cpu_clocks(root: Path) -> dict[str, Clock]:
    clocks = {}
    for folder in sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*"), key=lambda path: int(path.name[3:])):
        if read_number(folder / "online") == 0:
            continue
        clock = _clock(
            folder / "cpufreq", "scaling_min_freq", "scaling_max_freq", "scaling_cur_freq", "scaling_governor"
        )
        if clock is not None:
            clocks[folder.name] = clock
    return clocks


def _gpu_clocks(root: Path) -> dict[str, Clock]:
    clocks = {}
    for folder in sorted(root.glob("sys/class/devfreq/*")):
        if any(word in folder.name for word in _GPU_WORDS):
            clock = _clock(folder, "min_freq", "max_freq", "cur_freq", "governor", per_khz=1000)
            if clock is not None:
                clocks[folder.name] = clock
    return clocks


def _memory_clock(root: Path) -> Clock | None:
    rate = read_number(root / _EMC / "rate")
    if rate is not None:
        highest = read_number(root / _EMC / "max_rate") or rate
        locked = read_number(root / _EMC / "mrq_rate_locked") == 1
        return Clock((rate if locked else 0) / 1000, (rate if locked else highest) / 1000, rate / 1000)
    return _clock(root / "sys/class/devfreq/bwmgr", "min_freq", "max_freq", "cur_freq", "governor", per_khz=1000)


def _clock(folder: Path, low: str, high: str, current: str, governor: str, per_khz: int = 1) -> Clock | None:
    lowest, highest, now = (read_number(folder / name) for name in (low, high, current))
    if lowest is None or highest is None:
        return None
    return Clock(
        lowest / per_khz, highest / per_khz, None if now is None else now / per_khz, read_text(folder / governor)
    )


def _temperatures(root: Path) -> dict[str, float]:
    temperatures: dict[str, float] = {}
    for folder in sorted(root.glob("sys/class/thermal/thermal_zone*")):
        value = read_number(folder / "temp")
        if value is not None and value / 1000 > _OFF_CELSIUS:
            name = read_text(folder / "type") or folder.name
            temperatures[name if name not in temperatures else f"{name} ({folder.name})"] = value / 1000
    return temperatures


def _throttling(root: Path) -> dict[str, float]:
    counters: dict[str, float] = {}
    for folder in sorted(root.glob("sys/class/hwmon/hwmon*")):
        name = read_text(folder / "name") or folder.name
        for pattern in ("oc*_event_cnt", "curr*_crit_alarm", "curr*_max_alarm"):
            for path in sorted(folder.glob(pattern)):
                value = read_number(path)
                if value is not None:
                    counters[f"{name} {path.name}"] = value
    for folder in sorted(root.glob("sys/class/thermal/cooling_device*")):
        value, name = read_number(folder / "cur_state"), read_text(folder / "type") or ""
        # A fan is one as well, and its speed is no throttling.
        if value is not None and "fan" not in name.lower():
            counters[f"{folder.name} {name}".strip()] = value
    return counters


def _load(root: Path) -> float | None:
    fields = (read_text(root / "proc/loadavg") or "").split()
    try:
        return float(fields[0]) if fields else None
    except ValueError:
        return None
