from __future__ import annotations

import json
import os
import signal
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faulty_backends import ScriptedBackend
from interruption import Interruption
from jetson_tree import JetsonTree

from edgewatt.backends.simulated import SimulatedBackend
from edgewatt.errors import EdgewattError, EdgewattWarning, NoDeviceError
from edgewatt.formats.benchmark import read_benchmark_result
from edgewatt.formats.layer_latency import read_layer_latencies
from edgewatt.formats.power_log import read_power_log
from edgewatt.formats.recording import RecordingPaths, read_recording
from edgewatt.formats.run_info import read_run_info
from edgewatt.recording import benchmark as benchmark_module
from edgewatt.recording.record import RecordedRun, record


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[RecordedRun, list[tuple[str, int]]]:
    """A recording of LeNet on the simulated board, fifty times slower: 3.5 ms a cycle."""
    seen: list[tuple[str, int]] = []
    run = record(
        "lenet",
        tmp_path_factory.mktemp("raw"),
        backend=SimulatedBackend(slowdown=50),
        cycles=120,
        warmup=2,
        progress=lambda what, done: seen.append((what, done)),
    )
    return run, seen


def test_a_recording_is_read_as_one(simulated: tuple[RecordedRun, list[tuple[str, int]]]) -> None:
    run, _ = simulated
    recording = read_recording(RecordingPaths(run.folder))
    assert recording.layers.latency_ms.shape == (7, 120)
    assert recording.engine.unique_names == list(recording.layers.names)
    assert recording.run_info is not None
    assert recording.benchmark is not None
    info = recording.run_info
    assert info.cycle_start_us is not None
    assert info.cycle_end_us is not None
    starts, ends = np.array(info.cycle_start_us), np.array(info.cycle_end_us)
    assert len(starts) == len(ends) == run.cycles == 120
    log = recording.power_log
    assert log.times_us[0] < starts[0]
    assert log.times_us[-1] > ends[-1] + 100_000, "what the last cycle changed is in the log"
    # Every layer was reported behind its cycle's start and before the next one's.
    assert (recording.layers.end_us.min(axis=0) >= starts).all()
    assert (recording.layers.end_us.max(axis=0)[:-1] <= starts[1:]).all()
    np.testing.assert_allclose(recording.benchmark.latencies, (ends - starts) / 1e6, atol=2e-6)


def test_a_recording_tells_how_it_was_made(simulated: tuple[RecordedRun, list[tuple[str, int]]]) -> None:
    run, seen = simulated
    info = read_run_info(run.folder / "run.json")
    assert (info.model, info.network, info.backend, info.interrupted) == ("lenet", "lenet", "simulated", False)
    assert (info.batch_size, info.input_shape, info.precision) == (1, [1, 1, 32, 32], "float16")
    assert info.sensor["total"] == ["VDD_IN"]
    assert info.sensor["settings_before"] == info.sensor["settings_after"]
    assert info.sensor["readings"] == len(read_power_log(run.folder / "lenet_power_log.log"))
    assert {"edgewatt", "python"} <= set(info.versions)
    assert info.model_extra is not None
    assert info.model_extra["verdict"] == list(run.verdict)
    assert info.model_extra["settings"]["random_weights"] is True
    assert seen[0] == ("loading", 0)
    assert seen[-1] == ("running", 120)
    assert not list(run.folder.parent.glob(".*")), "nothing hidden is left"


def test_power_and_runtimes_are_summed_up(simulated: tuple[RecordedRun, list[tuple[str, int]]]) -> None:
    run, _ = simulated
    assert run.power is not None
    assert run.energy_j == pytest.approx(run.power.mean_w * run.cycle_s)
    assert 4.235 < run.power.mean_w < 15, "above the simulated board's idle power"
    assert run.plain_cycle_s is not None
    assert run.sum_of_layers_s is not None
    assert run.sum_of_layers_s <= run.cycle_s
    assert run.plain_cycle_s == pytest.approx(run.cycle_s, rel=0.5)
    benchmark = read_benchmark_result(run.folder / "lenet_tensorrt.json")
    assert benchmark.avg_latency == pytest.approx(run.cycle_s)
    assert benchmark.model_extra is not None
    assert benchmark.model_extra["avg_latency_without_profiler"] == pytest.approx(run.plain_cycle_s)
    assert len(benchmark.model_extra["latencies_without_profiler"]) == 12


def test_without_a_sensor_runtimes_are_recorded_alone(tmp_path: Path) -> None:
    run = record("lenet", tmp_path, backend="onnxruntime", sensor="none", cycles=30, warmup=1, name="runtimes")
    assert (run.name, run.power, run.energy_j) == ("runtimes", None, None)
    assert "no power was recorded: runtimes alone" in run.verdict
    assert not list(run.folder.glob("*power_log*"))
    latencies = read_layer_latencies(run.folder / "trt_profiling" / "trt_layer_latency.json")
    assert len(latencies.latency_ms[0]) == 30
    assert read_run_info(run.folder / "run.json").sensor == {}


def test_a_machine_without_a_sensor_says_so_and_records_runtimes(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    with pytest.warns(EdgewattWarning, match=r"no power sensor .* runtimes are recorded without power"):
        run = record("lenet", tmp_path / "raw", backend=ScriptedBackend(), cycles=10, root=root)
    assert run.power is None
    with pytest.raises(NoDeviceError):
        record("lenet", tmp_path / "raw", backend=ScriptedBackend(), cycles=10, root=root, sensor="VDD_IN", name="x")
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == ["lenet"]


def test_a_boards_rails_and_state_are_recorded(tmp_path: Path) -> None:
    root = tmp_path / "root"
    JetsonTree(root).lock_clocks()
    run = record(
        "lenet",
        tmp_path / "raw",
        backend=ScriptedBackend(),
        cycles=50,
        root=root,
        further_rails=["VDD_CPU_GPU_CV"],
        most_per_s=500,
    )
    total = read_power_log(run.folder / "lenet_power_log.log")
    further = read_power_log(run.folder / "lenet_power_log.VDD_CPU_GPU_CV.log")
    assert set(total.power_uw) == {5000.0 * 1096}
    assert set(further.power_uw) == {5000.0 * 88}
    info = read_run_info(run.folder / "run.json")
    assert (info.power_mode, info.clocks["locked"]) == ("MAXN_SUPER", True)
    assert info.temperatures == {"before": {"cpu-thermal": 45.25}, "after": {"cpu-thermal": 45.25}}
    assert info.sensor["settings_before"]["samples"] == 1
    assert info.sensor["rails"] == ["VDD_IN", "VDD_CPU_GPU_CV"]
    assert info.sensor["total"] == ["VDD_IN"]


def test_the_sensor_is_fast_for_the_time_of_a_recording(tmp_path: Path) -> None:
    root = tmp_path / "root"
    tree = JetsonTree(root)
    hwmon = "sys/bus/i2c/devices/1-0040/hwmon/hwmon1"
    for channel in (1, 2):
        tree.write(f"{hwmon}/in{channel}_enable", "1")
    tree.write(f"{hwmon}/samples", "64")
    run = record("lenet", tmp_path / "raw", backend=ScriptedBackend(), cycles=10, root=root, fast=True)
    settings = read_run_info(run.folder / "run.json").sensor["settings_before"]
    assert (settings["samples"], settings["update_interval_ms"], settings["enabled_channels"]) == (1, 0, [1])
    left = {name: (root / hwmon / name).read_text().strip() for name in ("samples", "update_interval", "in2_enable")}
    assert left == {"samples": "64", "update_interval": "7", "in2_enable": "1"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sensor": "none"}, "no sensor can be set to its fastest: no power is logged. Leave --fast away"),
        ({"sensor": "simulated"}, "simulated cannot be made faster"),
        ({"backend": SimulatedBackend()}, "no sensor can be set to its fastest: simulated is no board's sensor"),
    ],
)
def test_what_cannot_be_made_fast_is_not_recorded_as_if_it_were(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(NoDeviceError, match=message):
        record("lenet", tmp_path / "raw", cycles=10, fast=True, **{"backend": ScriptedBackend(), **options})
    assert list((tmp_path / "raw").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sensor": "none"}, "VDD_SOC cannot be logged: no power is"),
        ({"backend": SimulatedBackend()}, "VDD_SOC cannot be logged: only simulated is"),
        ({}, "no power sensor was found"),
    ],
)
def test_further_rails_that_nothing_logs_are_not_passed_over(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    chosen: dict[str, Any] = {"backend": ScriptedBackend(), "root": tmp_path, **options}
    with pytest.raises(EdgewattError, match=message):
        record("lenet", tmp_path / "raw", cycles=10, further_rails=["VDD_SOC"], **chosen)


def test_layers_that_share_a_name_are_told_apart_again(tmp_path: Path) -> None:
    run = record("lenet", tmp_path, backend=ScriptedBackend(), sensor="simulated", cycles=20)
    raw = json.loads((run.folder / "trt_profiling" / "trt_layer_latency.json").read_text())
    assert [len(entries) for entries in raw.values()] == [40, 20]
    layers = read_recording(RecordingPaths(run.folder)).layers
    assert layers.names == ("a", "b", "a (2)")
    assert layers.latency_ms[:, 7].tolist() == [0.5, 1.0, 0.25]


def test_a_backend_that_knows_means_alone_writes_them_without_times(tmp_path: Path) -> None:
    run = record("lenet", tmp_path, backend=ScriptedBackend("means"), sensor="simulated", cycles=20)
    latencies = read_layer_latencies(run.folder / "trt_profiling" / "trt_layer_latency.json")
    assert latencies.end_us is None
    assert [values.tolist() for values in latencies.latency_ms] == [[0.5, 0.25], [1.0]]
    assert run.power is not None
    assert run.sum_of_layers_s == pytest.approx(1.75e-3)


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("raises", "RuntimeError: CUDA error 700"),
        ("edgewatt", "the device was lost"),
        ("segfault", "was ended by SIGSEGV"),
    ],
)
def test_what_was_complete_before_a_crash_is_kept(tmp_path: Path, trouble: str, reason: str) -> None:
    with pytest.warns(EdgewattWarning, match=r"interrupted .*40 complete cycles are kept"):
        run = record("lenet", tmp_path, backend=ScriptedBackend(trouble), sensor="simulated", cycles=1000)
    assert (run.cycles, run.stopped_by) == (40, None)
    assert run.interrupted is not None
    assert reason in run.interrupted
    assert any(sentence.startswith("interrupted: ") for sentence in run.verdict)
    recording = read_recording(RecordingPaths(run.folder))
    assert recording.layers.cycles == 40
    assert recording.run_info is not None
    assert recording.run_info.interrupted
    assert [path.name for path in tmp_path.iterdir()] == ["lenet"]


def test_an_error_at_loading_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match=r"it does not fit. Give another"):
        record("lenet", tmp_path, backend=ScriptedBackend("load"), sensor="simulated", cycles=10)
    assert list(tmp_path.iterdir()) == []


def test_what_a_library_prints_harms_nothing_and_warnings_are_passed_on(tmp_path: Path) -> None:
    with pytest.warns(EdgewattWarning, match="half of the layers are odd"):
        run = record("lenet", tmp_path, backend=ScriptedBackend("prints"), sensor="none", cycles=10)
    assert run.cycles == 10


def test_a_signal_ends_a_run_with_what_was_complete(tmp_path: Path) -> None:
    number = signal.SIGINT
    interrupt = Interruption(number, 50)
    before = signal.getsignal(number)
    with pytest.warns(EdgewattWarning, match=f"stopped by {number.name}"):
        run = record(
            "lenet", tmp_path, backend=ScriptedBackend(), sensor="simulated", cycles=100_000, progress=interrupt
        )
    assert run.stopped_by == number.name
    assert 50 <= run.cycles < 5000
    assert read_recording(RecordingPaths(run.folder)).layers.cycles == run.cycles
    assert signal.getsignal(number) is before


def test_a_signal_before_the_first_cycle_leaves_nothing(tmp_path: Path) -> None:
    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
    with pytest.raises(EdgewattError, match=r"stopped by SIGTERM .*nothing was recorded|no cycle was completed"):
        record("lenet", tmp_path, backend=ScriptedBackend(), sensor="none", cycles=100_000)
    assert list(tmp_path.iterdir()) == []


def test_a_benchmark_that_hangs_is_ended_when_the_user_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark_module, "_STOP_S", 0.5)

    interrupt = Interruption(signal.SIGINT, 10, after_s=0.5)
    began = time.monotonic()
    with pytest.warns(EdgewattWarning, match="40 complete cycles are kept"):
        record("lenet", tmp_path, backend=ScriptedBackend("hangs"), sensor="none", cycles=1000, progress=interrupt)
    assert time.monotonic() - began < 15


def test_a_complete_recording_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    def again(**options: bool) -> RecordedRun:
        return record("lenet", tmp_path, backend=ScriptedBackend(), sensor="none", cycles=10, **options)  # type: ignore[arg-type]

    first = again()
    written = (first.folder / "run.json").read_bytes()
    with pytest.raises(EdgewattError, match="there is a recording of lenet already"):
        again()
    assert (first.folder / "run.json").read_bytes() == written
    assert (again(replace_existing=True).folder / "run.json").read_bytes() != written


def test_an_interrupted_recording_is_replaced(tmp_path: Path) -> None:
    with pytest.warns(EdgewattWarning):
        record("lenet", tmp_path, backend=ScriptedBackend("raises"), sensor="none", cycles=1000)
    assert record("lenet", tmp_path, backend=ScriptedBackend(), sensor="none", cycles=10).interrupted is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cycles": 0}, "0 cycles"),
        ({"warmup": -1}, "after -1"),
        ({"precision": "float12"}, "unknown precision"),
        ({"name": "../x"}, "cannot be called"),
        ({"backend": "nobody"}, "no backend"),
    ],
)
def test_impossible_options_are_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(EdgewattError, match=message):
        record("lenet", tmp_path / "raw", **{"sensor": "none", **options})  # type: ignore[arg-type]
    assert not (tmp_path / "raw").exists()


def test_a_recording_warns_of_nothing_where_nothing_is_wrong(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record("lenet", tmp_path, backend=ScriptedBackend(), sensor="none", cycles=10)


def test_a_slow_sensor_is_told_of_by_its_settings(tmp_path: Path) -> None:
    root = tmp_path / "root"
    tree = JetsonTree(root)
    for channel in (1, 2):
        tree.write(f"sys/bus/i2c/devices/1-0040/hwmon/hwmon1/in{channel}_enable", "1")
    tree.write("sys/bus/i2c/devices/1-0040/hwmon/hwmon1/update_interval", "33")
    run = record("lenet", tmp_path / "raw", backend=ScriptedBackend(), cycles=10, root=root)
    # Two channels of 8.244 ms for current and voltage each are 32.976 ms; a cycle takes 2 ms and a little.
    assert any("a new value comes every 32.98 ms, and a cycle takes" in sentence for sentence in run.verdict)
