"""Recordings of the simulated board, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.formats.layer_latency import LayerLatencies
from edgewatt.formats.power_log import PowerLog
from edgewatt.networks.layer import Layer
from edgewatt.simulation.board import SimulatedBoard
from edgewatt.simulation.cycles import Timeline, run_cycles
from edgewatt.simulation.power_trace import PowerTrace
from edgewatt.simulation.profiler import draw_host_delays, report_times, reported_latencies
from edgewatt.simulation.roofline import layer_truth
from edgewatt.simulation.sensor import Conversions, Readings, SensorSettings, convert, poll
from edgewatt.simulation.settings import SimulationSettings

#: 2026-01-05 08:00:00 on the board's wall clock, in microseconds since 1970: recordings start within the 8 hours after.
DAY_START_US = 1_767_600_000_000_000
_DAY_S = 8 * 3600


@dataclass(frozen=True)
class SimulatedRecording:
    """What a recorder would have written of a network, and what it could not know.

    Attributes:
        name: The run's name.
        layers: The network's layers, n of them.
        power_log: What the sensor's reader logged of the total rail.
        latencies: What the profiler reported.
        call_start_us: Start of each inference's call on the host, in microseconds since 1970, shape (cycles,).
        call_end_us: When it returned.
        truth: One row a layer: `layer_name`, `layer_type`, and of the recorded cycles the mean `runtime_ms`, mean
            `power_w` while it ran (idle included), `power_above_idle_w`, and `energy_mj` (idle included) of a cycle.
            Powers of a layer that is not executed are null.
        timeline: The true course of the recording, in s from its start.
        conversions: What the sensor's chip did.
        start_us: The recording's start in microseconds since 1970.
        idle_power_w: The board's true idle power.
    """

    name: str
    layers: tuple[Layer, ...]
    power_log: PowerLog
    latencies: LayerLatencies
    call_start_us: NDArray[np.int64]
    call_end_us: NDArray[np.int64]
    truth: pl.DataFrame
    timeline: Timeline
    conversions: Conversions
    start_us: int
    idle_power_w: float


def simulate_network(
    layers: Sequence[Layer], board: SimulatedBoard, settings: SimulationSettings, *, name: str, seed: int = 0
) -> SimulatedRecording:
    """Simulate the recording of a network.

    Args:
        layers: Its layers in execution order, their names unique.
        board: Where it runs.
        settings: How it is run and measured.
        name: The run's name. Together with the seed it decides all that is drawn.
        seed: From 0.

    Raises:
        EdgewattError: There is nothing to run, or the seed is negative.
    """
    runtime_s, power_w = layer_truth(layers, board)
    executed = runtime_s > 0
    if not executed.any():
        raise EdgewattError("the network has no layer that is executed", where=name, fix="Simulate another network")
    if settings.mean_layer_s is not None:
        runtime_s *= settings.mean_layer_s / runtime_s[executed].mean()
    for_host, for_cycles, for_sensor = _generators(seed, name, 3)
    delays = draw_host_delays(settings.cycles.cycles, len(layers), settings.profiler, for_host)
    timeline = run_cycles(runtime_s, power_w, board.idle_power_w, delays.least_gap_s, settings.cycles, for_cycles)
    conversions, readings = _measure(timeline.trace, board, settings.sensor, for_sensor)
    start_us = DAY_START_US + crc32(name.encode()) % _DAY_S * 1_000_000
    end_us = _microseconds(report_times(timeline, delays, settings.profiler).T, start_us)
    latency_ms = reported_latencies(timeline, settings.profiler, for_host).T
    return SimulatedRecording(
        name=name,
        layers=tuple(layers),
        power_log=_power_log(readings, start_us),
        latencies=LayerLatencies(
            tuple(layer.name for layer in layers), list(np.ascontiguousarray(latency_ms)), list(end_us)
        ),
        call_start_us=_microseconds(timeline.start_s - delays.launch_s, start_us),
        call_end_us=_microseconds(timeline.end_s + delays.return_s, start_us),
        truth=_truth(layers, power_w, board.idle_power_w, timeline),
        timeline=timeline,
        conversions=conversions,
        start_us=start_us,
        idle_power_w=board.idle_power_w,
    )


def measure_idle(board: SimulatedBoard, sensor: SensorSettings, *, duration_s: float = 60.0, seed: int = 0) -> float:
    """Idle power as the simulated sensor measures it with nothing running, in W."""
    trace = PowerTrace(np.array([0.0, duration_s]), np.array([board.idle_power_w]))
    (random,) = _generators(seed, "idle", 1)
    _, readings = _measure(trace, board, sensor, random)
    return float(np.mean(readings.voltage_v * readings.current_a))


def _generators(seed: int, name: str, count: int) -> list[np.random.Generator]:
    """Independent random numbers for each part, so that a change of one part's settings leaves the others alone."""
    if seed < 0:
        raise EdgewattError(f"the seed is {seed}", fix="Use a whole number from 0")
    return [np.random.default_rng(s) for s in np.random.SeedSequence([seed, crc32(name.encode())]).spawn(count)]


def _measure(
    trace: PowerTrace, board: SimulatedBoard, settings: SensorSettings, random: np.random.Generator
) -> tuple[Conversions, Readings]:
    conversions = convert(trace, board.bus_voltage_v, settings, random)
    begin_s, end_s = float(trace.edges_s[0]), float(trace.edges_s[-1])
    return conversions, poll(conversions, board.bus_voltage_v, begin_s, end_s, settings, random)


def _power_log(readings: Readings, start_us: int) -> PowerLog:
    # Rounded to what the kernel's files can hold, so that 137 steps of 8 mA are 1096 mA and not a hair more.
    voltage_mv, current_ma = np.round(readings.voltage_v * 1e3, 3), np.round(readings.current_a * 1e3, 3)
    return PowerLog(_microseconds(readings.times_s, start_us), voltage_mv, current_ma)


def _microseconds(times_s: NDArray[np.float64], start_us: int) -> NDArray[np.int64]:
    """Wall-clock times, cut to whole microseconds as clocks are read."""
    return np.floor(times_s * 1e6).astype(np.int64) + start_us


def _truth(
    layers: Sequence[Layer], power_above_idle_w: NDArray[np.float64], idle_power_w: float, timeline: Timeline
) -> pl.DataFrame:
    """The recorded cycles' truth: warming makes a layer's power the mean over the time that it ran."""
    layer_s = timeline.layer_s
    runtime_s = layer_s.mean(axis=0)
    executed = runtime_s > 0
    total_s = np.where(executed, layer_s.sum(axis=0), 1.0)
    factor = timeline.power_factor @ layer_s / total_s
    power_w = (idle_power_w + power_above_idle_w) * factor
    above_idle_w = power_above_idle_w * factor
    return pl.DataFrame(
        {
            "layer_name": [layer.name for layer in layers],
            "layer_type": [str(layer.kind) for layer in layers],
            "runtime_ms": runtime_s * 1e3,
            "power_w": pl.Series(np.where(executed, power_w, np.nan)).fill_nan(None),
            "power_above_idle_w": pl.Series(np.where(executed, above_idle_w, np.nan)).fill_nan(None),
            "energy_mj": power_w * runtime_s * 1e3,
        }
    )
