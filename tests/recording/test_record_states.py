from __future__ import annotations

from pathlib import Path

import pytest
from fake_nvpmodel import FakeMachine
from faulty_backends import ScriptedBackend

from edgewatt.backends.base import LoadedNetwork, LoadSettings
from edgewatt.backends.network import Network
from edgewatt.backends.simulated import SimulatedBackend
from edgewatt.errors import EdgewattError, NoDeviceError
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.run_info import read_run_info
from edgewatt.recording.batch import RecordedBatch
from edgewatt.recording.kept_power_mode import state_file
from edgewatt.recording.states import record_states
from edgewatt.simulation.board import find_board


class _Watched(ScriptedBackend):
    """Notes the machine's power mode when a network is loaded, and cannot load a batch of 2."""

    def __init__(self, machine: FakeMachine) -> None:
        super().__init__("")
        self.machine = machine

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        if settings.input_shape is not None and settings.input_shape[0] == 2:
            raise EdgewattError("too little memory")
        with (self.machine.root / "modes").open("a") as file:
            file.write(f"{self.machine.mode} {settings.input_shape}\n")
        return super().load(network, settings)


def _states(raw_dir: Path, **options: object) -> RecordedBatch:
    settings = {"sensor": "none", "cycles": 20, "cool_down_s": 0.0, **options}
    return record_states(["lenet"], raw_dir, **settings)  # type: ignore[arg-type]


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path / "root")


def test_every_state_is_a_recording_in_its_mode_and_a_broken_one_stops_no_other(
    machine: FakeMachine, tmp_path: Path
) -> None:
    raw, said = tmp_path / "raw", list[str]()
    options = {"backend": _Watched(machine), "root": machine.root, "batches": [1, 2], "power_modes": ["25W", "15W"]}
    batch = _states(raw, announce=said.append, **options)
    assert [run.name for run in batch.recorded.done] == ["lenet@b1-float16-25W", "lenet@b1-float16-15W"]
    assert set(batch.recorded.failed) == {"lenet@b2-float16-25W", "lenet@b2-float16-15W"}
    assert batch.exit_status == 1
    assert [line.split()[0] for line in (machine.root / "modes").read_text().splitlines()] == ["1", "0"]
    assert read_run_info(raw / "25W/lenet@b1-float16-25W/run.json").power_mode == "25W"
    assert machine.mode == 0
    assert not state_file(machine.root).exists()
    assert "back to 15W at the end" in said[0]
    assert said[1:] == ["power mode 25W", "power mode 15W"]
    again = _states(raw, **{**options, "batches": [1]})
    assert again.skipped == ("lenet@b1-float16-25W", "lenet@b1-float16-15W")
    assert again.recorded.done == []
    redone = _states(raw, redo=True, **{**options, "batches": [1], "power_modes": ["15W"]})
    assert [run.name for run in redone.recorded.done] == ["lenet@b1-float16-15W"]


def test_a_mode_that_needs_a_restart_is_refused_before_anything_is_recorded(
    machine: FakeMachine, tmp_path: Path
) -> None:
    options = {"backend": _Watched(machine), "root": machine.root, "power_modes": ["25W", "7W"]}
    with pytest.raises(EdgewattError, match=r"7W needs a restart .*processors 2 to 1.*nvpmodel -m 3"):
        _states(tmp_path / "raw", **options)
    assert not (machine.root / "modes").exists()
    assert machine.mode == 0


def test_a_machine_without_power_modes_refuses_them(tmp_path: Path) -> None:
    with pytest.raises(NoDeviceError, match="no power modes"):
        _states(tmp_path / "raw", backend=ScriptedBackend(""), root=tmp_path / "desktop", power_modes=["15W"])
    with pytest.raises(EdgewattError, match="batch of 0"):
        _states(tmp_path / "raw", backend=ScriptedBackend(""), batches=[0])


@pytest.mark.filterwarnings("ignore:the board was not idle")
def test_the_simulated_board_is_in_the_mode_that_is_named_and_idles_so(tmp_path: Path) -> None:
    options = {"backend": SimulatedBackend(), "sensor": None, "idle_s": 0.3, "force_idle": True}
    batch = _states(tmp_path, power_modes=["25W"], **options)
    assert not batch.recorded.failed
    assert read_run_info(tmp_path / "25W/lenet@b1-float16-25W/run.json").power_mode == "25W"
    # The sensor shows steps of 40 mW.
    idle_w = read_idle_power(tmp_path / "25W/idling_power.json").power_w
    assert idle_w == pytest.approx(find_board("orin-nano", "25W").idle_power_w, abs=0.04)
