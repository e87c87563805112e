"""The benchmark's process: loads a network, waits for the word, runs it, and leaves its cycles in files.

It is apart from the process that records, so that a backend that crashes, or is killed for its memory, takes nothing
with it: the cycles that were complete are in the spool, and the parent writes them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgewatt.backends.base import Backend, LoadedNetwork, LoadSettings
from edgewatt.backends.network import Network
from edgewatt.errors import EdgewattError
from edgewatt.formats.json_file import write_json
from edgewatt.recording.child import Parent, end_with_parent
from edgewatt.recording.spool import Spool

#: Seconds between two reports of progress.
_PROGRESS_S = 0.2
#: Cycles without the profiler: a tenth of the others, but enough for a mean and few enough to be quick.
_FEWEST_PLAIN, _MOST_PLAIN = 10, 1000


@dataclass(frozen=True)
class BenchmarkPlan:
    """What the benchmark does.

    Attributes:
        backend: What executes the network.
        network: The network.
        settings: How it is loaded.
        warmup: Cycles that nobody looks at.
        cycles: Cycles that are recorded.
        folder: Where its files go.
    """

    backend: Backend
    network: Network
    settings: LoadSettings
    warmup: int
    cycles: int
    folder: Path

    @property
    def facts(self) -> Path:
        """What is known of the loaded network, as JSON."""
        return self.folder / "facts.json"

    @property
    def spool(self) -> Path:
        """The profiled cycles."""
        return self.folder / "cycles.spool"

    @property
    def plain_spool(self) -> Path:
        """The cycles without the profiler."""
        return self.folder / "plain.spool"

    @property
    def means(self) -> Path:
        """Mean latencies of layers, where the backend knows no others, as JSON."""
        return self.folder / "means.json"

    @property
    def plain_cycles(self) -> int:
        """Number of cycles without the profiler."""
        return min(max(self.cycles // 10, _FEWEST_PLAIN), _MOST_PLAIN, max(self.cycles, 1))


class BenchmarkProcess:
    """The benchmark.

    Args:
        parent: Who planned it and is told.
    """

    def __init__(self, parent: Parent) -> None:
        self._parent = parent
        self._plan: BenchmarkPlan = parent.plan
        self._go = threading.Event()
        self._stop = threading.Event()

    def run(self) -> int:
        """Do what was planned; the exit status."""
        signal.signal(signal.SIGTERM, lambda *_: self._hear("stop"))
        signal.signal(signal.SIGINT, lambda *_: self._hear("stop"))
        self._parent.listen(self._hear, lambda: os._exit(1))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                warnings.showwarning = lambda message, *_, **__: self._parent.report("warning", what=str(message))
                self._benchmark()
        except EdgewattError as error:
            self._parent.report(
                "error", what=error.what, where=error.where, fix=error.fix, exit_status=error.exit_status
            )
            return error.exit_status
        except Exception as error:  # a backend may raise anything; the parent says it in one sentence
            self._parent.report(
                "error",
                what=in_a_sentence(error),
                where=None,
                fix=None,
                exit_status=2,
                traceback=traceback.format_exc(),
            )
            return 2
        return 0

    def _benchmark(self) -> None:
        plan = self._plan
        with plan.backend.load(plan.network, plan.settings) as loaded:
            write_json(plan.facts, asdict(loaded.facts))
            self._parent.report("loaded")
            self._go.wait()
            if self._stop.is_set():
                return
            loaded.warm_up(plan.warmup)
            self._run_plain(loaded)
            loaded.begin_profiling()
            write_json(plan.facts, asdict(loaded.facts))
            self._run_profiled(loaded)

    def _run_plain(self, loaded: LoadedNetwork) -> None:
        spool = Spool(self._plan.plain_spool)
        spool.append(loaded.run_plain(self._plan.plain_cycles, self._stop.is_set))
        spool.close()

    def _run_profiled(self, loaded: LoadedNetwork) -> None:
        spool, done, next_report = Spool(self._plan.spool), 0, 0.0
        self._parent.report("running")
        for cycles in loaded.run(self._plan.cycles, self._stop.is_set):
            spool.append(cycles)
            done += len(cycles)
            if time.monotonic() > next_report:
                self._parent.report("progress", cycles=done)
                next_report = time.monotonic() + _PROGRESS_S
        spool.close()
        means = loaded.mean_latency_ms()
        if means is not None:
            write_json(self._plan.means, means.tolist())
        self._parent.report("done", cycles=done)

    def _hear(self, word: str) -> None:
        if word == "stop":
            self._stop.set()
        self._go.set()  # also after `stop`, so that nobody waits for it any more


def in_a_sentence(error: Exception) -> str:
    """What a backend raised, on one line."""
    lines: list[Any] = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:500]


def main() -> None:
    """Run the benchmark that the parent planned."""
    end_with_parent()
    parent = Parent.begin()
    status = BenchmarkProcess(parent).run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the listening thread waits for the parent, and native libraries may crash when they unload


if __name__ == "__main__":
    main()
