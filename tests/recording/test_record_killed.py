"""Killing what takes part in a recording, at moments that nobody chose, leaves a readable recording or none."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattWarning
from edgewatt.formats.recording import RecordingPaths, read_recording
from edgewatt.recording.child import wait_until
from edgewatt.recording.staging import clear_abandoned

_CYCLES = 100_000
_SCRIPT = f"""
import sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
from edgewatt.backends.simulated import SimulatedBackend
from edgewatt.errors import EdgewattError
from edgewatt.recording.record import record
try:
    record("lenet", Path(sys.argv[1]), backend=SimulatedBackend(slowdown=20), cycles={_CYCLES}, warmup=1)
except EdgewattError as error:
    print(error)
"""
#: Moments after the victim has started, in s: drawn once, spread over loading, warming up and running.
_MOMENTS = [random.Random(number).uniform(0.0, 1.6) for number in (0, 3)]


def _children(pid: int) -> dict[str, int]:
    """Process ids of a process's children by the module that they run."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if parent == pid and len(words) > 2 and words[1] == b"-m":
            found[words[2].decode().rpartition(".")[2]] = int(folder.name)
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _check_what_is_left(raw_dir: Path) -> int:
    """The number of cycles that were recorded, 0 where there is no recording."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a cut last line, for instance, would be told of
        warnings.filterwarnings("ignore", message=".*killed before it could be written")
        clear_abandoned(raw_dir)
        left = list(raw_dir.iterdir())
        if not left:
            return 0
        assert [path.name for path in left] == ["lenet"]
        recording = read_recording(RecordingPaths(left[0]))
    info = recording.run_info
    assert info is not None
    assert info.interrupted
    assert info.cycle_end_us is not None
    assert recording.layers.cycles == len(info.cycle_end_us) > 0
    assert recording.power_log.times_us[-1] >= info.cycle_end_us[-1]
    return recording.layers.cycles


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
@pytest.mark.parametrize("moment_s", _MOMENTS)
@pytest.mark.parametrize("victim", ["benchmark_main", "logger_main", "parent"])
def test_a_kill_at_any_moment_leaves_a_readable_recording_or_none(tmp_path: Path, victim: str, moment_s: float) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _SCRIPT, str(tmp_path)], stdout=subprocess.PIPE)
    wanted = "benchmark_main" if victim == "parent" else victim
    assert wait_until(lambda: wanted in _children(parent.pid) or parent.poll() is not None, 30)
    children = _children(parent.pid)
    time.sleep(moment_s)
    children |= _children(parent.pid)
    os.kill(parent.pid if victim == "parent" else children[victim], signal.SIGKILL)
    output, _ = parent.communicate(timeout=30)
    assert wait_until(lambda: not any(_alive(pid) for pid in children.values()), 10), "no process is left over"
    if victim == "parent":
        assert parent.returncode == -signal.SIGKILL
        assert _check_what_is_left(tmp_path) == 0
        return
    assert parent.returncode == 0
    cycles = _check_what_is_left(tmp_path)
    assert cycles or b"SIGKILL" in output or b"no cycle" in output, output


def test_what_a_killed_parent_left_is_cleared_by_the_next_recording(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _SCRIPT, str(tmp_path)])
    assert wait_until(lambda: any(tmp_path.glob(".recording-*/lenet")), 30)
    parent.kill()
    parent.wait()
    assert any(tmp_path.glob(".recording-*"))
    with pytest.warns(EdgewattWarning, match="an earlier recording was killed"):
        clear_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []
