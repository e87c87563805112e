"""Recording one network: three processes, one clock.

    this process     find network, backend and sensor | wait ...................................... | write the files
    benchmark                  load the network ......|  warm up | without profiler | cycles ....|
    power logger                                    | log .......................................... |

The logger starts once the network is loaded, which may take minutes, and stops a moment after the last cycle. If the
benchmark crashes, the logger dies or the user interrupts, the cycles that were complete are written and marked as
interrupted. If this process is killed, the others end with it and nothing is left but a hidden folder, which the next
recording removes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from edgewatt.backends.base import Backend, Cycles, LoadSettings
from edgewatt.backends.network import find_network
from edgewatt.backends.registry import choose_backend
from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.power_log import read_power_log
from edgewatt.formats.recording import RecordingPaths
from edgewatt.networks.element_types import check_compute_type
from edgewatt.recording.benchmark import Benchmark, BenchmarkOutcome
from edgewatt.recording.benchmark_main import BenchmarkPlan
from edgewatt.recording.clock import RecordingClock
from edgewatt.recording.environment import Environment, read_environment
from edgewatt.recording.logger import MOST_PER_S, LoggerCounts, PowerLogger
from edgewatt.recording.power_source import PowerSource, find_power_source
from edgewatt.recording.power_summary import PowerSummary, summarise_power
from edgewatt.recording.recorded_files import RunDescription, runtime_summary, write_recorded_files
from edgewatt.recording.signals import StopRequest, stop_requests
from edgewatt.recording.stability import RunFacts, verdict
from edgewatt.recording.staging import Staging, check_name, is_complete, staging
from edgewatt.sensors.fast import fast_sensor, state_file

#: Called with what is being done ("loading", "running") and the number of cycles that are done.
Progress: TypeAlias = Callable[[str, int], None]
#: Power is logged for this long after the last cycle, so that every value that it changed is in the log.
_TAIL_S = 0.3


@dataclass(frozen=True)
class RecordedRun:
    """A run that was recorded.

    Attributes:
        name: Its name.
        folder: Its folder.
        backend: The backend's name.
        cycles: Complete cycles.
        layers: Number of layers.
        cycle_s: Mean time of a profiled cycle in s.
        plain_cycle_s: Mean time of a cycle without the profiler in s; None where none was run.
        sum_of_layers_s: What the layers add up to in s; None where none is known.
        power: Power over the cycles; None without a sensor.
        verdict: What stands against trusting it, in words.
        interrupted: How it was ended early; None where it was not.
        stopped_by: Name of the signal that asked for that; None where none did.
    """

    name: str
    folder: Path
    backend: str
    cycles: int
    layers: int
    cycle_s: float
    plain_cycle_s: float | None
    sum_of_layers_s: float | None
    power: PowerSummary | None
    verdict: tuple[str, ...]
    interrupted: str | None
    stopped_by: str | None

    @property
    def energy_j(self) -> float | None:
        """Energy of a cycle in J, idle power included; None without a sensor."""
        return None if self.power is None else self.power.mean_w * self.cycle_s


def record(
    network: str | Path,
    raw_dir: Path,
    *,
    backend: str | Backend | None = None,
    sensor: str | None = None,
    cycles: int = 30_000,
    warmup: int = 50,
    precision: str = "float16",
    input_shape: tuple[int, ...] | None = None,
    root: Path = Path("/"),
    fast: bool = False,
    progress: Progress | None = None,
    name: str | None = None,
    replace_existing: bool = False,
    further_rails: Sequence[str] = (),
    most_per_s: float | None = MOST_PER_S,
    seed: int = 0,
) -> RecordedRun:
    """Record a network's power and the runtimes of its layers.

    Args:
        network: The name of a shipped architecture (its weights are then drawn), an ONNX file, or an engine.
        raw_dir: The raw data folder, made where it is missing.
        backend: What executes it: a name, a backend of one's own, or None for TensorRT where it can be used and ONNX
            Runtime where not.
        sensor: What to log, as `edgewatt sensors` names it; None for the board's input, `none` for nothing.
        cycles: Cycles to record.
        warmup: Cycles before them.
        precision: The type to compute in, where the backend can choose.
        input_shape: Shape of the input; None keeps the network's.
        root: Folder that /sys, /proc, /etc and /var are read below.
        fast: Whether to set the sensor to its fastest for the time of the recording (root).
        progress: Called from time to time.
        name: The run's name; None for the network's.
        replace_existing: Whether to replace a complete recording of that name; an interrupted one is replaced anyway.
        further_rails: Labels of rails that get logs of their own.
        most_per_s: Most power readings in a second; None for no limit.
        seed: Draws weights and input.

    Returns:
        What was recorded. When the run was interrupted after its first cycle, that is what was complete, and
        `interrupted` says how.

    Raises:
        EdgewattError: The network, an option or the recording's folder is not usable, or no cycle was completed.
        NoDeviceError: The named backend or sensor cannot be used.
    """
    _check_options(cycles, warmup, precision)
    chosen = backend if isinstance(backend, Backend) else choose_backend(backend)
    found = find_network(network)
    run_name = name or found.name
    check_name(run_name)
    if not replace_existing and is_complete(raw_dir, run_name):
        raise EdgewattError(
            f"there is a recording of {run_name} already",
            where=raw_dir / run_name,
            fix="Record under another name (--name), into another folder, or replace it (--replace)",
        )
    settings = LoadSettings(precision, input_shape, seed)
    with ExitStack() as stack:
        stopping = stack.enter_context(stop_requests())
        stage = stack.enter_context(staging(raw_dir, run_name))
        source = find_power_source(root, sensor, chosen.own_sensor(stage.folder), further_rails)
        if fast and source is not None and source.found is not None:
            stack.enter_context(fast_sensor(source.found, state_file(root)))
        plan = BenchmarkPlan(chosen, found, settings, warmup, cycles, stage.folder)
        recorder = _Recorder(str(network), plan, stage, source, root, most_per_s, stopping, progress)
        return recorder.run()


def _check_options(cycles: int, warmup: int, precision: str) -> None:
    if cycles < 1 or warmup < 0:
        raise EdgewattError(
            f"{cycles} cycles after {warmup} for warming up cannot be recorded", fix="Ask for at least one cycle"
        )
    check_compute_type(precision)


@dataclass
class _Recorder:
    """One recording while it is made."""

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
        with Benchmark(self.plan, lambda done: self._tell("running", done)) as benchmark:
            if not benchmark.wait_until_loaded(lambda: self.stopping.by is not None):
                raise EdgewattError(f"stopped by {self.stopping.by} before the first cycle; nothing was recorded")
            before, settings = read_environment(self.root), self._sensor_settings()
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
        power = None
        if counts is not None:
            first, last = clock.microseconds(np.array([cycles.start_ns[0], cycles.end_ns[-1]])).tolist()
            power = summarise_power(read_power_log(paths.power_log), first, last)
        after = read_environment(self.root)
        sentences = verdict(
            RunFacts(
                before=before,
                after=after,
                cycles=len(cycles),
                cycle_s=cycle_s,
                layers=len(outcome.facts.profiled),
                fresh_values=power.fresh if power else None if counts is None else 0,
                fresh_every_s=power.fresh_every_s if power else None,
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
            stopped_by=self.stopping.by if interrupted else None,
        )

    def _tell(self, what: str, done: int) -> None:
        if self.progress is not None:
            self.progress(what, done)


def _select(cycles: Cycles, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> Cycles:
    return Cycles(cycles.start_ns[kept], cycles.end_ns[kept], cycles.latency_ms[kept], cycles.layer_end_ns[kept])
