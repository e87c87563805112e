"""The process that runs loops, seen from the one that measures."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from typing_extensions import Self

from edgewatt.errors import EdgewattError, warn
from edgewatt.isolation.loop_main import Loop, LoopServerPlan
from edgewatt.recording.benchmark import BenchmarkCrash, BenchmarkOutcome, read_outcome
from edgewatt.recording.child import Child, wait_until

_MODULE = "edgewatt.isolation.loop_main"
#: A call that is under way may take this long to come to its end.
_STOP_S = 20.0


class LoopServer:
    """Runs loops in a process of its own; one that ended is started again with the next loop.

    Args:
        plan: What the process is given.
    """

    def __init__(self, plan: LoopServerPlan) -> None:
        self._plan = plan
        self._child: Child | None = None
        self._told: set[str] = set()

    def run(self, loop: Loop, stopped: Callable[[], bool]) -> BenchmarkOutcome:
        """Run a loop.

        Args:
            loop: What to run.
            stopped: Asked meanwhile; the loop ends early, after a whole call, once it says yes.

        Raises:
            EdgewattError: The network could not be loaded or run, or the process ended.
        """
        if self._child is None:
            self._child = Child(_MODULE, self._plan)
        child = self._child
        child.send(loop.word())
        while True:
            ended = child.ended
            for event in child.events():
                if event["event"] == "done":
                    return read_outcome(loop)
                self._take(event)
            if ended is not None:
                self.close()
                raise EdgewattError(
                    f"the process that runs it {ended}",
                    where=loop.network.path,
                    fix="Its own messages are above; too little memory ends a process with SIGKILL",
                )
            if stopped():
                return self._stop(child, loop)

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _stop(self, child: Child, loop: Loop) -> BenchmarkOutcome:
        child.send("stop")
        events: list[dict[str, Any]] = []

        def ended() -> bool:
            events.extend(child.events(0.0))
            return child.ended is not None or any(event["event"] in ("done", "error") for event in events)

        wait_until(ended, _STOP_S)
        self.close()
        if any(event["event"] == "done" for event in events):
            return read_outcome(loop)
        raise EdgewattError("stopped before its end")

    def _take(self, event: dict[str, Any]) -> None:
        if event["event"] == "error":
            error = EdgewattError(event["what"], where=event["where"], fix=event["fix"])
            if "traceback" in event:
                error.__cause__ = BenchmarkCrash(event["traceback"])
            raise error
        # The same network is loaded in every round; what is odd about it is said once.
        if event["event"] == "warning" and event["what"] not in self._told:
            self._told.add(event["what"])
            warn(event["what"])
