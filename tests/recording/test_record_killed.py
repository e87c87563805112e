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

def tell(what, done):
    print(what, done, flush=True)

try:
    record("lenet", Path(sys.argv[1]), backend=SimulatedBackend(slowdown=5), cycles={_CYCLES}, warmup=1, progress=tell)
except EdgewattError as error:
    print("error:", error, flush=True)
"""
_DRAWN = random.Random(1)
#: What has begun, and how many seconds later the kill comes: while the network is loaded, warmed up or run without the
#: profiler, and while cycles are recorded.
_MOMENTS = [("loading", _DRAWN.uniform(0.0, 2.0)), ("running", _DRAWN.uniform(0.0, 1.0))]


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
@pytest.mark.parametrize(("phase", "after_s"), _MOMENTS)
@pytest.mark.parametrize("victim", ["benchmark_main", "logger_main", "parent"])
def test_a_kill_at_any_moment_leaves_a_readable_recording_or_none(
    tmp_path: Path, victim: str, phase: str, after_s: float
) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _SCRIPT, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    while not parent.stdout.readline().startswith(phase):
        assert parent.poll() is None
    wanted = "benchmark_main" if victim == "parent" else victim
    assert wait_until(lambda: wanted in _children(parent.pid), 30)
    time.sleep(after_s)
    children = _children(parent.pid)
    os.kill(parent.pid if victim == "parent" else children[victim], signal.SIGKILL)
    output, _ = parent.communicate(timeout=30)
    assert wait_until(lambda: not any(_alive(pid) for pid in children.values()), 10), "no process is left over"
    cycles = _check_what_is_left(tmp_path)
    if victim == "parent":
        assert parent.returncode == -signal.SIGKILL
        assert cycles == 0
        return
    assert parent.returncode == 0
    assert (cycles > 0) != ("error: " in output), "a recording, or an error that says why there is none"
    if victim == "benchmark_main" and phase == "running":
        assert cycles >= 100, "those that were reported as done are there"


def test_what_a_killed_parent_left_is_cleared_by_the_next_recording(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _SCRIPT, str(tmp_path)])
    assert wait_until(lambda: any(tmp_path.glob(".recording-*/lenet")), 30)
    parent.kill()
    parent.wait()
    assert any(tmp_path.glob(".recording-*"))
    with pytest.warns(EdgewattWarning, match="an earlier recording was killed"):
        clear_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []
