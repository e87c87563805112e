"""One recording while it is made: it lets the benchmark run while power is logged, and writes what they left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edgewatt.backends.base import Cycles
from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.power_log import read_power_log
from edgewatt.formats.recording import RecordingPaths
from edgewatt.recording.benchmark import Benchmark, BenchmarkOutcome
from edgewatt.recording.benchmark_main import BenchmarkPlan
from edgewatt.recording.clock import RecordingClock
from edgewatt.recording.environment import Environment, mean_gpu_load, read_environment
from edgewatt.recording.logger import LoggerCounts, PowerLogger
from edgewatt.recording.power_source import PowerSource
from edgewatt.recording.power_summary import PowerSummary, summarise_power
from edgewatt.recording.recorded_files import RunDescription, runtime_summary, write_recorded_files
from edgewatt.recording.recorded_run import RecordedRun
from edgewatt.recording.signals import StopRequest
from edgewatt.recording.stability import RunFacts, verdict
from edgewatt.recording.staging import Staging
from edgewatt.sensors.period import PeriodBySettings, periods_by_settings

#: Called with what is being done ("loading", "running") and the number of cycles that are done.
Progress: TypeAlias = Callable[[str, int], None]
#: Power is logged for this long after the last cycle, so that every value that it changed is in the log.
_TAIL_S = 0.3


@dataclass
class RecordingSession:
    """One recording.

    Attributes:
        network: What the user named.
        plan: What the benchmark does.
        stage: Where the recording is written.
        source: What is logged; None for nothing.
        root: Folder that /sys, /proc, /etc and /var are read below.
        most_per_s: Most power readings in a second; None for no limit.
        stopping: Whether the user asked to stop.
        progress: Called from time to time.
    """

    network: str
    plan: BenchmarkPlan
    stage: Staging
    source: PowerSource | None
    root: Path
    most_per_s: float | None
    stopping: StopRequest
    progress: Progress | None

    def run(self) -> RecordedRun:
        """Record, and write what was recorded."""
        self._tell("loading", 0)
        clock = RecordingClock.now()
        # Loading a network works the GPU and the processors itself, so that others are looked for before.
        at_start, gpu_load = read_environment(self.root), mean_gpu_load(self.root)
        with Benchmark(self.plan, lambda done: self._tell("running", done)) as benchmark:
            if not benchmark.wait_until_loaded(lambda: self.stopping.by is not None):
                raise EdgewattError(f"stopped by {self.stopping.by} before the first cycle; nothing was recorded")
            before = replace(read_environment(self.root), load=at_start.load, gpu_load=gpu_load)
            settings = self._sensor_settings()
            counts, ended = self._run_and_log(benchmark, clock)
            outcome = self._complete(benchmark.outcome(), clock)
            if not len(outcome.cycles):
                raise benchmark.error or EdgewattError(
                    f"no cycle was completed: {ended or 'the benchmark ran none'}", fix="Nothing was recorded"
                )
        sensor = self._sensor(settings, counts)
        return self._write(outcome, clock, before, sensor, counts, ended or None)

    def _run_and_log(self, benchmark: Benchmark, clock: RecordingClock) -> tuple[LoggerCounts | None, str]:
        """Run the network while power is logged; what the logger counted, and how the run was ended early."""
        if self.source is None:
            benchmark.go()
            return None, self._wait(benchmark, None)
        with PowerLogger(self.source.logs(RecordingPaths(self.stage.recording)), clock, self.most_per_s) as logger:
            benchmark.go()
            ended = self._wait(benchmark, logger)
            time.sleep(_TAIL_S)
            return logger.stop(), ended

    def _wait(self, benchmark: Benchmark, logger: PowerLogger | None) -> str:
        """Wait for the benchmark's end; empty where it did what was planned, else what ended it."""
        while (ended := benchmark.poll()) is None:
            lost = logger.died() if logger is not None else None
            reason = (
                f"stopped by {self.stopping.by}" if self.stopping.by else f"the power logger {lost}" if lost else None
            )
            if reason is not None:
                benchmark.stop()
                return reason
        return ended

    def _complete(self, outcome: BenchmarkOutcome, clock: RecordingClock) -> BenchmarkOutcome:
        """The outcome without cycles that ended after the power log did."""
        if self.source is None:
            return outcome
        times = read_power_log(RecordingPaths(self.stage.recording).power_log).times_us
        kept = clock.microseconds(outcome.cycles.end_ns) <= times[-1]
        return outcome if kept.all() else replace(outcome, cycles=_select(outcome.cycles, kept))

    def _sensor_settings(self) -> dict[str, Any] | None:
        return None if self.source is None else self.source.sensor.settings().as_dict()

    def _periods(self) -> tuple[PeriodBySettings, ...]:
        return () if self.source is None else periods_by_settings(self.source.sensor.settings())

    def _value_every_s(self, power: PowerSummary | None) -> float | None:
        """Time from one value of the sensor to the next: by its settings where they tell it, else by what changed."""
        by_settings = max((period.period_s for period in self._periods()), default=None)
        return power.fresh_every_s if by_settings is None and power is not None else by_settings

    def _sensor(self, before: dict[str, Any] | None, counts: LoggerCounts | None) -> dict[str, Any]:
        if self.source is None or counts is None:
            return {}
        settings = {"settings_before": before, "settings_after": self._sensor_settings()}
        return {**self.source.as_dict(), **settings, **counts.as_dict()}

    def _write(
        self,
        outcome: BenchmarkOutcome,
        clock: RecordingClock,
        before: Environment,
        sensor: dict[str, Any],
        counts: LoggerCounts | None,
        interrupted: str | None,
    ) -> RecordedRun:
        paths, cycles = RecordingPaths(self.stage.recording), outcome.cycles
        runtime = runtime_summary(outcome.facts, outcome)
        cycle_s = runtime["cycle_s"] or 0.0
        power = None if counts is None else _power_of(cycles, clock, paths)
        after = read_environment(self.root)
        sentences = verdict(
            RunFacts(
                before=before,
                after=after,
                cycles=len(cycles),
                cycle_s=cycle_s,
                layers=_timed_layers(outcome),
                fresh_values=power.fresh if power else None if counts is None else 0,
                value_every_s=self._value_every_s(power),
                averaging_s=max((period.time_constant_s for period in self._periods()), default=0.0),
                failed_readings=sum(counts.failed) if counts else 0,
                interrupted=interrupted,
                processors=os.cpu_count() or 1,
            )
        )
        description = RunDescription(
            name=self.stage.recording.name,
            network=self.network,
            backend=self.plan.backend.name,
            warmup=self.plan.warmup,
            planned_cycles=self.plan.cycles,
            random_weights=self.plan.network.random_weights,
            seed=self.plan.settings.seed,
            before=before,
            after=after,
            sensor=sensor,
            power={} if power is None else {**power.as_dict(), "energy_per_cycle_j": power.mean_w * cycle_s},
            verdict=sentences,
            interrupted=interrupted,
        )
        write_recorded_files(paths, description, outcome, clock)
        folder = self.stage.publish()
        if interrupted:
            warn(
                f"the recording was interrupted ({interrupted}); its {len(cycles)} complete cycles are kept",
                where=folder,
            )
        return RecordedRun(
            name=folder.name,
            folder=folder,
            backend=self.plan.backend.name,
            cycles=len(cycles),
            layers=len(outcome.facts.layers),
            cycle_s=cycle_s,
            plain_cycle_s=runtime["cycle_without_profiler_s"],
            sum_of_layers_s=runtime["sum_of_layers_s"],
            power=power,
            verdict=tuple(sentences),
            interrupted=interrupted,
            stopped_by=self.stopping.by,
        )

    def _tell(self, what: str, done: int) -> None:
        if self.progress is not None:
            self.progress(what, done)


def _power_of(cycles: Cycles, clock: RecordingClock, paths: RecordingPaths) -> PowerSummary | None:
    """Power from the first cycle's start to the last one's end."""
    first, last = clock.microseconds(np.array([cycles.start_ns[0], cycles.end_ns[-1]])).tolist()
    return summarise_power(read_power_log(paths.power_log), first, last)


def _timed_layers(outcome: BenchmarkOutcome) -> int:
    """Number of layers that take time."""
    means = outcome.mean_latency_ms
    return int(np.count_nonzero(outcome.cycles.latency_ms.mean(axis=0) if means is None else means))


def _select(cycles: Cycles, kept: NDArray[np.bool_]) -> Cycles:
    return Cycles(cycles.start_ns[kept], cycles.end_ns[kept], cycles.latency_ms[kept], cycles.layer_end_ns[kept])
