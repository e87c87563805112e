"""`edgewatt record` and `simulate` of several states, and `edgewatt states`, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_nvpmodel import FakeMachine

#: What runs it; it need not import everything anew each time.
COMMAND = Path(sys.executable).parent / "edgewatt"
pytestmark = pytest.mark.usefixtures("warm_command")


def _run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"}, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path / "root")


def test_states_are_simulated_compared_and_asked_for_again(tmp_path: Path) -> None:
    options = ("--networks", "lenet", "--batch", "1,2", "--power-mode", "7W,25W", "--cycles", "100")
    done = _run("simulate", tmp_path, *options)
    assert done.returncode == 0, done.stderr
    assert "lenet@b2-float16-25W" in done.stdout
    assert "lenet: most efficient is batch 2" in done.stdout
    again = _run("states", tmp_path, "--latency-ms", "0.001", "--json")
    assert again.returncode == 0, again.stderr
    value = json.loads(again.stdout)
    assert value["most_efficient"] == {"lenet": None}
    assert len(value["states"]) == 4
    assert {state["power_mode"] for state in value["states"]} == {"7W", "25W"}


def test_recording_switches_says_so_and_puts_back(machine: FakeMachine, tmp_path: Path) -> None:
    where = ("lenet", tmp_path / "raw", "--backend", "onnxruntime", "--sensor", "none", "--root", machine.root)
    done = _run(
        "record", *where, "--dtype", "float32", "--power-mode", "25W", "--cycles", "5", "--cool-down", "0", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert [state["model"] for state in json.loads(done.stdout)["states"]] == ["25W/lenet@b1-float32-25W"]
    assert "switching the power mode to 25W in turn, and back to 15W at the end" in done.stderr
    assert machine.switched == [1, 0]
    refused = _run("record", *where, "--power-mode", "7W,25W")
    assert refused.returncode == 2
    assert "the power mode 7W needs a restart" in refused.stderr
    assert machine.mode == 0
    desktop = _run("record", "lenet", tmp_path / "raw", "--power-mode", "15W", "--root", tmp_path / "desktop")
    assert desktop.returncode == 3
    assert "no power modes that can be switched" in desktop.stderr


def test_sensors_restore_puts_back_the_mode_of_a_killed_recording(machine: FakeMachine) -> None:
    state = machine.root / "var/lib/edgewatt/power_mode.json"
    state.parent.mkdir(parents=True)
    kept = {"schema_version": 1, "number": 1, "name": "25W", "clocks_locked": False, "process": 2**22 + 1}
    state.write_text(json.dumps(kept))
    done = _run("sensors", "--restore", "--root", machine.root)
    assert done.returncode == 0, done.stderr
    assert "Power mode: 25W, as it was" in done.stdout
    assert machine.mode == 1
    assert not state.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lenet", "raw", "--batch", "0"], "are no batches"),
        (["lenet", "raw", "--batch", "2", "--name", "x"], "name themselves"),
        (["lenet", "raw", "--latency-ms", "3"], "several states"),
        (["lenet", "raw", "--isolate", "--batch", "2"], "one network in one state"),
    ],
)
def test_what_does_not_go_together_is_told(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = _run("record", arguments[0], tmp_path / arguments[1], *arguments[2:])
    assert done.returncode == 2
    assert words in done.stderr
