"""Channels that fail, hostile files, and values that change while they are read."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
import sensor_trees as trees
from failing_files import FailingFiles

from edgewatt.sensors.base import sum_of_pairs
from edgewatt.sensors.discovery import discover
from edgewatt.sensors.files import SensorFile, parse_number, read_text


@pytest.mark.parametrize("name", ["EIO", "EAGAIN", "ENODATA", "EREMOTEIO", "ETIMEDOUT"])
def test_one_file_fails_and_the_others_go_on(tmp_path: Path, failing_files: FailingFiles, name: str) -> None:
    found = discover(trees.orin_nano(tmp_path).root)
    broken = found.sensors[0].path / "curr2_input"
    with found.sensors[0] as sensor:
        failing_files.fail(broken, name)
        for _ in range(3):
            vdd_in, cpu_gpu, soc = sensor.read()
        assert (vdd_in.power_w, soc.power_w) == (pytest.approx(5.480), pytest.approx(1.440))
        assert (cpu_gpu.voltage_v, cpu_gpu.current_a, cpu_gpu.power_w) == (5.0, None, None)
        assert sensor.errors == {str(broken): {name: 3}}
        failing_files.heal(broken)
        assert sensor.read()[1].power_w == pytest.approx(0.440)


def test_a_file_that_may_not_be_read(tmp_path: Path, failing_files: FailingFiles) -> None:
    found = discover(trees.agx_orin(tmp_path, jetpack=6).root)
    broken = found.sensors[0].path / "curr3_input"
    failing_files.fail(broken, "EACCES", opening=True)
    with found.total_sensor() as sensor:
        assert sensor.read_total() is None  # a sum without one of its rails would be too small
        assert [reading.power_w is None for reading in sensor.read()] == [False, False, True]
        assert set(sensor.errors) == {str(broken)}
        assert set(sensor.errors[str(broken)]) == {"EACCES"}
        failing_files.heal(broken)
        assert sensor.read_total() is not None


def test_a_rail_that_vanishes_and_comes_back(tmp_path: Path, failing_files: FailingFiles) -> None:
    found = discover(trees.orin_nano(tmp_path).root)
    files = [found.sensors[0].path / name for name in ("in1_input", "curr1_input")]
    with found.total_sensor() as sensor:
        assert sensor.read_total() == (5000, 1096)
        for file in files:
            failing_files.fail(file, "ENODEV")  # what an open file of a driver that was unbound gives
        assert sensor.read_total() is None
        for file in files:
            failing_files.heal(file)
            file.rename(file.with_suffix(".gone"))
        assert sensor.read_total() is None
        assert sensor.errors == {str(file): {"ENODEV": 1, "ENOENT": 1} for file in files}
        for file in files:
            file.with_suffix(".gone").rename(file)
        assert sensor.read_total() == (5000, 1096)


def test_a_disabled_channel_without_enable_file_shows_by_its_error(tmp_path: Path, failing_files: FailingFiles) -> None:
    tree = trees.orin_nano(tmp_path)
    folder = discover(tree.root).sensors[0].path
    (folder / "in2_enable").unlink()
    failing_files.fail(folder / "in2_input", "ENODATA")
    assert [rail.label for rail in discover(tree.root).rails] == ["VDD_IN", "VDD_SOC"]


def test_missing_and_empty_labels(tmp_path: Path) -> None:
    tree = trees.orin_nano(tmp_path)
    folder = discover(tree.root).sensors[0].path
    (folder / "in2_label").unlink()
    (folder / "in3_label").write_bytes(b"")
    assert [rail.label for rail in discover(tree.root).rails] == ["VDD_IN", "channel 2", "channel 3"]


def test_labels_that_only_contain_nc_are_rails(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board("Some board")
    tree.add_ina3221("1-0040", "hwmon1", {1: ("VDD_SYNC", 5000, 8), 2: ("NC", 0, 0), 3: ("NC", 0, 0)})
    assert [rail.label for rail in discover(tree.root).rails] == ["VDD_SYNC"]


@pytest.mark.parametrize(("content", "error"), [(b"", "empty"), (b"\n", "empty"), (b"n/a\n", "not a number")])
def test_content_that_is_no_number(tmp_path: Path, content: bytes, error: str) -> None:
    found = discover(trees.orin_nano(tmp_path).root)
    file = found.sensors[0].path / "curr1_input"
    with found.total_sensor() as sensor:
        file.write_bytes(content)
        assert sensor.read_total() is None
        assert sensor.errors == {str(file): {error: 1}}


@pytest.mark.parametrize(
    ("content", "number"),
    [(b"-392\n", -392), (b"32760 ma\n", 32760), (b"0 ms", 0), (b" 5.5 ", 5.5), (b"ma 5", None), (b"1 2", None)],
)
def test_numbers_with_sign_and_unit(content: bytes, number: float | None) -> None:
    assert parse_number(content) == number


def test_read_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"VDD_IN\n")
    (tmp_path / "b").write_bytes(b"\xff\xfe\0")
    assert read_text(tmp_path / "a") == "VDD_IN"
    assert read_text(tmp_path / "b") == "��"
    assert read_text(tmp_path / "c") is None
    assert read_text(tmp_path) is None


def test_an_odd_hwmon_folder_beside_the_chip(tmp_path: Path) -> None:
    tree = trees.orin_nano(tmp_path)
    device = tmp_path / "sys/devices/platform/bus@0/c240000.i2c/i2c-1/1-0040"
    (device / "hwmon/hwmon_old").mkdir()
    (device / "hwmon/hwmon").write_text("not a folder")
    assert len(discover(tree.root).sensors) == 1


def test_iio_chip_that_converts_on_demand(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["nano"])
    tree.add_ina3221x("6-0040", 0, {0: ("POM_5V_IN", 5064, 184)}, mode=0)
    found = discover(tree.root)
    with found.total_sensor() as sensor:
        assert sensor.read_total() == (5064, 184)
    assert found.sensors[0].settings().as_dict() == {
        "driver": "ina3221x",
        "running_mode": "triggered",
        "polling_delay_0": "0 ms",
    }


def test_iio_chip_without_the_file_of_both(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["nano"])
    tree.add_ina3221x("6-0040", 0, {0: ("POM_5V_IN", 5064, 184), 1: ("NC", 0, 0)}, both=False)
    found = discover(tree.root)
    assert len(found.rails) == 1
    with found.total_sensor() as sensor:
        assert sensor.read_total() == (5064, 184)


def test_half_of_the_file_of_both(tmp_path: Path) -> None:
    found = discover(trees.nano(tmp_path).root)
    file = found.sensors[0].path / "ui_input_0"
    with found.total_sensor() as sensor:
        file.write_text("5064\n")
        assert sensor.read_total() is None
        file.write_text("5064 nan\n")
        assert sensor.read_total() is None
        assert sensor.errors == {str(file): {"not a number": 2}}


def test_settings(tmp_path: Path) -> None:
    found = discover(trees.orin_nano(tmp_path, samples=512, interval=430).root)
    assert found.sensors[0].settings().as_dict() == {
        "driver": "ina3221",
        "samples": 512,
        "update_interval_ms": 430,
        "enabled_channels": [1, 2, 3],
        "shunt_ohm": {"1": 0.005, "2": 0.005, "3": 0.005},
    }
    found = discover(trees.thor(tmp_path / "thor").root)
    assert found.sensors[1].settings().as_dict() == {"driver": "ina238", "shunt_ohm": {"1": 0.002}}
    with found.total_sensor() as sensor:
        assert sensor.settings().driver == "ina238"
    assert discover(trees.agx_xavier(tmp_path / "x").root).total_sensor().settings().as_dict() == {
        "driver": "ina3221",
        "ina3221x@1-0040": {"driver": "ina3221x", "running_mode": "continuous"}
        | {f"polling_delay_{n}": "0 ms" for n in range(3)},
        "ina3221x@1-0041": {"driver": "ina3221x", "running_mode": "continuous"}
        | {f"polling_delay_{n}": "0 ms" for n in range(3)},
    }


def test_hwmon_chip_with_several_rails_and_no_labels(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board("Some board")
    files = {"power1_input": 1_500_000, "power2_input": 250_000, "in2_input": 5000, "curr2_input": 50}
    tree.add_hwmon("ina4230", "3-0044", "hwmon2", {**files, "in2_label": "SIDE", "samples": 4, "update_interval": 9})
    found = discover(tree.root)
    with found.sensors[0] as sensor:
        first, second = sensor.read()
    assert (first.rail.label, first.voltage_v, first.power_w) == ("ina4230 power1", None, pytest.approx(1.5))
    assert (second.rail.label, second.voltage_v, second.power_w) == ("SIDE", pytest.approx(5.0), pytest.approx(0.25))
    assert found.sensors[0].settings().as_dict() == {"driver": "ina4230", "samples": 4, "update_interval_ms": 9}


def test_values_that_change_while_they_are_read(tmp_path: Path) -> None:
    found = discover(trees.orin_nano(tmp_path).root)
    file = found.sensors[0].path / "curr1_input"
    written = [1096 + 8 * n for n in range(40)]

    def change() -> None:
        with file.open("r+b", buffering=0) as raw:
            for value in written:
                raw.seek(0)
                raw.write(b"%d\n" % value)  # all values have four digits, so that each write replaces the last
                time.sleep(0.002)

    seen: list[float] = []
    with found.total_sensor() as sensor:
        thread = threading.Thread(target=change)
        thread.start()
        while thread.is_alive():
            pair = sensor.read_total()
            assert pair is not None
            seen.append(pair[1])
        thread.join()
        seen.append((sensor.read_total() or (0, 0))[1])
    assert set(seen) <= set(written)
    assert len(set(seen)) > 10
    assert seen == sorted(seen)
    assert seen[-1] == written[-1]


def test_a_sum_whose_first_rail_is_off_has_the_nominal_voltage() -> None:
    assert sum_of_pairs([(0, 0), (5000, 100)]) == (1000.0, 500.0)
    assert sum_of_pairs([(12000, -10), (5000, 100)]) == (12000, pytest.approx(380 / 12))
    assert sum_of_pairs([(12000, 10), None]) is None
    assert sum_of_pairs([]) is None


def test_a_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("5\n")
    opened = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda *given: opened.append(given[0]) or real(*given))
    file = SensorFile(tmp_path / "a")
    assert [file.read_number() for _ in range(5)] == [5] * 5
    file.close()
    assert opened == [tmp_path / "a"]
