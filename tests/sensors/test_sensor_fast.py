from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sensor_trees as trees
from failing_files import FailingFiles
from fake_ina3221_driver import FakeDriver

from edgewatt.errors import EdgewattError, EdgewattWarning, FormatError, NoDeviceError
from edgewatt.sensors import fast
from edgewatt.sensors.discovery import Discovery, discover
from edgewatt.sensors.fast import fast_sensor, make_fast, restore, state_file

Board = tuple[Discovery, FakeDriver, Path]


@pytest.fixture
def orin_nano(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Board]:
    def build(*, patched: bool = True, samples: int = 1, time_us: int = 1100) -> Board:
        found = discover(trees.orin_nano(tmp_path).root)
        driver = FakeDriver(found.sensors[0].path, patched=patched, samples=samples, time_us=time_us)
        monkeypatch.setattr(fast, "_write", driver.write)
        return found, driver, state_file(tmp_path)

    return build


@pytest.mark.parametrize("patched", [True, False])
@pytest.mark.parametrize(("samples", "time_us"), [(1, 1100), (512, 140), (64, 1100), (4, 140), (16, 588), (1024, 8244)])
def test_fast_and_back_under_both_drivers(
    orin_nano: Callable[..., Board], patched: bool, samples: int, time_us: int
) -> None:
    found, driver, state = orin_nano(patched=patched, samples=samples, time_us=time_us)
    before = driver.state()
    make_fast(found, state)
    assert driver.state() == (1, 140, (True, False, False))
    restore(state)
    assert driver.state() == before
    assert not state.exists()


def test_what_was_changed(orin_nano: Callable[..., Board]) -> None:
    found, _, state = orin_nano(samples=16)
    folder = found.sensors[0].path
    changes = make_fast(found, state)
    assert [(change.path.name, change.before, change.after) for change in changes] == [
        ("samples", 16, 1),
        ("in2_enable", 1, 0),
        ("in3_enable", 1, 0),
        ("update_interval", 7, 0),
    ]
    back = restore(state)
    assert [(change.path, change.before, change.after) for change in back] == [
        (folder / name, after, before) for name, before, after in [(c.path.name, c.before, c.after) for c in changes]
    ]


def test_only_chips_of_the_total_are_touched(tmp_path: Path) -> None:
    found = discover(trees.agx_orin(tmp_path, jetpack=6).root)
    changes = make_fast(found, state_file(tmp_path))
    assert {change.path.parent for change in changes} == {found.sensors[0].path}
    assert not any(change.path.name.endswith("enable") for change in changes)  # all three are the total's
    restore(state_file(tmp_path))


def test_fast_twice_keeps_the_settings_of_before_the_first(orin_nano: Callable[..., Board]) -> None:
    found, driver, state = orin_nano(samples=64)
    before = driver.state()
    make_fast(found, state)
    assert make_fast(found, state) == []
    with fast_sensor(found, state) as changes:
        assert changes == []
    assert driver.state() == (1, 140, (True, False, False))  # it was fast before the block
    restore(state)
    assert driver.state() == before


def test_restore_without_anything_to_restore(tmp_path: Path) -> None:
    assert restore(tmp_path / "none.json") == []


def test_a_block_is_restored_after_an_exception(orin_nano: Callable[..., Board]) -> None:
    found, driver, state = orin_nano()
    before = driver.state()

    def interrupted() -> None:
        with fast_sensor(found, state) as changes:
            assert len(changes) == 3
            assert driver.state() != before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert driver.state() == before
    assert not state.exists()


def test_a_second_interrupt_waits_until_all_is_restored(
    orin_nano: Callable[..., Board], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, driver, state = orin_nano()
    before = driver.state()
    handler = signal.getsignal(signal.SIGINT)

    def write(path: Path, value: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        driver.write(path, value)

    def restored_under_interrupts() -> None:
        with fast_sensor(found, state):
            monkeypatch.setattr(fast, "_write", write)

    with pytest.raises(KeyboardInterrupt):
        restored_under_interrupts()
    assert driver.state() == before
    assert signal.getsignal(signal.SIGINT) is handler


_BLOCK = """
import sys, time
from pathlib import Path
from edgewatt.sensors.discovery import discover
from edgewatt.sensors.fast import fast_sensor, state_file
root = Path(sys.argv[1])
with fast_sensor(discover(root), state_file(root)):
    print("fast", flush=True)
    time.sleep(60)
"""


def start_block(root: Path) -> subprocess.Popen[bytes]:
    """A process that has made the sensor fast and stays in the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", _BLOCK, str(root)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"fast\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_block_is_restored_after_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    folder = discover(trees.orin_nano(tmp_path).root).sensors[0].path
    process = subprocess.Popen(
        [sys.executable, "-c", _BLOCK, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"fast\n"
    assert (folder / "in2_enable").read_text() == "0\n"
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == (-2 if number == signal.SIGINT else 128 + number)
    assert [(folder / f"in{n}_enable").read_text() for n in (1, 2, 3)] == ["1\n"] * 3
    assert (folder / "update_interval").read_text() == "7\n"
    assert not state_file(tmp_path).exists()


def test_after_a_kill_another_process_restores(tmp_path: Path) -> None:
    folder = discover(trees.orin_nano(tmp_path).root).sensors[0].path
    process = subprocess.Popen(
        [sys.executable, "-c", _BLOCK, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"fast\n"
    process.kill()
    process.communicate(timeout=20)
    assert (folder / "in2_enable").read_text() == "0\n"
    assert len(restore(state_file(tmp_path))) == 3
    assert (folder / "in2_enable").read_text() == "1\n"


@pytest.mark.parametrize("name", ["EACCES", "EROFS"])
def test_without_root_nothing_is_left_changed(tmp_path: Path, failing_files: FailingFiles, name: str) -> None:
    found = discover(trees.orin_nano(tmp_path, samples=16).root)
    folder = found.sensors[0].path
    failing_files.fail(folder / "update_interval", name, writing=True)
    with pytest.raises(EdgewattError, match=r"update_interval: cannot be set to 0: .*Run as root"):
        make_fast(found, state_file(tmp_path))
    assert [(folder / f"in{n}_enable").read_text() for n in (1, 2, 3)] == ["1\n"] * 3
    assert not state_file(tmp_path).exists()


def test_settings_that_cannot_be_kept_are_not_changed(tmp_path: Path) -> None:
    found = discover(trees.orin_nano(tmp_path, samples=16).root)
    (tmp_path / "run").write_text("a file where a folder has to be")
    with pytest.raises(EdgewattError, match=r"settings cannot be written: .*Run as root"):
        make_fast(found, state_file(tmp_path))
    assert (found.sensors[0].path / "samples").read_text() == "16\n"


def test_sensors_without_settings(tmp_path: Path) -> None:
    for name, build in {"nano": trees.nano, "thor": trees.thor}.items():
        found = discover(build(tmp_path / name).root)
        with pytest.raises(NoDeviceError, match=r"(ina3221x@6-0040|ina238@2-0044) cannot be made faster"):
            make_fast(found, state_file(tmp_path / name))
    tree = trees.orin_nano(tmp_path / "other")
    found = discover(tree.root)
    (found.sensors[0].path / "samples").unlink()
    with pytest.raises(NoDeviceError, match="shows no samples"):
        make_fast(found, state_file(tree.root))


def test_a_board_without_a_known_total(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board("Some board")
    tree.add_ina3221("1-0040", "hwmon1", {1: ("MAIN", 5000, 100)}, enabled=(1,))
    with pytest.raises(NoDeviceError, match="Some board"):
        make_fast(discover(tree.root), state_file(tree.root))


def test_a_sensor_that_has_gone_is_told(tmp_path: Path) -> None:
    found = discover(trees.orin_nano(tmp_path).root)
    make_fast(found, state_file(tmp_path))
    folder = found.sensors[0].path.resolve()
    folder.rename(folder.with_name("hwmon9"))
    with pytest.warns(EdgewattWarning, match="the sensor is gone"):
        assert restore(state_file(tmp_path)) == []
    assert not state_file(tmp_path).exists()


def test_a_damaged_state_file(tmp_path: Path) -> None:
    state_file(tmp_path).parent.mkdir(parents=True)
    state_file(tmp_path).write_text('{"chips": 5}')
    with pytest.raises(FormatError, match="not the settings of sensors"):
        restore(state_file(tmp_path))
