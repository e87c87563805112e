"""Backends that go wrong in the benchmark's process, in all the ways in which a real one may."""

from __future__ import annotations

import ctypes
import time
import warnings
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from edgewatt.backends.base import (
    Backend,
    Cycles,
    LoadedNetwork,
    LoadSettings,
    NetworkFacts,
    Problem,
    Stop,
    plain_cycles,
)
from edgewatt.backends.network import Network
from edgewatt.errors import EdgewattError


class ScriptedBackend(Backend):
    """Runs cycles of 2 ms with three layers, two of which share a name, handed over ten at a time.

    Args:
        trouble: What happens after 40 cycles: nothing, `raises`, `edgewatt` (an error of ours), `segfault`, `hangs`,
            `prints`; or `load` (at loading), `means` (no single layers' times).
    """

    name: ClassVar[str] = "scripted"

    def __init__(self, trouble: str = "") -> None:
        self.trouble = trouble

    def problem(self) -> Problem | None:
        return None

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:  # noqa: ARG002
        if self.trouble == "load":
            raise EdgewattError("it does not fit", where=network.path, fix="Give another")
        if self.trouble == "prints":
            print("a native library says hello", flush=True)
            warnings.warn("half of the layers are odd", stacklevel=1)
        return _Network(self.trouble)


class _Network(LoadedNetwork):
    def __init__(self, trouble: str) -> None:
        self.trouble = trouble
        self.done = 0

    @property
    def facts(self) -> NetworkFacts:
        layers = tuple({"Name": name, "LayerType": "kgen", "Inputs": [], "Outputs": []} for name in ("a", "b", "a"))
        return NetworkFacts(layers, ("a", "b", "a"), (4, 3, 8, 8), "float16", False, means_only=self.trouble == "means")

    def warm_up(self, cycles: int) -> None:
        pass

    def run_plain(self, cycles: int, stop: Stop) -> Cycles:  # noqa: ARG002
        begin = time.monotonic_ns()
        return plain_cycles([begin + n * 10 for n in range(cycles)], [begin + n * 10 + 5 for n in range(cycles)])

    def run(self, cycles: int, stop: Stop) -> Iterator[Cycles]:
        while self.done < cycles and not stop():
            starts, ends = [], []
            for _ in range(min(10, cycles - self.done)):
                starts.append(time.monotonic_ns())
                time.sleep(2e-3)
                ends.append(time.monotonic_ns())
            count = len(starts)
            layers = 0 if self.trouble == "means" else 3
            latency = np.tile([0.5, 1.0, 0.25][:layers], (count, 1)) + np.arange(count)[:, None] * 0.0
            reports = np.array(ends)[:, None] + np.arange(layers) * 1000
            yield Cycles(np.array(starts), np.array(ends), latency, reports)
            self.done += count
            if self.done >= 40:
                self._go_wrong()

    def mean_latency_ms(self) -> np.ndarray | None:
        return np.array([0.5, 1.0, 0.25]) if self.trouble == "means" else None

    def _go_wrong(self) -> None:
        if self.trouble == "raises":
            raise RuntimeError("CUDA error 700")
        if self.trouble == "edgewatt":
            raise EdgewattError("the device was lost", fix="Restart it")
        if self.trouble == "segfault":
            ctypes.string_at(0)
        if self.trouble == "hangs":
            time.sleep(3600)
