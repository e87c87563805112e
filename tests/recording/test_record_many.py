from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from faulty_backends import ScriptedBackend
from interruption import Interruption
from jetson_tree import JetsonTree

from edgewatt.backends.base import LoadedNetwork, LoadSettings
from edgewatt.backends.network import Network
from edgewatt.backends.simulated import SimulatedBackend
from edgewatt.errors import CheckFailedError, EdgewattError, EdgewattWarning
from edgewatt.formats.idle_power import IdlePower, read_idle_power, write_idle_power
from edgewatt.formats.run_info import read_run_info
from edgewatt.recording.batch import record_many


class ChoosyBackend(ScriptedBackend):
    """Crashes on one network."""

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        return ScriptedBackend("raises" if network.name == "alexnet" else "").load(network, settings)


def _many(networks: list[str], raw_dir: Path, **options: object) -> object:
    settings = {"backend": ScriptedBackend(), "sensor": "none", "cycles": 60, "cool_down_s": 0.0, **options}
    return record_many(networks, raw_dir, **settings)  # type: ignore[arg-type]


def test_a_list_goes_on_after_a_network_that_fails_and_resumes_with_it(tmp_path: Path) -> None:
    with pytest.warns(EdgewattWarning, match="interrupted"):
        batch = _many(["lenet", "alexnet", "nobody", "vgg11"], tmp_path, backend=ChoosyBackend())
    assert [run.name for run in batch.recorded.done] == ["lenet", "vgg11"]
    assert set(batch.recorded.failed) == {"alexnet", "nobody"}
    assert "40 complete cycles are kept" in str(batch.recorded.failed["alexnet"])
    assert batch.exit_status == 1
    seen: list[str] = []
    again = _many(["lenet", "alexnet", "vgg11"], tmp_path, next_network=seen.append)
    assert seen == ["alexnet"]
    assert again.skipped == ("lenet", "vgg11")
    assert [run.name for run in again.recorded.done] == ["alexnet"]
    assert again.exit_status == 0
    assert not read_run_info(tmp_path / "alexnet" / "run.json").interrupted


def test_a_recording_with_too_few_cycles_is_made_again(tmp_path: Path) -> None:
    _many(["lenet"], tmp_path, cycles=10)
    assert [run.cycles for run in _many(["lenet"], tmp_path, cycles=20).recorded.done] == [20]
    assert _many(["lenet"], tmp_path, cycles=15).skipped == ("lenet",)
    assert [run.cycles for run in _many(["lenet"], tmp_path, cycles=15, redo=True).recorded.done] == [15]


@pytest.mark.filterwarnings("ignore:the board was not idle")
def test_idle_power_is_measured_first_where_there_is_none(tmp_path: Path) -> None:
    options = {"backend": SimulatedBackend(), "sensor": None, "cycles": 20, "idle_s": 0.5, "force_idle": True}
    batch = _many(["lenet"], tmp_path, **options)
    assert [run.name for run in batch.recorded.done] == ["lenet"]
    assert read_idle_power(tmp_path / "idling_power.json").power_w == pytest.approx(4.2, abs=0.1)


def test_a_busy_board_is_told_with_the_option_that_a_list_has(tmp_path: Path) -> None:
    tree = JetsonTree(tmp_path / "root")
    tree.write("sys/devices/gpu.0/load", "900")
    with pytest.raises(CheckFailedError, match=r"the GPU was busy 90% of the time\. .*\(--force-idle\)"):
        _many(["lenet"], tmp_path / "raw", sensor=None, idle_s=0.5, root=tree.root)
    assert not (tmp_path / "raw").exists()


def test_idle_power_that_is_there_stays(tmp_path: Path) -> None:
    write_idle_power(tmp_path / "idling_power.json", IdlePower(timestamp="t", avg_idle_power=3e6))
    _many(["lenet"], tmp_path, sensor="simulated", cycles=10)
    assert read_idle_power(tmp_path / "idling_power.json").power_w == 3.0


def test_the_board_cools_between_networks_only(tmp_path: Path) -> None:
    begins: list[float] = []
    _many(
        ["lenet", "vgg11"], tmp_path, cycles=1, cool_down_s=1.5, next_network=lambda _: begins.append(time.monotonic())
    )
    ended = time.monotonic()
    first, second = begins[1] - begins[0], ended - begins[1]
    assert second > 1.5
    assert first < second


def test_a_signal_while_a_network_is_loaded_ends_the_whole_list(tmp_path: Path) -> None:
    def interrupt(name: str) -> None:
        if name == "vgg11":
            os.kill(os.getpid(), signal.SIGTERM)

    batch = _many(["lenet", "vgg11", "vgg13"], tmp_path, cycles=10, next_network=interrupt)
    assert [run.name for run in batch.recorded.done] == ["lenet"]
    assert set(batch.recorded.failed) == {"vgg11", "vgg13"}
    assert all("stopped by SIGTERM" in str(error) for error in batch.recorded.failed.values())


def test_a_signal_ends_the_whole_list(tmp_path: Path) -> None:
    interrupt = Interruption(signal.SIGINT, 10)
    with pytest.warns(EdgewattWarning, match="stopped by SIGINT"):
        batch = _many(["lenet", "vgg11", "vgg13"], tmp_path, cycles=100_000, cool_down_s=60.0, progress=interrupt)
    assert batch.recorded.done == []
    assert "interrupted (stopped by SIGINT)" in str(batch.recorded.failed["lenet"])
    assert [str(batch.recorded.failed[name]) for name in ("vgg11", "vgg13")] == ["not recorded: stopped by SIGINT"] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["lenet"]


@pytest.mark.parametrize(
    ("networks", "message"), [([], "no network was named"), (["lenet", "a/lenet.onnx"], "comes twice")]
)
def test_impossible_lists_are_refused(tmp_path: Path, networks: list[str], message: str) -> None:
    with pytest.raises(EdgewattError, match=message):
        _many(networks, tmp_path)
