"""The process that runs loops: it loads one network after another, runs each, and leaves its calls in files.

It is apart from the process that measures, so that a backend that crashes, or is killed for its memory, takes nothing
with it, and stays for many loops, because starting a backend takes longer than most of them.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
import traceback
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from edgewatt.backends.base import Backend, LoadedNetwork, LoadSettings
from edgewatt.backends.network import Network
from edgewatt.errors import EdgewattError
from edgewatt.formats.json_file import write_json
from edgewatt.recording.benchmark_main import BenchmarkPlan, in_a_sentence
from edgewatt.recording.child import Parent, end_with_parent
from edgewatt.recording.spool import Spool


@dataclass(frozen=True)
class LoopServerPlan:
    """What the process is given when it starts.

    Attributes:
        backend: What executes networks.
    """

    backend: Backend


@dataclass(frozen=True)
class Loop(BenchmarkPlan):
    """One loop: a benchmark whose cycles without the profiler are counted apart.

    Attributes:
        plain: Cycles without the profiler.
    """

    plain: int = 0

    @property
    def plain_cycles(self) -> int:
        """Cycles without the profiler."""
        return self.plain

    def word(self) -> str:
        """The loop as one line of text, without its backend."""
        value = {
            "network": {**asdict(self.network), "path": str(self.network.path)},
            "settings": asdict(self.settings),
            "warmup": self.warmup,
            "cycles": self.cycles,
            "plain": self.plain,
            "folder": str(self.folder),
        }
        return orjson.dumps(value).decode()

    @classmethod
    def of_word(cls, word: str, backend: Backend) -> Loop:
        """The loop of a line of text."""
        value = orjson.loads(word)
        network = Network(**{**value["network"], "path": Path(value["network"]["path"])})
        shape = value["settings"]["input_shape"]
        settings = LoadSettings(**{**value["settings"], "input_shape": None if shape is None else tuple(shape)})
        return cls(backend, network, settings, value["warmup"], value["cycles"], Path(value["folder"]), value["plain"])


class LoopProcess:
    """The process.

    Args:
        parent: Who started it and is told.
    """

    def __init__(self, parent: Parent) -> None:
        self._parent = parent
        self._backend: Backend = parent.plan.backend
        self._loops: queue.Queue[Loop] = queue.Queue()
        self._stop = threading.Event()

    def run(self) -> None:
        """Run loops until the parent is gone."""
        signal.signal(signal.SIGTERM, lambda *_: self._stop.set())
        signal.signal(signal.SIGINT, lambda *_: self._stop.set())
        self._parent.listen(self._hear, lambda: os._exit(0))
        while True:
            loop = self._loops.get()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("default")
                    warnings.simplefilter("ignore", ResourceWarning)  # of a backend's own, at the next collection
                    warnings.showwarning = lambda message, *_, **__: self._parent.report("warning", what=str(message))
                    self._run(loop)
            except EdgewattError as error:
                self._parent.report("error", what=error.what, where=error.where, fix=error.fix)
            except Exception as error:  # a backend may raise anything; the parent says it in one sentence
                self._parent.report(
                    "error", what=in_a_sentence(error), where=None, fix=None, traceback=traceback.format_exc()
                )
            else:
                self._parent.report("done")
            gc.collect()  # what a backend keeps of the last network must not be there while the next one runs

    def _run(self, loop: Loop) -> None:
        with self._backend.load(loop.network, loop.settings) as loaded:
            write_json(loop.facts, asdict(loaded.facts))
            loaded.warm_up(loop.warmup)
            plain = Spool(loop.plain_spool)
            plain.append(loaded.run_plain(loop.plain, self._stop.is_set))
            plain.close()
            if loop.cycles:
                self._run_profiled(loaded, loop)

    def _run_profiled(self, loaded: LoadedNetwork, loop: Loop) -> None:
        loaded.begin_profiling()
        write_json(loop.facts, asdict(loaded.facts))
        spool = Spool(loop.spool)
        for cycles in loaded.run(loop.cycles, self._stop.is_set):
            spool.append(cycles)
        spool.close()
        means = loaded.mean_latency_ms()
        if means is not None:
            write_json(loop.means, means.tolist())

    def _hear(self, word: str) -> None:
        if word == "stop":
            self._stop.set()
        else:
            self._loops.put(Loop.of_word(word, self._backend))


def main() -> None:
    """Run the loops that the parent sends."""
    end_with_parent()
    LoopProcess(Parent.begin()).run()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
