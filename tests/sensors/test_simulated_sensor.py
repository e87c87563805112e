from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.sensors.discovery import discover
from edgewatt.sensors.simulated import SHARED_POWER_VARIABLE, SharedPower, SimulatedSensor, idle_waveform


def test_a_value_is_held_for_a_conversion() -> None:
    now_s = [0.0]
    sensor = SimulatedSensor(lambda time_s: 4.0 if time_s < 0.02 else 6.0, period_s=0.01, clock=lambda: now_s[0])
    seen = []
    for tick in range(0, 50, 5):  # every half conversion
        now_s[0] = tick / 1000
        voltage_mv, current_ma = sensor.read_total() or (0, 0)
        seen.append(voltage_mv * current_ma / 1e6)
    # The load steps at 20 ms, with the third conversion.
    assert seen == pytest.approx([4.0] * 4 + [6.0] * 6)


def test_values_are_in_steps_of_eight_milliampere() -> None:
    currents = {(SimulatedSensor(lambda _, w=w: w).read_total() or (0, 0))[1] for w in (4.201, 4.219, 4.221, 4.24)}
    assert currents == {840, 848}  # 4.20 W and 4.24 W at 5 V


def test_the_waveform_is_that_of_the_clock() -> None:
    assert idle_waveform(12.345) == idle_waveform(12.345)
    powers = [idle_waveform(n / 100) for n in range(1000)]
    assert min(powers) >= 4.0
    assert max(powers) <= 4.4


def test_another_process_sets_the_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "power"
    with SharedPower.create(path, 4.0) as load:
        monkeypatch.setenv(SHARED_POWER_VARIABLE, str(path))
        with discover(tmp_path, "simulated").total_sensor() as sensor:
            assert sensor.read()[0].power_w == pytest.approx(4.0)
            copy = pickle.loads(pickle.dumps(sensor))
            script = (
                "import sys; from pathlib import Path; from edgewatt.sensors.simulated import SharedPower; "
                "SharedPower(Path(sys.argv[1])).set_power_w(7.2)"
            )
            subprocess.run([sys.executable, "-c", script, str(path)], check=True)
            power_w = 0.0
            while power_w != pytest.approx(7.2):  # at the next conversion
                power_w = sensor.read()[0].power_w or 0.0
                assert power_w in (pytest.approx(4.0), pytest.approx(7.2))
            load.set_power_w(5.0)
            while power_w != pytest.approx(5.0):
                power_w = copy.read()[0].power_w or 0.0


def test_a_missing_file_of_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARED_POWER_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(EdgewattError, match="simulated board's power cannot be read"):
        discover(tmp_path, "simulated")
    (tmp_path / "none").write_bytes(b"")
    with pytest.raises(EdgewattError, match="simulated board's power cannot be read"):
        discover(tmp_path, "simulated")


def test_a_period_of_zero() -> None:
    with pytest.raises(EdgewattError, match="period is 0 s"):
        SimulatedSensor(period_s=0)
