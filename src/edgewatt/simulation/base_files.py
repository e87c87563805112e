"""A simulated recording as a folder of the base format, with its truth apart from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import edgewatt
from edgewatt.formats.benchmark import BenchmarkResult, write_benchmark_result
from edgewatt.formats.csv_file import write_csv
from edgewatt.formats.engine_info import EngineInfo, write_engine_info
from edgewatt.formats.folders import replacing_folder
from edgewatt.formats.layer_latency import write_layer_latencies
from edgewatt.formats.power_log import write_power_log
from edgewatt.formats.run_info import FILE_NAME as RUN_FILE_NAME
from edgewatt.formats.run_info import RunInfo, write_run_info
from edgewatt.networks.engine import engine_entry
from edgewatt.simulation.board import SimulatedBoard
from edgewatt.simulation.recording import SimulatedRecording
from edgewatt.simulation.sensor import SensorSettings
from edgewatt.simulation.settings import SimulationSettings

#: The folder in a raw data folder that holds what no recorder could know.
TRUTH_FOLDER = "truth"
#: When idle power was measured on the simulated board: shortly before the first recording could start.
IDLE_TIMESTAMP = "20260105-075500"


def write_recording(
    raw_dir: Path,
    recording: SimulatedRecording,
    board: SimulatedBoard,
    settings: SimulationSettings,
    *,
    precision: str = "",
) -> Path:
    """Write a recording and its truth, each whole or not at all.

    Args:
        raw_dir: The raw data folder.
        recording: What was simulated.
        board: Where.
        settings: How.
        precision: What the network computed in, for `run.json`.

    Returns:
        The recording's folder; the truth is in `raw_dir/truth/<name>.csv`.
    """
    name, folder = recording.name, raw_dir / recording.name
    with replacing_folder(folder, keep_others=False) as beside:
        write_power_log(beside / f"{name}_power_log.log", recording.power_log)
        write_benchmark_result(beside / f"{name}_tensorrt.json", _benchmark(recording, settings, precision))
        profiling = beside / "trt_profiling"
        write_layer_latencies(profiling / "trt_layer_latency.json", recording.latencies)
        entries = tuple(engine_entry(layer) for layer in recording.layers)
        write_engine_info(profiling / "trt_engine_info.json", EngineInfo(entries, ("input", "output")))
        write_run_info(beside / RUN_FILE_NAME, _run_info(recording, board, settings, precision))
    write_csv(raw_dir / TRUTH_FOLDER / f"{name}.csv", recording.truth)
    return folder


def _benchmark(recording: SimulatedRecording, settings: SimulationSettings, precision: str) -> BenchmarkResult:
    latencies_s = (recording.call_end_us - recording.call_start_us) / 1e6
    total_s = float(recording.call_end_us[-1] - recording.call_start_us[0]) / 1e6
    config: dict[str, Any] = {
        "model": recording.name,
        "dtype": precision,
        "input_shape": list(recording.layers[0].input_shape),
        "warmup": settings.cycles.warmup_cycles,
        "runs": len(latencies_s),
    }
    return BenchmarkResult(
        config=config,
        total_time=total_s,
        latencies=latencies_s.tolist(),
        avg_latency=float(np.mean(latencies_s)),
        avg_throughput=len(latencies_s) / total_s,
    )


def _run_info(
    recording: SimulatedRecording, board: SimulatedBoard, settings: SimulationSettings, precision: str
) -> RunInfo:
    first = recording.layers[0]
    return RunInfo(
        edgewatt_version=edgewatt.__version__,
        model=recording.name,
        network=recording.name,
        board=f"simulated {board.name}",
        backend="simulated",
        precision=precision,
        batch_size=first.batch_size,
        input_shape=list(first.input_shape),
        power_mode=board.power_mode,
        sensor=sensor_facts(settings.sensor),
        cycle_start_us=recording.call_start_us.tolist(),
        cycle_end_us=recording.call_end_us.tolist(),
    )


def sensor_facts(settings: SensorSettings) -> dict[str, Any]:
    """What a recorder can read of the sensor's settings; not how far its clock is off, or what lags behind."""
    return {
        "name": "ina3221",
        "rails": ["VDD_IN"],
        "total": ["VDD_IN"],
        "samples": settings.samples,
        "channels": settings.channels,
        "shunt_conversion_time_us": round(settings.conversion_time_s * 1e6),
        "bus_conversion_time_us": round(settings.conversion_time_s * 1e6),
        "shunt_resistor_uohm": round(settings.shunt_ohm * 1e6),
        "current_step_ma": settings.current_step_a * 1e3,
    }
