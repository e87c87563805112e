"""Recording a list of networks, unattended: idle power first, a pause between networks, on after one that fails.

Networks that have a complete recording are passed over, so that a list that was stopped goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from typing_extensions import Unpack

from edgewatt.backends.base import Backend
from edgewatt.backends.registry import choose_backend
from edgewatt.batch import Batch, run_batch
from edgewatt.errors import CheckFailedError, EdgewattError, NoDeviceError, warn
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE
from edgewatt.recording.idle import measure_idle
from edgewatt.recording.record import Progress, RecordedRun, record
from edgewatt.recording.signals import StopRequest, stop_requests
from edgewatt.recording.staging import is_complete
from edgewatt.sensors.discovery import NONE

_POLL_S = 0.1


class RecordOptions(TypedDict, total=False):
    """Options of `edgewatt.recording.record.record` that all networks of a list share."""

    warmup: int
    precision: str
    input_shape: tuple[int, ...] | None
    fast: bool
    further_rails: Sequence[str]
    most_per_s: float | None
    seed: int


@dataclass(frozen=True)
class RecordedBatch:
    """What became of a list of networks.

    Attributes:
        recorded: What was recorded, and what failed.
        skipped: Names of those that had a complete recording.
    """

    recorded: Batch[RecordedRun]
    skipped: tuple[str, ...]

    @property
    def exit_status(self) -> int:
        """0 when all are recorded, 1 when a part failed, 2 when everything did."""
        return 1 if self.recorded.failed and self.skipped else self.recorded.exit_status


def record_many(
    networks: Sequence[str | Path],
    raw_dir: Path,
    *,
    backend: str | Backend | None = None,
    sensor: str | None = None,
    cycles: int = 30_000,
    root: Path = Path("/"),
    cool_down_s: float = 60.0,
    idle_s: float = 120.0,
    force_idle: bool = False,
    redo: bool = False,
    next_network: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    **options: Unpack[RecordOptions],
) -> RecordedBatch:
    """Record networks one after another.

    Args:
        networks: Names of shipped architectures, ONNX files or engines.
        raw_dir: The raw data folder.
        backend: What executes them, as for `record`.
        sensor: What to log, as for `record`.
        cycles: Cycles of each.
        root: Folder that /sys, /proc, /etc and /var are read below.
        cool_down_s: Pause between networks, for the board to cool.
        idle_s: How long idle power is measured, where `raw_dir` has none.
        force_idle: Whether to take a board that is visibly busy for idle.
        redo: Whether to record again what is complete.
        next_network: Called with each network's name before its turn.
        progress: As for `record`.
        options: The other options of `record`.

    Raises:
        EdgewattError: Two networks have the same name, or there is none.
        CheckFailedError: Idle power had to be measured and the board is busy.
        NoDeviceError: The named backend or sensor cannot be used.
    """
    names = network_names(networks)
    chosen = backend if isinstance(backend, Backend) else choose_backend(backend)
    wanted = {name: network for name, network in names.items() if redo or not is_complete(raw_dir, name, cycles)}
    skipped = tuple(name for name in names if name not in wanted)
    with stop_requests() as stopping:
        if wanted and sensor != NONE and not (raw_dir / IDLE_FILE).exists():
            measure_idle_before(raw_dir, chosen, sensor, idle_s, force_idle, root)
        first = next(iter(wanted), None)

        def work(name: str) -> RecordedRun:
            if name != first:
                _cool_down(cool_down_s, stopping)
            if stopping.by:
                raise EdgewattError(f"not recorded: stopped by {stopping.by}")
            run = record(
                wanted[name],
                raw_dir,
                backend=chosen,
                sensor=sensor,
                cycles=cycles,
                root=root,
                progress=progress,
                replace_existing=True,  # what is there is not complete, or not wanted
                **options,
            )
            if run.interrupted:
                raise CheckFailedError(
                    f"interrupted ({run.interrupted}); its {run.cycles} complete cycles are kept",
                    where=run.folder,
                    fix="Record the list again: it goes on with what is missing",
                )
            return run

        recorded = run_batch(list(wanted), lambda name: name, work, next_network)
    return RecordedBatch(recorded, skipped)


def network_names(networks: Sequence[str | Path]) -> dict[str, str | Path]:
    """Networks by the names that their recordings get.

    Raises:
        EdgewattError: Two have the same name, or there is none.
    """
    names: dict[str, str | Path] = {}
    for network in networks:
        name = Path(network).stem if Path(network).suffix else str(network)
        if name in names:
            raise EdgewattError(f"the network {name!r} comes twice", fix="Name each network once")
        names[name] = network
    if not names:
        raise EdgewattError("no network was named", fix="Name some, for instance --networks lenet,resnet18")
    return names


def measure_idle_before(
    raw_dir: Path, backend: Backend, sensor: str | None, idle_s: float, force: bool, root: Path
) -> None:
    """Measure idle power; on a machine without a sensor, runtimes are recorded alone.

    Raises:
        CheckFailedError: The board is busy.
        NoDeviceError: The named sensor cannot be used.
    """
    asked = sensor if sensor is not None else backend.own_sensor_name
    try:
        measure_idle(raw_dir, duration_s=idle_s, sensor=asked, force=force, root=root)
    except CheckFailedError as error:
        raise CheckFailedError(
            error.what, fix="Stop what is running and record again, or take the board as it is (--force-idle)"
        ) from error
    except NoDeviceError as error:
        if sensor is not None:
            raise
        warn(f"idle power is not measured: {error.what}")


def _cool_down(duration_s: float, stopping: StopRequest) -> None:
    deadline = time.monotonic() + duration_s
    while not stopping.by and (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, _POLL_S))
