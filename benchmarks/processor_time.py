"""ONNX Runtime timed by the processor time of the thread that calls it, for machines that do other things meanwhile.

With one thread a call runs on the thread that makes it, so that the processor time of this thread is what the call
would have taken on a machine of its own, but for what others do to the caches.
"""

from __future__ import annotations

import time
from typing import Any

from edgewatt.backends.base import Cycles, LoadedNetwork, LoadSettings, Stop, plain_cycles
from edgewatt.backends.network import Network
from edgewatt.backends.onnx_model import runnable_model
from edgewatt.backends.onnxruntime import OnnxRuntimeBackend, OnnxRuntimeNetwork


class ProcessorTimeBackend(OnnxRuntimeBackend):
    """ONNX Runtime with one thread, whose calls without the profiler are timed by their processor time."""

    def __init__(self) -> None:
        super().__init__(threads=1)

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        """Load a network."""
        return _ProcessorTimeNetwork(runnable_model(network, settings), network, settings.seed, 1)


class _ProcessorTimeNetwork(OnnxRuntimeNetwork):
    def run_plain(self, cycles: int, stop: Stop) -> Cycles:
        """Run cycles without the profiler; each ends as much later than it began as it took processor time."""
        starts: list[int] = []
        ends: list[int] = []
        feed: dict[str, Any] = self._feed
        for _ in range(cycles):
            if stop():
                break
            start, began = time.monotonic_ns(), time.thread_time_ns()
            self._plain.run(None, feed)
            ends.append(start + time.thread_time_ns() - began)
            starts.append(start)
        return plain_cycles(starts, ends)
