"""The base method's layer profiler: derived from TensorRT's `IProfiler`, it keeps each report with its time.

TensorRT calls it once a layer, after the inference, one call behind the other. An exception in it would be lost in
the library, so it does nothing but append.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class LayerProfiler(Protocol):
    """A profiler that can be attached to an execution context."""

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        """Keep a layer's latency in ms, with the time of the report; called by TensorRT."""

    def take(self) -> list[tuple[str, float, int]]:
        """What was reported since it was last taken: name, latency in ms, time on the monotonic clock in ns."""


def make_profiler(trt: Any) -> LayerProfiler:
    """Make a profiler.

    Args:
        trt: The TensorRT module: its class `IProfiler` is what has to be derived from, so that there is no such class
            before there is a TensorRT.
    """
    now = time.monotonic_ns

    class _Profiler(trt.IProfiler):  # type: ignore[misc]  # a class of a module that is only known when it runs
        def __init__(self) -> None:
            trt.IProfiler.__init__(self)  # the library refuses an object whose base was not initialised
            self._reports: list[tuple[str, float, int]] = []

        def report_layer_time(self, layer_name: str, ms: float) -> None:
            self._reports.append((layer_name, ms, now()))

        def take(self) -> list[tuple[str, float, int]]:
            reports, self._reports = self._reports, []
            return reports

    profiler: LayerProfiler = _Profiler()
    return profiler


class ReportedCycles:
    """Puts a profiler's reports into cycles.

    Args:
        names: Names of the layers that are reported in each cycle, in order.

    Attributes:
        dropped: Cycles that were left out because other layers were reported.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = list(names)
        self._latency: list[list[float]] = []
        self._ends: list[list[int]] = []
        self.dropped = 0

    def add(self, reports: list[tuple[str, float, int]]) -> bool:
        """Add one cycle's reports; whether they are of the right layers."""
        if [report[0] for report in reports] != self._names:
            self.dropped += 1
            return False
        self._latency.append([report[1] for report in reports])
        self._ends.append([report[2] for report in reports])
        return True

    def take(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Latencies in ms and times of the reports of the cycles since last time, shape (cycles, layers)."""
        shape = (len(self._latency), len(self._names))
        latency = np.array(self._latency, dtype=np.float64).reshape(shape)
        ends = np.array(self._ends, dtype=np.int64).reshape(shape)
        self._latency, self._ends = [], []
        return latency, ends
