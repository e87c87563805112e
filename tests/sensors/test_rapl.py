from __future__ import annotations

from pathlib import Path

import pytest
import sensor_trees as trees
from failing_files import FailingFiles

from edgewatt.errors import NoDeviceError
from edgewatt.sensors.discovery import discover
from edgewatt.sensors.energy_counter import EnergyCounter

ZONES = {
    "intel-rapl:0": ("package-0", 1_000_000),
    "intel-rapl:0:0": ("core", 400_000),
    "intel-rapl:0:1": ("dram", 100_000),
    "intel-rapl:1": ("psys", 9_000_000),
    "intel-rapl-mmio:0": ("package-0", 1_000_000),
}


class Clock:
    def __init__(self) -> None:
        self.now_s = 50.0

    def __call__(self) -> float:
        return self.now_s


def test_counter_gives_the_mean_power_since_it_moved() -> None:
    clock = Clock()
    counter = EnergyCounter(range_uj=999_999, hold_s=0.1, clock=clock)
    counter.start(100_000)
    assert counter.power_uw(100_000) is None  # it has not moved yet
    clock.now_s += 0.002
    assert counter.power_uw(130_000) == pytest.approx(15e6)  # 30 mJ in 2 ms
    clock.now_s += 0.001
    assert counter.power_uw(130_000) == pytest.approx(15e6)  # held, not zero
    clock.now_s += 0.001
    assert counter.power_uw(150_000) == pytest.approx(10e6)  # 20 mJ in the 2 ms since it moved
    clock.now_s += 0.2
    assert counter.power_uw(150_000) == 0.0


def test_counter_wraps_around() -> None:
    clock = Clock()
    counter = EnergyCounter(range_uj=999_999, clock=clock)
    counter.start(990_000)
    clock.now_s += 0.01
    assert counter.power_uw(5_000) == pytest.approx(1.5e6)  # 10 000 to the end, 0 included, and 5 000 on


def test_counter_that_runs_back_without_a_range_is_not_a_negative_power() -> None:
    clock = Clock()
    counter = EnergyCounter(clock=clock)
    counter.start(990_000)
    clock.now_s += 0.01
    assert counter.power_uw(5_000) is None
    clock.now_s += 0.01
    assert counter.power_uw(15_000) == pytest.approx(1e6)


def test_counter_goes_on_after_a_failed_reading() -> None:
    clock = Clock()
    counter = EnergyCounter(clock=clock)
    counter.start(None)
    assert counter.power_uw(1000) is None
    clock.now_s += 0.01
    assert counter.power_uw(None) is None
    clock.now_s += 0.01
    assert counter.power_uw(21_000) == pytest.approx(1e6)  # 20 mJ in 20 ms


def test_nothing_is_counted_twice(tmp_path: Path) -> None:
    trees.Tree(tmp_path).add_rapl(ZONES)
    found = discover(tmp_path)
    assert [rail.label for rail in found.rails] == ["package-0", "package-0-core", "package-0-dram", "psys"]
    assert found.total is not None
    assert [rail.label for rail in found.total.rails] == ["package-0", "package-0-dram"]
    assert "RAPL" in found.total.reason


def test_total_over_live_counters(tmp_path: Path) -> None:
    powercap = trees.Tree(tmp_path).add_rapl(ZONES)
    with discover(tmp_path).total_sensor() as sensor:
        assert sensor.read_total() is None
        (powercap / "intel-rapl:0/energy_uj").write_text("1300000\n")
        (powercap / "intel-rapl:0:1/energy_uj").write_text("200000\n")
        pairs = sensor.read_pairs()
        assert [pair is not None and pair[0] for pair in pairs] == [1000.0, 1000.0]
        package, dram = (pair[1] for pair in pairs if pair is not None)
        # 300 mJ and 100 mJ in nearly the same time
        assert package / dram == pytest.approx(3, rel=0.2)


def test_counters_for_root_alone(tmp_path: Path, failing_files: FailingFiles) -> None:
    powercap = trees.Tree(tmp_path).add_rapl(ZONES)
    for zone in ZONES:
        failing_files.fail(powercap / zone / "energy_uj", "EACCES", opening=True)
    with pytest.raises(NoDeviceError, match=r"4 of RAPL's 4 energy counters cannot be read: run as root"):
        discover(tmp_path)
    failing_files.heal(powercap / "intel-rapl:0/energy_uj")
    found = discover(tmp_path)
    assert [rail.label for rail in found.rails] == ["package-0"]
    assert "3 of RAPL's 4" in found.notes[0]


def test_settings_and_choice_by_name(tmp_path: Path) -> None:
    trees.Tree(tmp_path).add_rapl(ZONES, energy_range=999)
    found = discover(tmp_path, "rapl")
    assert found.total is not None
    assert len(found.total.rails) == 2
    assert found.sensors[0].settings().as_dict()["package-0 range uJ"] == 999
    assert [rail.label for rail in (discover(tmp_path, "psys").total or found.total).rails] == ["psys"]
