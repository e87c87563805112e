from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest
from jetson_tree import JetsonTree

from edgewatt.errors import CheckFailedError, EdgewattError, EdgewattWarning, NoDeviceError
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.recording.idle import measure_idle


def test_a_calm_boards_idle_power_is_measured(tmp_path: Path) -> None:
    root, raw_dir = tmp_path / "root", tmp_path / "raw"
    JetsonTree(root)
    seen: list[float] = []
    measured = measure_idle(raw_dir, duration_s=0.6, root=root, progress=seen.append)
    assert measured.power.mean_w == pytest.approx(5.48)  # 5000 mV x 1096 mA
    assert measured.power.spread_w == 0
    assert measured.power.fresh == 1
    assert measured.rails == ("VDD_IN",)
    assert measured.doubts == ()
    assert read_idle_power(measured.path).power_w == pytest.approx(5.48)
    written = json.loads(measured.path.read_text())
    assert written["readings"] == measured.power.readings > 100
    assert written["power_mode"] == "MAXN_SUPER"
    assert written["sensor"]["settings"]["update_interval_ms"] == 7
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(0.6, abs=0.05)


def test_the_spread_and_the_freshness_of_a_moving_value_are_told(tmp_path: Path) -> None:
    # The simulated board's idle power swings by 80 and 120 mW about 4.2 W; an empty root has no load.
    measured = measure_idle(tmp_path, duration_s=2.0, sensor="simulated", root=tmp_path / "root")
    assert measured.power.mean_w == pytest.approx(4.2, abs=0.06)
    assert 0.05 < measured.power.spread_w < 0.15
    # A value each 6.6 ms, of which some are equal to the one before in steps of 40 mW.
    assert 20 < measured.power.fresh <= 2.1 / 6.6e-3


def test_a_busy_board_is_refused_at_once_or_taken_when_forced(tmp_path: Path) -> None:
    root, raw_dir = tmp_path / "root", tmp_path / "raw"
    JetsonTree(root).write("sys/devices/platform/bus@0/17000000.gpu/load", "900")
    with pytest.raises(CheckFailedError, match=r"not idle: the GPU was busy 90% of the time.*--force") as raised:
        measure_idle(raw_dir, duration_s=0.3, root=root)
    assert raised.value.exit_status == 1
    assert not raw_dir.exists()
    with pytest.warns(EdgewattWarning, match="the board was not idle: the GPU was busy"):
        measured = measure_idle(raw_dir, duration_s=0.3, root=root, force=True)
    assert json.loads(measured.path.read_text())["doubts"] == ["the GPU was busy 90% of the time"]


def test_no_sensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoDeviceError):
        measure_idle(tmp_path, duration_s=0.3, root=tmp_path / "empty")
    with pytest.raises(NoDeviceError, match="without a sensor"):
        measure_idle(tmp_path, duration_s=0.3, sensor="none")
    with pytest.raises(EdgewattError, match="for 0 s"):
        measure_idle(tmp_path, duration_s=0)


def test_an_interrupted_measurement_writes_nothing(tmp_path: Path) -> None:
    JetsonTree(tmp_path / "root")
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(EdgewattError, match="stopped by SIGINT; no idle power was written"):
        measure_idle(tmp_path / "raw", duration_s=20, root=tmp_path / "root", force=True)
    timer.join()
    assert not (tmp_path / "raw").exists()
