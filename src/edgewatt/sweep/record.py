"""`edgewatt sweep RAW_DIR`: single layers that cover what real networks use, as `raw_data/sweep@seed0/`.

A sweep that was interrupted is gone on with by the same command, and a larger `--count` goes on with a complete one:
no layer is measured twice but those that are meant to be.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from edgewatt.backends.base import Backend
from edgewatt.backends.registry import choose_backend
from edgewatt.errors import EdgewattError
from edgewatt.formats.sweep import PREFIX, SweptLayer
from edgewatt.isolation.isolated_run import IsolatedRun
from edgewatt.isolation.record import make_rig
from edgewatt.isolation.rig import LoopRig
from edgewatt.isolation.session import Progress
from edgewatt.isolation.simulated_rig import SimulatedRig
from edgewatt.isolation.surroundings import Surroundings
from edgewatt.predictors.repeat_error import RepeatError, repeat_errors
from edgewatt.recording.logger import MOST_PER_S
from edgewatt.recording.signals import stop_requests
from edgewatt.sweep.estimate import sweep_seconds, try_backend
from edgewatt.sweep.limits import SIMULATED_MEMORY_BYTES, Limits, memory_bytes
from edgewatt.sweep.options import SweepOptions
from edgewatt.sweep.session import SweepSession
from edgewatt.sweep.shipped import layers_of_networks


@dataclass(frozen=True)
class SweepRun:
    """A sweep.

    Attributes:
        name: Its name.
        folder: Its folder.
        layers: The layers that were chosen, repeats included.
        measured: How many of them were measured, by kind.
        left_out: Why each other one was not, by name.
        repeats: What repeated measurements differ by, by target; None where there are none.
        error: How far an adaptive sweep's predictors were off at the end; None where it was not looked at.
        run: The recording.
    """

    name: str
    folder: Path
    layers: tuple[SweptLayer, ...]
    measured: dict[str, int]
    left_out: dict[str, str]
    repeats: dict[str, RepeatError | None]
    error: float | None
    run: IsolatedRun

    @property
    def interrupted(self) -> str | None:
        """How it was ended early; None where it was not."""
        return self.run.interrupted


@dataclass(frozen=True)
class Outlook:
    """What is known before a sweep begins.

    Attributes:
        seconds: Time that it takes, on the board's clock.
        done: Measurements that an earlier sitting made.
        simulated: Whether the board is simulated, whose clock runs faster.
        limits: What the board holds.
    """

    seconds: float
    done: int
    simulated: bool
    limits: Limits


def record_sweep(
    raw_dir: Path,
    *,
    backend: str | Backend | None = None,
    sensor: str | None = None,
    options: SweepOptions | None = None,
    replace_existing: bool = False,
    root: Path = Path("/"),
    most_per_s: float | None = MOST_PER_S,
    progress: Progress | None = None,
    before: Callable[[Outlook], None] | None = None,
    rig: LoopRig | None = None,
) -> SweepRun:
    """Measure single layers that cover what real networks use.

    Args:
        raw_dir: The raw data folder, made where it is missing.
        backend: What executes them, as for `edgewatt.recording.record.record`.
        sensor: What to log, as for `record`.
        options: How it is made.
        replace_existing: Whether to begin anew where there is a sweep of the seed.
        root: Folder that /sys, /proc, /etc and /var are read below.
        most_per_s: Most power readings in a second; None for no limit.
        progress: Called before each step.
        before: Called once it is known how long it takes.
        rig: What runs loops; None for that of the backend.

    Returns:
        What was measured; where it was interrupted, what was until then.

    Raises:
        EdgewattError: An option is not usable, there is a complete sweep, or one that was made otherwise.
        NoDeviceError: The named backend or sensor cannot be used.
    """
    options = options or SweepOptions()
    name = f"{PREFIX}seed{options.seed}"
    aims = layers_of_networks(options.networks)
    if options.networks and not any(layer.kind in options.kinds for layer in aims):
        raise EdgewattError(
            f"no layer of {', '.join(options.networks)} is of the kinds that are swept", fix="Name others with --kinds"
        )
    with ExitStack() as stack:
        stopping = stack.enter_context(stop_requests())
        if rig is None:
            chosen = backend if isinstance(backend, Backend) else choose_backend(backend)
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="edgewatt-")))
            rig = make_rig(chosen, options.isolation(), scratch / name, stopping, sensor, root, most_per_s)
        stack.enter_context(rig)
        simulated = isinstance(rig, SimulatedRig)
        limits = Limits(SIMULATED_MEMORY_BYTES if simulated else memory_bytes(root))
        if progress is not None:
            progress("trying the backend", 0, options.count)
        trials = try_backend(rig)
        surroundings = Surroundings.now(rig, root)
        session = SweepSession(
            raw_dir / name, rig, options, limits, trials.precision, trials.fuses, surroundings, sensor, progress, aims
        )
        done = session.begin(replace_existing=replace_existing)
        if before is not None:
            before(Outlook(sweep_seconds(options, done, session.visited, rig, trials), done, simulated, limits))
        run = session.run(replace_existing=replace_existing)
        tables = session.tables()
        return SweepRun(
            name=name,
            folder=run.folder,
            layers=session.layers,
            measured={kind.value: table.height for kind, table in tables.items()},
            left_out=run.left_out,
            repeats=repeat_errors(tables),
            error=session.error,
            run=run,
        )
