"""Cycles on disk while a network runs, so that a crash loses none that were complete.

One row a cycle, of 8-byte numbers: start and end in ns on the monotonic clock, then the layers' latencies in ms
(floats), then the times of their reports in ns. A row that was cut off by a crash is left out when reading.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from edgewatt.backends.base import Cycles


class Spool:
    """Cycles that are appended.

    Args:
        path: The file, made where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def append(self, cycles: Cycles) -> None:
        """Append cycles."""
        latency = np.ascontiguousarray(cycles.latency_ms, dtype=np.float64).view(np.int64)
        rows = np.hstack([cycles.start_ns[:, None], cycles.end_ns[:, None], latency, cycles.layer_end_ns])
        content = memoryview(np.ascontiguousarray(rows, dtype="<i8").tobytes())
        while content:
            content = content[os.write(self._file, content) :]

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_spool(path: Path, layers: int) -> Cycles:
    """Read the complete cycles of a file, none where it is missing.

    Args:
        path: The file.
        layers: Number of profiled layers.
    """
    width = 2 + 2 * layers
    numbers = np.fromfile(path, dtype="<i8") if path.exists() else np.empty(0, dtype=np.int64)
    rows = numbers[: len(numbers) // width * width].reshape(-1, width).astype(np.int64, copy=False)
    latency = np.ascontiguousarray(rows[:, 2 : 2 + layers]).view(np.float64)
    return Cycles(rows[:, 0].copy(), rows[:, 1].copy(), latency, rows[:, 2 + layers :].copy())
