"""A Jetson Orin Nano's files, as far as recording reads them."""

from __future__ import annotations

from pathlib import Path

_CONF = """
# default
< PM_CONFIG DEFAULT=0 >
< POWER_MODEL ID=0 NAME=15W >
CPU_ONLINE CORE_0 1
< POWER_MODEL ID=1 NAME=25W >
< POWER_MODEL ID=2 NAME=MAXN_SUPER >
"""


class JetsonTree:
    """Writes the files below a root, and changes some of them.

    Attributes:
        root: The folder that stands for `/`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        hwmon = "sys/bus/i2c/devices/1-0040/hwmon/hwmon1"
        files = {
            "proc/device-tree/model": "NVIDIA Jetson Orin Nano Developer Kit\0",
            "proc/device-tree/compatible": "nvidia,p3768-0000+p3767-0005\0nvidia,p3767-0005\0nvidia,tegra234\0",
            "proc/loadavg": "0.12 0.10 0.05 1/300 4711",
            "proc/stat": "cpu  100 0 100 1000 0 0 0 0 0 0\ncpu0 50 0 50 500 0 0 0 0 0 0\ncpu1 50 0 50 500 0 0 0 0 0 0",
            "etc/nv_tegra_release": "# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64",
            "etc/nvpmodel.conf": _CONF,
            "var/lib/nvpmodel/status": "pmode:0002",
            "sys/bus/i2c/devices/1-0040/name": "ina3221",
            f"{hwmon}/name": "ina3221",
            f"{hwmon}/in1_label": "VDD_IN",
            f"{hwmon}/in1_input": "5000",
            f"{hwmon}/curr1_input": "1096",
            f"{hwmon}/in2_label": "VDD_CPU_GPU_CV",
            f"{hwmon}/in2_input": "5000",
            f"{hwmon}/curr2_input": "88",
            f"{hwmon}/samples": "1",
            f"{hwmon}/update_interval": "7",
            "sys/class/hwmon/hwmon0/name": "soctherm_oc",
            "sys/class/hwmon/hwmon0/oc1_event_cnt": "3",
            "sys/class/thermal/thermal_zone0/type": "cpu-thermal",
            "sys/class/thermal/thermal_zone0/temp": "45250",
            "sys/class/thermal/thermal_zone1/type": "cv0-thermal",
            "sys/class/thermal/thermal_zone1/temp": "-256000",
            "sys/class/thermal/cooling_device0/type": "pwm-fan",
            "sys/class/thermal/cooling_device0/cur_state": "2",
            "sys/class/thermal/cooling_device1/type": "cpufreq-cpu0",
            "sys/class/thermal/cooling_device1/cur_state": "0",
            "sys/devices/platform/bus@0/17000000.gpu/load": "12",
            "sys/kernel/debug/bpmp/debug/clk/emc/rate": "3199000000",
            "sys/kernel/debug/bpmp/debug/clk/emc/max_rate": "3199000000",
            "sys/kernel/debug/bpmp/debug/clk/emc/mrq_rate_locked": "1",
        }
        for name, content in files.items():
            self.write(name, content)
        for number in range(2):
            self.cpu(number, 729600, 1728000)
        self.gpu(306000000, 1020000000)

    def write(self, name: str, content: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if content.endswith("\0") else f"{content}\n")

    def cpu(self, number: int, lowest: int, highest: int) -> None:
        folder = f"sys/devices/system/cpu/cpu{number}"
        self.write(f"{folder}/online", "1")
        for name, value in (("min", lowest), ("max", highest), ("cur", highest)):
            self.write(f"{folder}/cpufreq/scaling_{name}_freq", str(value))
        self.write(f"{folder}/cpufreq/scaling_governor", "schedutil")

    def gpu(self, lowest: int, highest: int) -> None:
        folder = "sys/class/devfreq/17000000.gpu"
        for name, value in (("min", lowest), ("max", highest), ("cur", highest)):
            self.write(f"{folder}/{name}_freq", str(value))
        self.write(f"{folder}/governor", "nvhost_podgov")

    def lock_clocks(self) -> None:
        for number in range(2):
            self.cpu(number, 1728000, 1728000)
        self.gpu(1020000000, 1020000000)
