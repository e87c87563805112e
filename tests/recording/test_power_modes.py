from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_nvpmodel import FakeMachine

from edgewatt.errors import EdgewattError, EdgewattWarning, NoDeviceError
from edgewatt.recording.environment import read_environment
from edgewatt.recording.kept_power_mode import kept_power_mode, restore_power_mode, state_file
from edgewatt.recording.power_modes import PowerModes, RestartNeededError, read_power_modes


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path / "root")


def test_modes_are_read_with_what_they_set(machine: FakeMachine) -> None:
    modes = read_power_modes(machine.root)
    assert [(mode.number, mode.name) for mode in modes] == [(0, "15W"), (1, "25W"), (3, "7W")]
    assert modes[2].settings["TPC_POWER_GATING TPC_PG_MASK"] == "252"
    assert read_environment(machine.root).power_mode == "15W"


def test_a_switch_is_made_and_checked(machine: FakeMachine) -> None:
    modes = PowerModes(machine.root)
    assert modes.current().name == "15W"
    modes.switch(modes.find("25W"))
    assert (machine.mode, modes.current().name, machine.switched) == (1, "25W", [1])
    modes.switch(modes.find("25W"))
    assert machine.switched == [1], "what is set already is not asked for"


def test_a_mode_that_needs_a_restart_is_refused_with_the_reason_and_nothing_restarts(machine: FakeMachine) -> None:
    modes = PowerModes(machine.root)
    with pytest.raises(RestartNeededError, match=r"7W needs a restart .*TPC_PG_MASK 240 to 252, processors 2 to 1"):
        modes.switch(modes.find("7W"))
    assert machine.mode == 0
    assert not (machine.root / "restarted").exists()


def test_a_switch_that_nvpmodel_refuses_names_its_last_words(machine: FakeMachine) -> None:
    (machine.root / "refuses").touch()
    modes = PowerModes(machine.root)
    with pytest.raises(EdgewattError, match=r"set to 25W: NVPM ERROR: failed to open.*root"):
        modes.switch(modes.find("25W"))


def test_names_that_are_none_and_machines_without_modes(machine: FakeMachine, tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match=r"no power mode '30W'.*15W, 25W, 7W"):
        PowerModes(machine.root).find("30W")
    with pytest.raises(NoDeviceError, match=r"no power modes that can be switched"):
        PowerModes(tmp_path / "desktop")
    (machine.root / "usr/sbin/nvpmodel").unlink()
    with pytest.raises(NoDeviceError, match="there is no nvpmodel"):
        PowerModes(machine.root)


def test_the_mode_from_before_is_put_back_after_an_error(machine: FakeMachine) -> None:
    def fail() -> None:
        with kept_power_mode(PowerModes(machine.root), machine.root) as switched:
            switched.switch("25W")
            assert machine.mode == 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert machine.mode == 0
    assert not state_file(machine.root).exists()


@pytest.mark.parametrize("locked", [True, False])
def test_clocks_are_locked_in_every_mode_if_they_were(machine: FakeMachine, locked: bool) -> None:
    machine.with_clocks(locked=locked)
    with kept_power_mode(PowerModes(machine.root), machine.root) as switched:
        switched.switch("25W")
    assert (machine.root / "locked").exists() is locked


def test_without_root_nothing_is_switched(machine: FakeMachine) -> None:
    (machine.root / "var/lib/edgewatt").write_text("no folder can be made here")
    with pytest.raises(EdgewattError, match="needs root"), kept_power_mode(PowerModes(machine.root), machine.root):
        pass
    assert machine.switched == []


_SCRIPT = """
import sys, time
from pathlib import Path
from edgewatt.recording.kept_power_mode import kept_power_mode
from edgewatt.recording.power_modes import PowerModes
root = Path(sys.argv[1])
with kept_power_mode(PowerModes(root), root) as switched:
    switched.switch("25W")
    (root / "ready").touch()
    time.sleep(60)
"""


def _killed_by(machine: FakeMachine, number: int) -> int:
    child = subprocess.Popen([sys.executable, "-c", _SCRIPT, str(machine.root)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (machine.root / "ready").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert machine.mode == 1
        os.kill(child.pid, number)
        return child.wait(60)
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_mode_from_before_is_put_back_after_a_signal(machine: FakeMachine, number: int) -> None:
    assert _killed_by(machine, number) != 0
    assert machine.mode == 0
    assert restore_power_mode(machine.root) is None


def test_after_a_kill_a_later_call_restores(machine: FakeMachine) -> None:
    assert _killed_by(machine, signal.SIGKILL) == -signal.SIGKILL
    assert machine.mode == 1
    assert restore_power_mode(machine.root) == "15W"
    assert machine.mode == 0
    assert not state_file(machine.root).exists()


def test_after_a_kill_the_next_sweep_puts_back_the_mode_of_then(machine: FakeMachine) -> None:
    _killed_by(machine, signal.SIGKILL)
    with (
        pytest.warns(EdgewattWarning, match="15W is put back"),
        kept_power_mode(PowerModes(machine.root), machine.root) as switched,
    ):
        switched.switch("25W")
    assert machine.mode == 0


def test_two_sweeps_at_once_are_refused(machine: FakeMachine) -> None:
    parent = f'"process": {os.getppid()}'
    with kept_power_mode(PowerModes(machine.root), machine.root):
        state = state_file(machine.root)
        state.write_text(state.read_text().replace(f'"process": {os.getpid()}', parent))
        with pytest.raises(EdgewattError, match="recording in several power modes"):
            restore_power_mode(machine.root)
