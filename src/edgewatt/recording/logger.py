"""The power logger, seen from the process that starts it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

from edgewatt.errors import EdgewattError, NoDeviceError, warn
from edgewatt.recording.child import Child
from edgewatt.recording.clock import RecordingClock
from edgewatt.recording.logger_main import LoggerPlan, RailLog

#: Most readings in a second unless told otherwise: half as many again as the fastest setting of an INA3221 has values
#: (one channel, 140 us for current and voltage each), so that sources that are read in microseconds do not fill the
#: disk with repetitions.
MOST_PER_S = 5000.0
#: A new process has to load its libraries, which on a slow card or a busy processor takes longer than a sensor may.
_START_S = 120.0
_READY_S = 10.0
_STOP_S = 5.0
_MODULE = "edgewatt.recording.logger_main"


@dataclass(frozen=True)
class LoggerCounts:
    """What a logger did.

    Attributes:
        readings: Readings that were written, for each log.
        failed: Readings that failed, for each log.
        errors: How often each error was met, by file and name of errno.
        duration_s: How long it logged.
        cpu_s: Processor time that it took meanwhile.
    """

    readings: tuple[int, ...]
    failed: tuple[int, ...]
    errors: dict[str, dict[str, int]] = field(default_factory=dict)
    duration_s: float = 0.0
    cpu_s: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "readings": self.readings[0],
            "failed_readings": self.failed[0],
            "errors": self.errors,
            "logged_s": round(self.duration_s, 3),
            "logger_cpu_share": round(self.cpu_s / self.duration_s, 4) if self.duration_s else None,
        }


class PowerLogger:
    """Logs the power of rails in a process of its own, from when it is made until it is stopped.

    Args:
        logs: The logs, that of the board's input first.
        clock: The recording's clock.
        most_per_s: Most readings in a second; None for as many as the sensors give.

    Raises:
        NoDeviceError: No reading came within ten seconds of the process's start, or it did not start.
    """

    def __init__(self, logs: Sequence[RailLog], clock: RecordingClock, most_per_s: float | None = MOST_PER_S) -> None:
        if most_per_s is not None and not most_per_s > 0:
            raise EdgewattError(f"{most_per_s:g} readings in a second are not possible", fix="Use a number above 0")
        self._logs = tuple(logs)
        self._counts: LoggerCounts | None = None
        self._child = Child(_MODULE, LoggerPlan(self._logs, clock, most_per_s))
        try:
            self._wait_until_ready()
        except BaseException:
            self._child.close()
            raise

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._child.pid

    def died(self) -> str | None:
        """How the process ended by itself; None while it logs."""
        self._hear(0.0)
        return self._child.ended

    def stop(self) -> LoggerCounts:
        """Stop it and cut off what was not written whole.

        Returns:
            What it did; counted from the logs where it did not live to tell.
        """
        self._child.stop(_STOP_S)
        self._hear(0.0)
        self._child.close()
        for log in self._logs:
            cut_last_line(log.path)
        if self._counts is None:
            lines = tuple(log.path.read_bytes().count(b"\n") if log.path.exists() else 0 for log in self._logs)
            self._counts = LoggerCounts(lines, tuple(0 for _ in lines))
        return self._counts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close()

    def _wait_until_ready(self) -> None:
        waited_for, within_s = "it did not start", _START_S
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline and self._child.ended is None:
            for event in self._child.events():
                if event["event"] == "ready":
                    return
                if event["event"] == "started":
                    waited_for, within_s = "no reading came", _READY_S
                    deadline = time.monotonic() + within_s
                self._take(event, quiet=True)
        ended = self._child.ended
        if ended is None:
            self._child.stop(1.0)
            self._hear(0.0, quiet=True)
        errors = self._counts.errors if self._counts else {}
        shown = "; ".join(f"{path}: {', '.join(counts)}" for path, counts in list(errors.items())[:3])
        why = f"the power logger {ended}" if ended else f"{waited_for} within {within_s:g} s"
        raise NoDeviceError(
            f"power cannot be logged: {why}" + (f" ({shown})" if shown else ""),
            fix="Look at the sensor with `edgewatt sensors`, name another (--sensor), or go without (--sensor none)",
        )

    def _hear(self, timeout_s: float, *, quiet: bool = False) -> None:
        for event in self._child.events(timeout_s):
            self._take(event, quiet=quiet)

    def _take(self, event: dict[str, Any], *, quiet: bool) -> None:
        if event["event"] == "done":
            self._counts = LoggerCounts(
                tuple(event["readings"]), tuple(event["failed"]), event["errors"], event["duration_s"], event["cpu_s"]
            )
        elif event["event"] == "silent" and not quiet:
            paths = ", ".join(event["errors"]) or "the sensor"
            warn(f"the sensor has stopped giving readings ({paths}); logging goes on", fix="Look at the kernel's log")


def cut_last_line(path: Path) -> None:
    """Cut off a last line that was not written whole."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = file.seek(0, 2)
        while end > 0:
            begin = max(0, end - 4096)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                file.truncate(begin + found + 1)
                return
            end = begin
        file.truncate(0)
