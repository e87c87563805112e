"""A simulated layer profiler in TensorRT's way: it reports all layers of an inference after its end.

    GPU   | layer 1 | layer 2 | ... | layer n |
    host                                        ..delay..|report 1|report 2| ... |report n|

Each report is stamped when it is made, microseconds after the one before it; the latency that it holds is the time
between two events on the GPU. A profiler that stamps each layer at its own end, as ONNX Runtime's does, is simulated
too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.simulation.cycles import Timeline


@dataclass(frozen=True)
class ProfilerSettings:
    """How layers are reported.

    Attributes:
        own_ends: Whether layers are stamped at their own ends instead of after the inference.
        report_delay_s: Least and most time from the end of an inference to its first report.
        report_step_s: Least and most time from a report to the next.
        launch_s: Least and most time from the call of an inference to its start on the GPU.
        return_s: Least and most time from the last report to the return of that call.
        event_step_s: Resolution of the GPU's event times. A TensorRT profile of an Orin Nano holds multiples of
            32 ns; desktop GPUs have mostly 1.024 us.
        event_noise_s: Standard deviation of an event's time; chosen.
    """

    own_ends: bool = False
    report_delay_s: tuple[float, float] = (20e-6, 60e-6)
    report_step_s: tuple[float, float] = (2e-6, 5e-6)
    launch_s: tuple[float, float] = (10e-6, 30e-6)
    return_s: tuple[float, float] = (2e-6, 10e-6)
    event_step_s: float = 32e-9
    event_noise_s: float = 50e-9


@dataclass(frozen=True)
class HostDelays:
    """Times on the host in each recorded cycle, in s.

    Attributes:
        launch_s: From the call to the start on the GPU, shape (cycles,).
        reports_s: From the end on the GPU to each report, shape (cycles, layers).
        return_s: From the end on the GPU to the return of the call, shape (cycles,).
    """

    launch_s: NDArray[np.float64]
    reports_s: NDArray[np.float64]
    return_s: NDArray[np.float64]

    @property
    def least_gap_s(self) -> NDArray[np.float64]:
        """How long the GPU rests at least after each inference: until the call returned and the next was made."""
        return self.return_s + np.roll(self.launch_s, -1)


def draw_host_delays(cycles: int, layers: int, settings: ProfilerSettings, random: np.random.Generator) -> HostDelays:
    """Draw how long the host takes for its part of each recorded cycle."""
    reports = np.zeros((cycles, layers))
    if not settings.own_ends:
        reports[:, 0] = random.uniform(*settings.report_delay_s, cycles)
        reports[:, 1:] = random.uniform(*settings.report_step_s, (cycles, layers - 1))
        np.cumsum(reports, axis=1, out=reports)
    returned = reports[:, -1] + random.uniform(*settings.return_s, cycles)
    return HostDelays(random.uniform(*settings.launch_s, cycles), reports, returned)


def report_times(timeline: Timeline, delays: HostDelays, settings: ProfilerSettings) -> NDArray[np.float64]:
    """When each layer was stamped in each recorded cycle, in s, shape (cycles, layers)."""
    if settings.own_ends:
        return timeline.layer_end_s
    times: NDArray[np.float64] = timeline.end_s[:, None] + delays.reports_s
    return times


def reported_latencies(
    timeline: Timeline, settings: ProfilerSettings, random: np.random.Generator
) -> NDArray[np.float64]:
    """What the profiler says each layer took in each recorded cycle, in ms, shape (cycles, layers).

    Neighbours share the event between them, so that what noise adds to one it takes from the other. A layer that
    is not executed is reported with 0, and the numbers are TensorRT's 32-bit floats.
    """
    latency_s = timeline.layer_s
    executed = latency_s > 0
    noise = random.normal(0.0, settings.event_noise_s, (latency_s.shape[0], latency_s.shape[1] + 1))
    latency_s += np.diff(noise, axis=1)
    steps = np.maximum(np.round(latency_s / settings.event_step_s), 0)
    latency_ms = np.where(executed, steps * (settings.event_step_s * 1e3), 0.0)
    return latency_ms.astype(np.float32).astype(np.float64)
