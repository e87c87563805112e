from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from simulated_layers import small_network

from edgewatt.formats.benchmark import read_benchmark_result
from edgewatt.formats.csv_file import read_csv
from edgewatt.formats.engine_info import read_engine_info
from edgewatt.formats.layer_latency import read_layer_latencies
from edgewatt.formats.power_log import read_power_log
from edgewatt.formats.run_info import read_run_info
from edgewatt.networks.engine import layers_from_engine
from edgewatt.simulation.base_files import write_recording
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.cycles import CycleSettings
from edgewatt.simulation.recording import simulate_network
from edgewatt.simulation.settings import SimulationSettings

SETTINGS = SimulationSettings(cycles=CycleSettings(cycles=120))


@pytest.fixture(scope="module")
def recording():
    return simulate_network(small_network(), ORIN_NANO, SETTINGS, name="small", seed=1)


@pytest.fixture(scope="module")
def raw_dir(recording, tmp_path_factory):
    raw_dir = tmp_path_factory.mktemp("raw")
    folder = write_recording(raw_dir, recording, ORIN_NANO, SETTINGS, precision="float16")
    assert folder == raw_dir / "small"
    return raw_dir


def test_files_read_as_they_were_simulated(recording, raw_dir):
    folder = raw_dir / "small"
    log = read_power_log(folder / "small_power_log.log")
    np.testing.assert_array_equal(log.times_us, recording.power_log.times_us)
    np.testing.assert_array_equal(log.current_ma, recording.power_log.current_ma)
    latencies = read_layer_latencies(folder / "trt_profiling" / "trt_layer_latency.json")
    assert latencies.names == recording.latencies.names
    np.testing.assert_array_equal(np.array(latencies.latency_ms), np.array(recording.latencies.latency_ms))
    np.testing.assert_array_equal(np.array(latencies.end_us), np.array(recording.latencies.end_us))


def test_engine_has_the_layers(raw_dir):
    path = raw_dir / "small" / "trt_profiling" / "trt_engine_info.json"
    info = read_engine_info(path)
    read = layers_from_engine(info.layers, str(path))
    for layer, original in zip(read, small_network(), strict=True):
        assert (layer.name, layer.kind, layer.macs) == (original.name, original.kind, original.macs)
        assert (layer.input_shape, layer.kernel) == (original.input_shape, original.kernel)


def test_benchmark_and_run_tell_the_calls(recording, raw_dir):
    result = read_benchmark_result(raw_dir / "small" / "small_tensorrt.json")
    assert len(result.latencies) == 120
    assert result.avg_latency == pytest.approx(np.mean(result.latencies))
    # A call holds the layers, its launch (up to 30 us) and the reports (up to 60 + 5 x 5 + 10 us).
    layers_s = recording.truth["runtime_ms"].sum() / 1e3
    assert layers_s + 30e-6 < result.avg_latency < layers_s + 130e-6
    info = read_run_info(raw_dir / "small" / "run.json")
    assert info.board == "simulated orin-nano"
    assert info.cycle_start_us == recording.call_start_us.tolist()
    assert info.cycle_end_us == recording.call_end_us.tolist()
    assert (info.sensor["samples"], info.sensor["channels"]) == (1, 3)


def test_truth_lies_apart(recording, raw_dir):
    numbers = ("runtime_ms", "power_w", "power_above_idle_w", "energy_mj")
    table = read_csv(raw_dir / "truth" / "small.csv", dict.fromkeys(numbers, pl.Float64))
    assert table.equals(recording.truth)
    assert sorted(path.name for path in raw_dir.iterdir()) == ["small", "truth"]
