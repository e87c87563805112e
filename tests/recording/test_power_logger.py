from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from scripted_sensor import ScriptedChannel, ScriptedSensor, SlowlyStartingSensor

from edgewatt.errors import EdgewattError, EdgewattWarning, NoDeviceError
from edgewatt.formats.power_log import read_power_log
from edgewatt.recording import logger as logger_module
from edgewatt.recording.child import wait_until
from edgewatt.recording.clock import RecordingClock
from edgewatt.recording.logger import PowerLogger, cut_last_line
from edgewatt.recording.logger_main import RailLog


def _log(path: Path, *channels: ScriptedChannel) -> RailLog:
    return RailLog(ScriptedSensor(*channels), path)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_every_reading_is_logged_with_its_time(tmp_path: Path) -> None:
    clock, path = RecordingClock.now(), tmp_path / "power.log"
    began = clock.microseconds(np.array([time.monotonic_ns()]))[0]
    with PowerLogger([_log(path, ScriptedChannel("A"))], clock, 500) as logger:
        time.sleep(0.5)
        counts = logger.stop()
    ended = clock.microseconds(np.array([time.monotonic_ns()]))[0]
    log = read_power_log(path)
    assert log.current_ma.tolist() == list(range(1, len(log) + 1)), "none is lost, none is double"
    assert counts.readings == (len(log),)
    assert counts.failed == (0,)
    assert began < log.times_us[0] < log.times_us[-1] < ended
    assert (np.diff(log.times_us) > 0).all()
    assert path.read_text().splitlines()[0].endswith(",5000.0,1.0")


def test_the_rate_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "power.log"
    with PowerLogger([_log(path, ScriptedChannel("A"))], RecordingClock.now(), 100) as logger:
        time.sleep(1.0)
        logger.stop()
    log = read_power_log(path)
    seconds = (log.times_us[-1] - log.times_us[0]) / 1e6
    assert (len(log) - 1) / seconds < 105
    with pytest.raises(EdgewattError, match="not possible"):
        PowerLogger([], RecordingClock.now(), 0)


def test_sums_and_further_rails_have_logs_of_their_own(tmp_path: Path) -> None:
    logs = [
        _log(tmp_path / "total.log", ScriptedChannel("A"), ScriptedChannel("B")),
        _log(tmp_path / "gpu.log", ScriptedChannel("GPU")),
    ]
    with PowerLogger(logs, RecordingClock.now(), 500) as logger:
        time.sleep(0.2)
        counts = logger.stop()
    total, gpu = read_power_log(tmp_path / "total.log"), read_power_log(tmp_path / "gpu.log")
    assert len(total) == len(gpu) == counts.readings[0] == counts.readings[1]
    np.testing.assert_allclose(total.power_uw, 2 * gpu.power_uw)


def test_failing_readings_are_counted_and_leave_the_others_alone(tmp_path: Path) -> None:
    path = tmp_path / "power.log"
    with PowerLogger([_log(path, ScriptedChannel("A", fail="odd"))], RecordingClock.now()) as logger:
        time.sleep(0.3)
        counts = logger.stop()
    log = read_power_log(path)
    assert (log.current_ma % 2 == 0).all()
    assert counts.readings == (len(log),)
    assert abs(counts.failed[0] - len(log)) <= 1
    assert counts.errors == {"A file": {"EIO": counts.readings[0] + counts.failed[0]}}


def test_a_logger_that_takes_long_to_start_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logger_module, "_READY_S", 1.0)
    log = RailLog(SlowlyStartingSensor(ScriptedChannel("A")), tmp_path / "power.log")
    with PowerLogger([log], RecordingClock.now(), 500) as logger:
        assert logger.stop().readings[0] > 0
    monkeypatch.setattr(logger_module, "_START_S", 0.2)
    with pytest.raises(NoDeviceError, match=r"it did not start within 0.2 s"):
        PowerLogger([log], RecordingClock.now(), 500)


def test_a_sensor_without_any_reading_is_refused_with_its_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logger_module, "_READY_S", 1.0)
    log = _log(tmp_path / "power.log", ScriptedChannel("A", fail="always"))
    with pytest.raises(NoDeviceError, match=r"no reading came within 1 s \(A file: EIO\)"):
        PowerLogger([log], RecordingClock.now())


def test_a_sensor_that_falls_silent_is_told_of(tmp_path: Path) -> None:
    log = _log(tmp_path / "power.log", ScriptedChannel("A", fail="later"))
    with PowerLogger([log], RecordingClock.now()) as logger:
        with pytest.warns(EdgewattWarning, match="stopped giving readings .A file."):
            wait_until(lambda: logger.died() is not None, 3.0)
        assert len(read_power_log(log.path)) == 19
        assert logger.stop().readings == (19,)


def test_lines_reach_the_file_while_it_logs(tmp_path: Path) -> None:
    path = tmp_path / "power.log"
    with PowerLogger([_log(path, ScriptedChannel("A"))], RecordingClock.now()) as logger:
        sizes = []
        for _ in range(3):
            time.sleep(0.3)
            sizes.append(path.stat().st_size)
        logger.stop()
    assert 0 < sizes[0] < sizes[1] < sizes[2]


def test_a_killed_logger_is_noticed_and_what_it_wrote_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "power.log"
    with PowerLogger([_log(path, ScriptedChannel("A"))], RecordingClock.now()) as logger:
        time.sleep(0.4)
        assert logger.died() is None
        os.kill(logger.pid, signal.SIGKILL)
        assert wait_until(lambda: logger.died() is not None, 20.0)
        assert logger.died() == "was ended by SIGKILL"
        with path.open("a") as file:
            file.write("20241121-05:20:04.2")  # as a write that was cut off
        counts = logger.stop()
    log = read_power_log(path)
    assert counts.readings == (len(log),)
    assert log.current_ma.tolist() == list(range(1, len(log) + 1))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "power.log"
    with PowerLogger([_log(path, ScriptedChannel("A"))], RecordingClock.now()) as logger:
        time.sleep(0.2)
        os.kill(logger.pid, number)
        assert wait_until(lambda: logger.died() is not None, 20.0)
        assert logger.died() == "ended with status 0"
        counts = logger.stop()
    assert counts.readings == (len(read_power_log(path)),)


def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "power.log"
    script = f"""
        import sys, time
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        from scripted_sensor import ScriptedChannel, ScriptedSensor, SlowlyStartingSensor
        from edgewatt.recording.clock import RecordingClock
        from edgewatt.recording.logger import PowerLogger
        from edgewatt.recording.logger_main import RailLog
        logger = PowerLogger(
            [RailLog(ScriptedSensor(ScriptedChannel("A")), Path({str(path)!r}))], RecordingClock.now(), 500
        )
        print(logger.pid, flush=True)
        time.sleep(60)
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert _alive(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert wait_until(lambda: not _alive(pid), 20.0)
    log = read_power_log(path)
    assert log.current_ma.tolist() == list(range(1, len(log) + 1))
    assert path.read_text().endswith("\n")


@pytest.mark.parametrize(
    ("content", "kept"),
    [(b"a\nb\n", b"a\nb\n"), (b"a\nb", b"a\n"), (b"b", b""), (b"", b""), (b"a\n" + b"x" * 5000, b"a\n")],
)
def test_a_last_line_without_its_end_is_cut_off(tmp_path: Path, content: bytes, kept: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    cut_last_line(path)
    assert path.read_bytes() == kept
    cut_last_line(tmp_path / "missing")
