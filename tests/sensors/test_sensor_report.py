from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import orjson
import pytest
import sensor_trees as trees
from rich.console import Console

from edgewatt.sensors.discovery import discover
from edgewatt.sensors.fast import make_fast, state_file
from edgewatt.sensors.report import change_lines, sensors_report, sensors_tables


def shown(parts: list[Any]) -> str:
    console = Console(file=io.StringIO(), width=200)
    for part in parts:
        console.print(part)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_json_of_orin_nano(tmp_path: Path) -> None:
    report = orjson.loads(orjson.dumps(sensors_report(discover(trees.orin_nano(tmp_path).root), 0.02)))
    (sensor,) = report["sensors"]
    assert report["board"] == "NVIDIA Jetson Orin Nano Developer Kit"
    assert (sensor["name"], sensor["chip"]) == ("ina3221@1-0040", "ina3221")
    assert Path(sensor["path"]).name == "hwmon1"
    assert sensor["rails"][0] == {"label": "VDD_IN", "voltage_v": 5.0, "current_a": 1.096, "power_w": 5.48}
    assert sensor["settings"]["samples"] == 1
    assert sensor["settings"]["enabled_channels"] == [1, 2, 3]
    assert sensor["periods"][0]["period_ms"] == pytest.approx(6.6)
    assert report["total"]["rails"] == ["VDD_IN"]
    assert report["total"]["power_w"] == pytest.approx(5.48)
    assert "module's input" in report["total"]["reason"]
    assert report["no_total"] is None
    assert report["freshness"]["readings"] > 1
    assert report["freshness"]["rails"][0]["current_step_by_shunt_a"] == pytest.approx(0.008)
    assert report["errors"] == {}


def test_tables_of_agx_orin(tmp_path: Path) -> None:
    text = shown(sensors_tables(sensors_report(discover(trees.agx_orin(tmp_path, jetpack=5).root), 0.02)))
    assert "total: VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0 = 8.711 W, because" in text
    assert "ina3221@1-0041:VDDQ_VDD2_1V8AO " in text
    assert "NC" not in text
    assert "a new value every 6.60 ms" in text
    assert "a read of them all takes" in text


def test_both_drivers_of_many_samples(tmp_path: Path) -> None:
    text = shown(sensors_tables(sensors_report(discover(trees.orin_nano(tmp_path, samples=512, interval=1).root), 0)))
    assert "with a time constant of 430 ms if the driver is from since the patch" in text


def test_an_unknown_board(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board("Some board")
    tree.add_ina3221("1-0040", "hwmon1", {1: ("[bold]A", 5000, 100), 2: ("B", 5000, 10)}, enabled=(1, 2))
    report = sensors_report(discover(tree.root), 0.01)
    assert report["total"] is None
    assert [rail["label"] for rail in report["freshness"]["rails"]] == ["[bold]A", "B"]
    text = shown(sensors_tables(report))
    assert "total: not known. Some board is a board that edgewatt does not know" in text
    assert "[bold]A" in text  # brackets of a label are no markup


def test_errors_are_shown(tmp_path: Path) -> None:
    tree = trees.orin_nano(tmp_path)
    found = discover(tree.root)
    file = found.sensors[0].path / "curr1_input"
    file.write_bytes(b"")
    report = sensors_report(found, 0)
    assert report["total"]["power_w"] is None
    assert report["freshness"] is None
    assert report["errors"] == {str(file): {"empty": 2}}  # it is read once more, as counters of energy need
    assert "curr1_input: 2 times empty" in shown(sensors_tables(report))


def test_energy_counters_have_a_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees.Tree(tmp_path).add_rapl({"intel-rapl:0": ("package-0", 1_000_000)})
    file = tmp_path / "sys/class/powercap/intel-rapl:0/energy_uj"
    monkeypatch.setattr("edgewatt.sensors.report.sleep", lambda _: file.write_text("2000000\n"))
    report = sensors_report(discover(tmp_path, "rapl"), 0)
    assert report["total"]["power_w"] > 0


def test_no_sensor_asked_for(tmp_path: Path) -> None:
    report = sensors_report(discover(tmp_path, "none"))
    assert (report["sensors"], report["total"], report["freshness"]) == ([], None, None)
    assert "no sensor was asked for" in shown(sensors_tables(report))


def test_changes(tmp_path: Path) -> None:
    found = discover(trees.orin_nano(tmp_path).root)
    lines = change_lines(make_fast(found, state_file(tmp_path)))
    assert "hwmon1/in2_enable: 1 → 0" in shown(lines)
    again = change_lines(make_fast(found, state_file(tmp_path)))
    assert "no setting was changed" in shown(again)
