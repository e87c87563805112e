from __future__ import annotations

from pathlib import Path

import pytest
from jetson_tree import JetsonTree

from edgewatt.recording.environment import Clock, host_facts, read_environment, software_versions


@pytest.fixture
def jetson(tmp_path: Path) -> JetsonTree:
    return JetsonTree(tmp_path)


def test_a_jetson_is_read(jetson: JetsonTree) -> None:
    found = read_environment(jetson.root)
    assert "Orin Nano" in found.board
    assert found.l4t == "R36.4.4"
    assert found.power_mode == "MAXN_SUPER"
    assert found.cpu_clocks["cpu1"] == Clock(729600, 1728000, 1728000, "schedutil")
    assert found.gpu_clocks == {"17000000.gpu": Clock(306000, 1020000, 1020000, "nvhost_podgov")}
    assert found.memory_clock == Clock(3199000, 3199000, 3199000)
    assert found.temperatures == {"cpu-thermal": 45.25}, "a zone that is off has no temperature"
    assert found.throttling == {"soctherm_oc oc1_event_cnt": 3, "cooling_device1 cpufreq-cpu0": 0}, "a fan is none"
    assert found.load == 0.12
    assert found.gpu_load == 0.012


def test_clocks_are_locked_when_none_can_move(jetson: JetsonTree) -> None:
    assert read_environment(jetson.root).clocks_locked is False
    jetson.lock_clocks()
    found = read_environment(jetson.root)
    assert found.clocks_locked is True
    assert found.clocks_as_dict()["gpu"]["17000000.gpu"]["locked"] is True
    jetson.cpu(1, 729600, 1728000)
    assert read_environment(jetson.root).clocks_locked is False
    jetson.write("sys/devices/system/cpu/cpu1/online", "0")
    assert read_environment(jetson.root).clocks_locked is True, "what is off has no clock"


def test_a_machine_without_any_of_it_is_no_error(tmp_path: Path) -> None:
    found = read_environment(tmp_path)
    assert (found.l4t, found.power_mode, found.clocks_locked, found.load, found.gpu_load) == (None,) * 5
    assert found.temperatures == {}
    assert found.clocks_as_dict() == {}


def test_releases_and_modes_are_read_in_their_other_places(jetson: JetsonTree) -> None:
    (jetson.root / "etc/nv_tegra_release").unlink()
    jetson.write("var/lib/dpkg/status", "Package: zlib\nVersion: 1\n\nPackage: nvidia-l4t-core\nVersion: 35.4.1-2023\n")
    jetson.write("var/lib/nvpmodel/status", "pmode:0007 fmode:quiet")
    found = read_environment(jetson.root)
    assert (found.l4t, found.power_mode) == ("R35.4.1", "mode 7")
    (jetson.root / "etc/nvpmodel.conf").unlink()
    assert read_environment(jetson.root).power_mode == "mode 7"


def test_two_zones_of_one_name_are_told_apart(jetson: JetsonTree) -> None:
    jetson.write("sys/class/thermal/thermal_zone5/type", "cpu-thermal")
    jetson.write("sys/class/thermal/thermal_zone5/temp", "50000")
    assert read_environment(jetson.root).temperatures == {"cpu-thermal": 45.25, "cpu-thermal (thermal_zone5)": 50}


def test_hostile_contents_are_left_out(jetson: JetsonTree) -> None:
    for name in ("proc/loadavg", "sys/class/thermal/thermal_zone0/temp", "var/lib/nvpmodel/status"):
        jetson.write(name, "x")
    jetson.write("sys/class/devfreq/17000000.gpu/min_freq", "")
    found = read_environment(jetson.root)
    assert (found.load, found.power_mode, found.temperatures, found.gpu_clocks) == (None, None, {}, {})


def test_versions_and_the_machine_are_told() -> None:
    assert {"edgewatt", "python", "kernel", "numpy", "onnx", "onnxruntime"} <= set(software_versions())
    assert host_facts()["processors"] >= 1
