"""The benchmark, seen from the process that records: it waits for it, and reads what it left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from edgewatt.backends.base import Cycles, NetworkFacts
from edgewatt.errors import EdgewattError, NoDeviceError, warn
from edgewatt.formats.json_file import read_json
from edgewatt.recording.benchmark_main import BenchmarkPlan
from edgewatt.recording.child import Child
from edgewatt.recording.spool import read_spool

_MODULE = "edgewatt.recording.benchmark_main"
#: A profile that is being read, or an inference that is under way, may take this long to come to its end.
_STOP_S = 20.0


class BenchmarkCrash(Exception):  # noqa: N818 - it is no error of its own, but another process's as text
    """What a backend raised in the benchmark's process, with its traceback, as the cause of an error here."""


@dataclass(frozen=True)
class BenchmarkOutcome:
    """What a benchmark left.

    Attributes:
        facts: What is known of the network.
        cycles: The complete profiled cycles.
        plain: The complete cycles without the profiler.
        mean_latency_ms: Mean latency of each layer, where the backend tells no single cycles.
    """

    facts: NetworkFacts
    cycles: Cycles
    plain: Cycles
    mean_latency_ms: NDArray[np.float64] | None


class Benchmark:
    """A benchmark in a process of its own, which begins to load the network at once.

    Args:
        plan: What it does.
        progress: Called with the number of cycles that are done.
    """

    def __init__(self, plan: BenchmarkPlan, progress: Callable[[int], None] | None = None) -> None:
        self._plan = plan
        self._progress = progress
        self._seen: set[str] = set()
        self._error: EdgewattError | None = None
        self._child = Child(_MODULE, plan)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._child.pid

    def wait_until_loaded(self, stop: Callable[[], bool]) -> bool:
        """Wait until the network is loaded; False where `stop` said so before.

        Raises:
            EdgewattError: It could not be loaded, or the process ended.
        """
        while "loaded" not in self._seen:
            if stop():
                return False
            self._listen()
            if self._error is not None:
                raise self._error
            if self._child.ended is not None and "loaded" not in self._seen:
                raise EdgewattError(
                    f"the benchmark {self._child.ended} while it loaded the network",
                    where=self._plan.network.path,
                    fix="Its own messages are above; too little memory ends a process with SIGKILL",
                )
        return True

    def go(self) -> None:
        """Let it run the network."""
        self._child.send("go")

    def poll(self) -> str | None:
        """Look whether it has ended, waiting a moment.

        Returns:
            None while it runs, an empty text where it did what was planned, else what went wrong.
        """
        self._listen()
        if self._child.ended is None:
            return None
        self._listen()  # what it reported last
        if self._error is not None:
            return self._error.what
        return "" if "done" in self._seen else f"the benchmark {self._child.ended}"

    @property
    def error(self) -> EdgewattError | None:
        """The error that it reported."""
        return self._error

    def stop(self) -> None:
        """Have it end after the cycle that it is at, and wait for that."""
        self._child.send("stop")
        for _ in range(int(_STOP_S / 0.05)):
            if self._child.ended is not None:
                break
            self._listen()
        self._child.close()

    def outcome(self) -> BenchmarkOutcome:
        """What it left."""
        return read_outcome(self._plan)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close()

    def _listen(self) -> None:
        for event in self._child.events():
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        self._seen.add(event["event"])
        if event["event"] == "error":
            kind = NoDeviceError if event["exit_status"] == NoDeviceError.exit_status else EdgewattError
            self._error = kind(event["what"], where=event["where"], fix=event["fix"])
            if "traceback" in event:
                self._error.__cause__ = BenchmarkCrash(event["traceback"])
        elif event["event"] == "warning":
            warn(event["what"])
        elif event["event"] in ("progress", "done") and self._progress is not None:
            self._progress(event["cycles"])


def read_outcome(plan: BenchmarkPlan) -> BenchmarkOutcome:
    """What a benchmark left in its plan's files."""
    value = read_json(plan.facts)
    facts = NetworkFacts(
        **{
            **value,
            "layers": tuple(value["layers"]),
            "profiled": tuple(value["profiled"]),
            "input_shape": tuple(value["input_shape"]),
            "bindings": tuple(value["bindings"]),
        }
    )
    means = np.array(read_json(plan.means), dtype=np.float64) if plan.means.exists() else None
    # A backend that tells no single cycles has none of layers in its spool.
    layers = 0 if facts.means_only else len(facts.profiled)
    return BenchmarkOutcome(facts, read_spool(plan.spool, layers), read_spool(plan.plain_spool, 0), means)
