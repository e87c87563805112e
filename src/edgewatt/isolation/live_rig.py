"""Loops on this machine: a process that runs them, another that logs power, one clock.

    power logger   |-- a round ------------------------------------------------------|
    loop server          load | calls ............... |        load | calls ........ |
    this process   pause      |                       | pause      |

What crashes or fills the memory ends with the loop server, which is then started again. The power log of a round is
read a visit at a time and removed with the round.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewatt.backends.base import Backend, LoadSettings
from edgewatt.backends.network import Network
from edgewatt.errors import EdgewattError
from edgewatt.formats.atomic import write_bytes
from edgewatt.formats.power_log import PowerLog, read_power_log
from edgewatt.formats.recording import RecordingPaths
from edgewatt.isolation.hollow import filled
from edgewatt.isolation.loop_main import Loop, LoopServerPlan
from edgewatt.isolation.loop_server import LoopServer
from edgewatt.isolation.rig import Calls, LoopNetwork, LoopRig, Pause, Trial
from edgewatt.recording.benchmark import BenchmarkOutcome
from edgewatt.recording.clock import RecordingClock
from edgewatt.recording.logger import LoggerCounts, PowerLogger
from edgewatt.recording.power_source import PowerSource
from edgewatt.recording.signals import StopRequest
from edgewatt.sensors.period import periods_by_settings

_TRIAL_CALLS, _WARM_UP_CALLS = 20, 3
_POLL_S = 0.02


class LiveRig(LoopRig):
    """What runs loops on this machine.

    Args:
        backend: What executes networks.
        settings: How they are loaded.
        source: What is logged; None for nothing.
        folder: An empty folder for files of a moment.
        stopping: Whether the user asked to stop.
        most_per_s: Most power readings in a second; None for no limit.
    """

    def __init__(
        self,
        backend: Backend,
        settings: LoadSettings,
        source: PowerSource | None,
        folder: Path,
        stopping: StopRequest,
        most_per_s: float | None = None,
    ) -> None:
        self.backend, self.has_power = backend.name, source is not None
        self._backend, self._settings, self._source = backend, settings, source
        self._folder, self._stopping, self._most_per_s = folder, stopping, most_per_s
        self._clock = RecordingClock.now()
        self._server = LoopServer(LoopServerPlan(backend))
        self._logger: PowerLogger | None = None
        self._logged = 0
        self._counts: list[LoggerCounts] = []
        self._means_only = False
        self._sensor_settings = None if source is None else source.sensor.settings()
        periods = () if self._sensor_settings is None else periods_by_settings(self._sensor_settings)
        self.value_every_s = max((period.period_s for period in periods), default=None)
        self.averaging_s = max((period.time_constant_s for period in periods), default=0.0)

    def trial(self, network: LoopNetwork) -> Trial:
        """Load a network in a process of its own and call it a few times with the profiler."""
        outcome = self._run(network, plain=_TRIAL_CALLS, profiled=_TRIAL_CALLS)
        facts = outcome.facts
        self._means_only = facts.means_only
        cycles = outcome.cycles if facts.means_only or not len(outcome.plain) else outcome.plain
        if len(cycles) < 2:
            raise EdgewattError(f"stopped by {self._stopping.by}" if self._stopping.by else "it ran no cycle")
        means = outcome.mean_latency_ms
        latency_s = (outcome.cycles.latency_ms.mean(axis=0) if means is None else means) / 1e3
        return Trial(
            facts,
            float((cycles.end_ns - cycles.start_ns).mean()) / 1e9,
            float((cycles.start_ns[1:] - cycles.end_ns[:-1]).mean()) / 1e9,
            latency_s,
        )

    def begin_round(self) -> None:
        """Start the power logger."""
        if self._source is not None:
            self._log_path.unlink(missing_ok=True)
            self._logged = 0
            self._logger = PowerLogger(self._source.logs(RecordingPaths(self._folder)), self._clock, self._most_per_s)

    def end_round(self) -> None:
        """Stop the power logger and remove its log; a new round begins with a new process for loops."""
        self._server.close()
        if self._logger is not None:
            self._counts.append(self._logger.stop())
            self._logger = None
            self._log_path.unlink(missing_ok=True)

    def pause(self, duration_s: float) -> Pause:
        """Let time pass, unless the user asks to stop."""
        start_us, until = self._now_us(), time.monotonic() + duration_s
        while (left := until - time.monotonic()) > 0 and self._stopping.by is None:
            time.sleep(min(left, _POLL_S))
        return Pause(start_us, self._now_us())

    def loop(self, network: LoopNetwork, duration_s: float, call_s: float) -> Calls:
        """Run a network over and over without the profiler, in a process of its own."""
        calls = max(int(duration_s / call_s) + 1, 3)
        # A backend that tells no single layers runs without the profiler anyway, in what are its profiled cycles.
        plain, profiled = (0, calls) if self._means_only else (calls, 0)
        outcome = self._run(network, plain=plain, profiled=profiled)
        cycles = outcome.cycles if self._means_only else outcome.plain
        return Calls(
            self._clock.microseconds(cycles.start_ns).astype(np.float64),
            self._clock.microseconds(cycles.end_ns).astype(np.float64),
        )

    def readings(self, since_us: float) -> PowerLog | None:
        """What was logged of this round since a time."""
        if self._logger is None:
            return None
        lost = self._logger.died()
        if lost is not None:
            raise EdgewattError(f"the power logger {lost}", fix="Record again: what was measured is kept")
        part = self._folder / "part.log"
        with self._log_path.open("rb") as log:
            log.seek(self._logged)
            content = log.read()
        content = content[: content.rfind(b"\n") + 1]
        self._logged += len(content)
        if not content:
            return PowerLog(np.empty(0, np.int64), np.empty(0), np.empty(0))
        write_bytes(part, content)
        read = read_power_log(part)
        first = int(np.searchsorted(read.times_us, since_us))
        return PowerLog(read.times_us[first:], read.voltage_mv[first:], read.current_ma[first:])

    def describe(self) -> dict[str, Any]:
        """The sensor, its settings, and what was logged of it."""
        if self._source is None or self._sensor_settings is None:
            return {}
        counts = {
            "readings": sum(count.readings[0] for count in self._counts),
            "failed_readings": sum(count.failed[0] for count in self._counts),
        }
        after = self._source.sensor.settings().as_dict()
        settings = {"settings_before": self._sensor_settings.as_dict(), "settings_after": after}
        return {**self._source.as_dict(), **settings, **counts}

    def stopped(self) -> str | None:
        """Name of the signal by which the user asked to stop."""
        return self._stopping.by

    def close(self) -> None:
        """End both processes."""
        self.end_round()

    @property
    def _log_path(self) -> Path:
        return RecordingPaths(self._folder).power_log

    def _now_us(self) -> float:
        return float(self._clock.microseconds(np.array([time.monotonic_ns()]))[0])

    def _run(self, network: LoopNetwork, *, plain: int, profiled: int) -> BenchmarkOutcome:
        folder = self._folder / "loop"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            # A network that was made has its shape in it.
            settings = replace(self._settings, input_shape=None) if network.make is not None else self._settings
            file = self._write(network, folder)
            loop = Loop(self._backend, file, settings, _WARM_UP_CALLS, profiled, folder, plain)
            return self._server.run(loop, lambda: self._stopping.by is not None)
        finally:
            for path in folder.iterdir():
                path.unlink()

    def _write(self, network: LoopNetwork, folder: Path) -> Network:
        """The network as a file that the backend can load."""
        if network.network is not None:
            return network.network
        assert network.make is not None
        path = folder / "network.onnx"
        write_bytes(path, _serialized(network.make, self._settings.seed))
        return Network(network.key, path, "onnx")


def _serialized(make: Callable[[], Any], seed: int) -> bytes:
    try:
        return bytes(filled(make(), seed).SerializeToString())
    except ValueError as error:  # protobuf holds no more than 2 GB
        raise EdgewattError(f"its weights are too large for one file: {error}") from error
