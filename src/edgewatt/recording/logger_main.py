"""The power logger's process: reads rails over and over and appends each reading to their logs.

A line is written whole or, where the process is killed in the middle of a write, cut at the end of the file, where the
reader of logs expects it. Every tenth of a second what was read is handed to the kernel, so that no more is lost.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewatt.recording.child import Parent
from edgewatt.recording.clock import RecordingClock, StampWriter
from edgewatt.sensors.base import PowerSensor

_FLUSH_S = 0.1
#: After this long without a reading the parent is told.
_SILENT_S = 2.0
#: A rail that cannot be read is tried again after this long, so that errors do not keep a processor busy.
_AFTER_ERROR_S = 1e-3
#: Shorter than this, sleeping takes longer than asked for.
_SHORTEST_SLEEP_NS = 50_000


@dataclass(frozen=True)
class RailLog:
    """One log.

    Attributes:
        sensor: What is read: the sum of its rails.
        path: The log.
    """

    sensor: PowerSensor
    path: Path


@dataclass(frozen=True)
class LoggerPlan:
    """What the logger does.

    Attributes:
        logs: The logs, that of the board's input first.
        clock: The recording's clock.
        most_per_s: Most readings of all rails in a second; None for as many as the sensors give.
    """

    logs: tuple[RailLog, ...]
    clock: RecordingClock
    most_per_s: float | None


class _Rail:
    """An open log, and what was counted."""

    def __init__(self, log: RailLog, stamps: StampWriter) -> None:
        self.readings = 0
        self.failed = 0
        self.sensor = log.sensor
        self._read = log.sensor.read_total
        self._stamps = stamps
        self._lines: list[str] = []
        self._file = os.open(log.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def read(self) -> bool:
        """Read once; whether that gave a value."""
        pair = self._read()
        now = time.monotonic_ns()
        if pair is None:
            self.failed += 1
            return False
        self.readings += 1
        # Rounded to what such sensors can tell, so that a sum of rails does not write seventeen digits.
        self._lines.append(f"{self._stamps.stamp(now)},{round(float(pair[0]), 3)},{round(float(pair[1]), 3)}\n")
        return True

    def flush(self) -> None:
        """Write what was read."""
        content = "".join(self._lines).encode()
        self._lines.clear()
        while content:
            content = content[os.write(self._file, content) :]

    def close(self) -> None:
        self.flush()
        os.close(self._file)


class PowerLoggerProcess:
    """The logger's loop.

    Args:
        plan: What to log.
        parent: Who is told.
    """

    def __init__(self, plan: LoggerPlan, parent: Parent) -> None:
        self._parent = parent
        self._period_ns = 0 if plan.most_per_s is None else int(1e9 / plan.most_per_s)
        stamps = StampWriter(plan.clock)
        self._rails = [_Rail(log, stamps) for log in plan.logs]
        self._stopped = False

    def stop(self, *_: object) -> None:
        """End the loop after the reading that it is at; a signal handler."""
        self._stopped = True

    def run(self) -> None:
        """Log until told to stop, or until the parent is gone."""
        self._parent.report("started")
        for rail in self._rails:
            rail.sensor.open()
        began, worked = time.monotonic(), time.process_time()
        try:
            self._loop()
        finally:
            for rail in self._rails:
                rail.close()
            duration_s, cpu_s = time.monotonic() - began, time.process_time() - worked
            self._parent.report("done", duration_s=duration_s, cpu_s=cpu_s, **self._counts())
            for rail in self._rails:
                rail.sensor.close()

    def _loop(self) -> None:
        ready, told = False, False
        next_check = next_read = time.monotonic_ns()
        last_good = next_check
        while not self._stopped:
            good = min([rail.read() for rail in self._rails])  # every rail's turn, whatever the others gave
            now = time.monotonic_ns()
            if good:
                last_good = now
            else:
                time.sleep(_AFTER_ERROR_S)
            if now >= next_check:
                self._flush()
                next_check = now + int(_FLUSH_S * 1e9)
                self._stopped = self._stopped or self._parent.is_gone()
                if good and not ready:
                    ready = True
                    self._parent.report("ready")
                if now - last_good > _SILENT_S * 1e9 and not told:
                    told = True
                    self._parent.report("silent", errors=self._errors())
            next_read = self._pace(next_read)

    def _pace(self, next_read: int) -> int:
        """Wait for the next reading's turn; one that comes late does not make the others hurry."""
        if not self._period_ns:
            return next_read
        now = time.monotonic_ns()
        next_read = max(next_read + self._period_ns, now - self._period_ns)
        if next_read - now > _SHORTEST_SLEEP_NS:
            time.sleep((next_read - now) / 1e9)
        return next_read

    def _flush(self) -> None:
        for rail in self._rails:
            rail.flush()

    def _errors(self) -> dict[str, dict[str, int]]:
        return {path: counts for rail in self._rails for path, counts in rail.sensor.errors.items()}

    def _counts(self) -> dict[str, Any]:
        return {
            "readings": [rail.readings for rail in self._rails],
            "failed": [rail.failed for rail in self._rails],
            "errors": self._errors(),
        }


def main() -> None:
    """Run the logger that the parent planned."""
    parent = Parent.begin()
    process = PowerLoggerProcess(parent.plan, parent)
    signal.signal(signal.SIGINT, process.stop)
    signal.signal(signal.SIGTERM, process.stop)
    process.run()


if __name__ == "__main__":
    main()
