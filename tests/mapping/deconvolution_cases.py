"""Timelines and recordings made by hand for the tests of the deconvolution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.engine_info import EngineInfo
from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.power_log import PowerLog
from edgewatt.formats.recording import Recording, RecordingPaths
from edgewatt.formats.run_info import RunInfo
from edgewatt.mapping.timeline import LayerTimeline, lay_out
from edgewatt.simulation.recording import SimulatedRecording

ORIGIN_US = 1_700_000_000_000_000


def jittered_ends(
    runtime_s: NDArray[np.float64], cycles: int, gap_s: float, random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Starts and ends of layers in whole microseconds, shape (cycles, layers)."""
    lengths = np.round(runtime_s * random.uniform(0.9, 1.1, (cycles, len(runtime_s))), 6)
    gaps = np.round(gap_s * random.uniform(0.8, 1.2, cycles), 6)
    begin = np.concatenate(([0.0], np.cumsum(lengths.sum(axis=1) + gaps)[:-1])) + 0.01
    end = begin[:, None] + np.cumsum(lengths, axis=1)
    return end - lengths, end


def layer_cycles(start_s: NDArray[np.float64], end_s: NDArray[np.float64], stamp_s: NDArray[np.float64]) -> LayerCycles:
    """Layers as a profiler reports them, of shapes (cycles, layers)."""
    count = start_s.shape[1]
    return LayerCycles(
        tuple(f"layer{n}" for n in range(count)),
        ("",) * count,
        (end_s - start_s).T * 1e3,
        np.rint(stamp_s.T * 1e6).astype(np.int64) + ORIGIN_US,
    )


def own_end_timeline(start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> LayerTimeline:
    """The timeline of layers that were stamped at their own ends."""
    return lay_out(layer_cycles(start_s, end_s, end_s), None, ORIGIN_US)


def recording_of(simulated: SimulatedRecording, run: RunInfo | None = None) -> Recording:
    """What a recorder would have read back of a simulated recording."""
    latencies = simulated.latencies
    assert latencies.end_us is not None
    layers = LayerCycles(
        latencies.names,
        ("",) * len(latencies.names),
        np.array(latencies.latency_ms),
        np.array(latencies.end_us),
    )
    return Recording(RecordingPaths(Path("net")), simulated.power_log, layers, EngineInfo((), ()), None, run)


def power_log(times_s: NDArray[np.float64], power_w: NDArray[np.float64]) -> PowerLog:
    """Readings at 5 V."""
    times_us = np.rint(times_s * 1e6).astype(np.int64) + ORIGIN_US
    return PowerLog(times_us, np.full(len(times_s), 5000.0), power_w / 5 * 1e3)
