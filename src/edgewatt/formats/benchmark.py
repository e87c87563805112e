"""`<model>_tensorrt.json`: how the network was run, and how long each inference took."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, FiniteFloat

from edgewatt.formats.checked import FileModel, read_checked, write_checked

_FromZero = Annotated[FiniteFloat, Field(ge=0)]
_LAYOUT = 'The file is {"config": {...}, "total_time": s, "latencies": [s, ...], "avg_latency": s, ...}'


class BenchmarkResult(FileModel):
    """A network's benchmark.

    Attributes:
        config: How it was run: model, dtype, input_shape, warmup, runs and what else the recorder knew.
        total_time: Time of all cycles together in s.
        latencies: Time of each cycle in s; empty where it was not kept.
        avg_latency: Mean time of a cycle in s.
        avg_throughput: Cycles a second.
    """

    config: dict[str, Any] = Field(default_factory=dict)
    total_time: _FromZero | None = None
    latencies: list[_FromZero] = Field(default_factory=list)
    avg_latency: FiniteFloat = Field(gt=0)
    avg_throughput: _FromZero | None = None


def read_benchmark_result(path: Path) -> BenchmarkResult:
    """Read a benchmark result.

    Raises:
        FormatError: The file is missing or not of this format.
    """
    return read_checked(path, BenchmarkResult, _LAYOUT)


def write_benchmark_result(path: Path, result: BenchmarkResult) -> None:
    """Write a benchmark result, whole or not at all."""
    write_checked(path, result)
