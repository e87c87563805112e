"""Idle power: what the board draws with nothing running but the power logger, which runs during recordings too."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from edgewatt.errors import CheckFailedError, EdgewattError, NoDeviceError, warn
from edgewatt.formats.idle_power import FILE_NAME, IdlePower, write_idle_power
from edgewatt.formats.power_log import read_power_log
from edgewatt.formats.recording import RecordingPaths
from edgewatt.recording.busy import Watch, power_doubts
from edgewatt.recording.clock import RecordingClock
from edgewatt.recording.environment import read_environment
from edgewatt.recording.logger import MOST_PER_S, LoggerCounts, PowerLogger
from edgewatt.recording.power_source import PowerSource, find_power_source
from edgewatt.recording.power_summary import PowerSummary, summarise_power
from edgewatt.recording.signals import StopRequest, stop_requests
from edgewatt.sensors.discovery import discover
from edgewatt.sensors.simulated import SimulatedSensor
from edgewatt.tabular import Tabular

#: A board that is busy now is told of before it is measured for minutes.
_FIRST_LOOK_S = 1.0
_LOOK_EVERY_S = 0.2


@dataclass(frozen=True)
class IdleMeasurement(Tabular):
    """Idle power as it was measured.

    Attributes:
        path: The file that it was written to.
        board: The board's name.
        sensor: The sensor's name.
        rails: Labels of the rails that were summed.
        power: Mean, spread, and how many readings were fresh.
        doubts: What spoke against the board being idle; only where it was forced.
    """

    path: Path
    board: str
    sensor: str
    rails: tuple[str, ...]
    power: PowerSummary
    doubts: tuple[str, ...]


def measure_idle(
    raw_dir: Path,
    *,
    duration_s: float = 120.0,
    sensor: str | None = None,
    force: bool = False,
    root: Path = Path("/"),
    most_per_s: float | None = MOST_PER_S,
    progress: Callable[[float], None] | None = None,
) -> IdleMeasurement:
    """Measure idle power and write it to `raw_dir`.

    Args:
        raw_dir: The raw data folder, made where it is missing.
        duration_s: How long.
        sensor: What to read, as `edgewatt sensors` names it; None for the board's input.
        force: Whether to take a board that is visibly busy for idle.
        root: Folder that /sys, /proc, /etc and /var are read below.
        most_per_s: Most readings in a second; None for no limit.
        progress: Called with the seconds that are done.

    Raises:
        NoDeviceError: There is no sensor, or it gives no readings.
        CheckFailedError: The board is busy.
        EdgewattError: The time is not possible, or the user stopped it; nothing is written.
    """
    if not duration_s > 0:
        raise EdgewattError(f"idle power cannot be measured for {duration_s:g} s", fix="Give a time above 0")
    source = find_power_source(root, sensor) if sensor is not None else _board_input(root)
    if source is None:
        raise NoDeviceError("idle power cannot be measured without a sensor", fix="Leave --sensor none away")
    # A simulated board has processors of its own, whatever those of this machine do.
    elsewhere = inf if isinstance(source.sensor, SimulatedSensor) else 0.0
    with stop_requests() as stopping:
        if not force:
            _look_first(root, min(_FIRST_LOOK_S, duration_s), stopping, elsewhere)
        watch = Watch(root)
        power, counts = _log(source, duration_s, most_per_s, watch, stopping, progress)
    doubts = [*watch.doubts(counts.cpu_s / max(counts.duration_s, 1e-9) + elsewhere), *power_doubts(power)]
    if doubts and not force:
        raise _busy(doubts)
    if doubts:
        warn(
            f"the board was not idle: {'; '.join(doubts)}", fix="Its idle power is too high, and power above it too low"
        )
    path = raw_dir / FILE_NAME
    write_idle_power(path, _idle_power(source, power, counts, doubts, root))
    rails = tuple(rail.label for rail in source.sensor.rails)
    board = read_environment(root).board
    return IdleMeasurement(path, board, source.sensor.name, rails, power, tuple(doubts))


def _board_input(root: Path) -> PowerSource:
    found = discover(root)
    return PowerSource(found.total_sensor(), found.total.reason if found.total else "", (), found)


def _look_first(root: Path, duration_s: float, stopping: StopRequest, own_processors: float) -> None:
    watch = Watch(root)
    _pass_time(duration_s, watch, stopping, None, lambda: None)
    doubts = watch.doubts(own_processors)
    if doubts:
        raise _busy(doubts)


def _log(
    source: PowerSource,
    duration_s: float,
    most_per_s: float | None,
    watch: Watch,
    stopping: StopRequest,
    progress: Callable[[float], None] | None,
) -> tuple[PowerSummary, LoggerCounts]:
    with tempfile.TemporaryDirectory(prefix="edgewatt-") as folder:
        paths = RecordingPaths(Path(folder))
        with PowerLogger(source.logs(paths), RecordingClock.now(), most_per_s) as logger:
            _pass_time(duration_s, watch, stopping, progress, logger.died)
            counts = logger.stop()
        power = summarise_power(read_power_log(paths.power_log))
    if power is None:
        raise NoDeviceError("the sensor gave fewer than two readings", fix="Look at it with `edgewatt sensors`")
    return power, counts


def _pass_time(
    duration_s: float,
    watch: Watch,
    stopping: StopRequest,
    progress: Callable[[float], None] | None,
    died: Callable[[], str | None],
) -> None:
    began = time.monotonic()
    while (left := began + duration_s - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_EVERY_S))
        if stopping.by:
            raise EdgewattError(f"stopped by {stopping.by}; no idle power was written")
        lost = died()
        if lost:
            raise EdgewattError(f"the power logger {lost}", fix="Measure again")
        watch.look()
        if progress is not None:
            progress(min(time.monotonic() - began, duration_s))


def _busy(doubts: list[str]) -> CheckFailedError:
    return CheckFailedError(
        f"the board is not idle: {'; '.join(doubts)}",
        fix="Stop what is running and measure again, or take it as it is (--force)",
    )


def _idle_power(
    source: PowerSource, power: PowerSummary, counts: LoggerCounts, doubts: list[str], root: Path
) -> IdlePower:
    environment = read_environment(root)
    extra: dict[str, Any] = {
        **{name: value for name, value in power.as_dict().items() if name != "mean_w"},
        "board": environment.board,
        "power_mode": environment.power_mode,
        "clocks_locked": environment.clocks_locked,
        "temperatures": environment.temperatures,
        "sensor": {**source.as_dict(), "settings": source.sensor.settings().as_dict(), **counts.as_dict()},
        "doubts": doubts,
    }
    return IdlePower(timestamp=time.strftime("%Y%m%d-%H%M%S"), avg_idle_power=power.mean_w * 1e6, **extra)
