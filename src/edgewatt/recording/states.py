"""Recording networks in several states: every batch, precision and power mode, each a recording of its own.

    raw_data/resnet18@b4-float16/             without power modes
    raw_data/15W/resnet18@b4-float16-15W/     with them: idle power is another in each
    raw_data/15W/idling_power.json

Power modes are outermost, for each takes time to settle in. What is there whole already is passed over, and one state
that cannot be recorded does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from edgewatt.backends.base import Backend
from edgewatt.backends.network import ENGINE_SUFFIXES, find_network
from edgewatt.backends.registry import choose_backend
from edgewatt.batch import Batch, run_batch
from edgewatt.errors import CheckFailedError, EdgewattError, warn
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE
from edgewatt.formats.recording import RecordingPaths
from edgewatt.formats.run_info import read_run_info
from edgewatt.formats.run_state import RunState, all_states
from edgewatt.networks.architectures import network_layers
from edgewatt.recording.batch import RecordedBatch, RecordOptions, measure_idle_before, network_names
from edgewatt.recording.mode_switch import ModeSwitch, mode_switch
from edgewatt.recording.record import Progress, RecordedRun, record
from edgewatt.recording.settling import settle
from edgewatt.recording.signals import StopRequest, stop_requests
from edgewatt.recording.staging import check_name, is_complete
from edgewatt.sensors.discovery import NONE


@dataclass(frozen=True)
class _Planned:
    """One recording to make."""

    network: str | Path
    state: RunState
    name: str
    folder: Path


@dataclass(frozen=True)
class _How:
    """What all recordings of a sweep share."""

    sensor: str | None
    cycles: int
    root: Path
    cool_down_s: float
    idle_s: float
    force_idle: bool
    progress: Progress | None
    input_shape: tuple[int, ...] | None
    options: Mapping[str, Any]
    stopping: StopRequest


def record_states(
    networks: Sequence[str | Path],
    raw_dir: Path,
    *,
    batches: Sequence[int] = (1,),
    precisions: Sequence[str] = ("float16",),
    power_modes: Sequence[str] = (),
    backend: str | Backend | None = None,
    sensor: str | None = None,
    cycles: int = 30_000,
    root: Path = Path("/"),
    cool_down_s: float = 60.0,
    idle_s: float = 120.0,
    force_idle: bool = False,
    redo: bool = False,
    announce: Callable[[str], None] | None = None,
    next_run: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    **options: Unpack[RecordOptions],
) -> RecordedBatch:
    """Record networks in every combination of batch, precision and power mode.

    The power mode from before is put back at the end, also after an error or a signal.

    Args:
        networks: Names of shipped architectures, ONNX files or engines.
        raw_dir: The raw data folder; with power modes, one folder a mode is made in it.
        batches: Inputs of one cycle.
        precisions: Types to compute in.
        power_modes: Names of power modes; none to stay in the one that is set.
        backend: What executes networks, as for `record`.
        sensor: What to log, as for `record`.
        cycles: Cycles of each recording.
        root: Folder that /sys, /proc, /etc, /var and programs are looked for below.
        cool_down_s: Least time to settle before each recording; see `settle`.
        idle_s: How long idle power is measured in each power mode, where none is there.
        force_idle: Whether to take a board that is visibly busy for idle.
        redo: Whether to record again what is there whole.
        announce: Called with a sentence before a power mode is switched.
        next_run: Called with each recording's name before its turn.
        progress: As for `record`.
        options: The other options of `record`.

    Raises:
        EdgewattError: What is asked for is not possible, a power mode needs a restart, or switching needs root; then
            nothing was recorded.
        NoDeviceError: The machine has no power modes, or the named backend or sensor cannot be used.
    """
    chosen = backend if isinstance(backend, Backend) else choose_backend(backend)
    shape = options.get("input_shape")
    rest = {name: value for name, value in options.items() if name not in ("input_shape", "precision")}
    planned = _plan(networks, raw_dir, all_states(batches, precisions, power_modes, "recorded"))
    wanted = [one for one in planned if redo or not is_complete(one.folder, one.name, cycles)]
    skipped = tuple(one.name for one in planned if one not in wanted)
    modes = list(dict.fromkeys(one.state.power_mode for one in wanted if one.state.power_mode is not None))
    recorded: Batch[RecordedRun] = Batch()
    with ExitStack() as stack:
        stopping = stack.enter_context(stop_requests())
        how = _How(sensor, cycles, root, cool_down_s, idle_s, force_idle, progress, shape, rest, stopping)
        if not modes:
            _record_all(wanted, chosen, how, next_run, recorded)
            return RecordedBatch(recorded, skipped)
        switch = stack.enter_context(mode_switch(modes, chosen, root, announce))
        for mode in modes:
            if announce is not None and not stopping.by:
                announce(f"power mode {mode}")
            own = [one for one in wanted if one.state.power_mode == mode]
            _in_mode(mode, own, switch, how, next_run, recorded)
    return RecordedBatch(recorded, skipped)


def _in_mode(
    mode: str,
    wanted: Sequence[_Planned],
    switch: ModeSwitch,
    how: _How,
    next_run: Callable[[str], None] | None,
    recorded: Batch[RecordedRun],
) -> None:
    """Record what is wanted of one power mode; where it cannot be entered all of it has failed."""
    try:
        if how.stopping.by:
            raise EdgewattError(f"not recorded: stopped by {how.stopping.by}")
        _record_all(wanted, switch.enter(mode), how, next_run, recorded)
    except EdgewattError as error:
        done = {run.name for run in recorded.done}
        recorded.failed |= {one.name: error for one in wanted if one.name not in done}


def _record_all(
    wanted: Sequence[_Planned],
    backend: Backend,
    how: _How,
    next_run: Callable[[str], None] | None,
    recorded: Batch[RecordedRun],
) -> None:
    """Record in the power mode that is set: idle power first, then each after the board has settled."""
    if not wanted:
        return
    settle(how.root, how.cool_down_s, how.stopping)
    folder = wanted[0].folder
    if how.sensor != NONE and not (folder / IDLE_FILE).exists():
        measure_idle_before(folder, backend, how.sensor, how.idle_s, how.force_idle, how.root)

    def work(one: _Planned) -> RecordedRun:
        if one is not wanted[0]:
            settle(how.root, how.cool_down_s, how.stopping)
        return _record(one, backend, how)

    batch = run_batch(wanted, lambda one: one.name, work, next_run)
    recorded.done += batch.done
    recorded.failed |= batch.failed


def _record(one: _Planned, backend: Backend, how: _How) -> RecordedRun:
    if how.stopping.by:
        raise EdgewattError(f"not recorded: stopped by {how.stopping.by}")
    run = record(
        one.network,
        one.folder,
        backend=backend,
        sensor=how.sensor,
        cycles=how.cycles,
        root=how.root,
        progress=how.progress,
        name=one.name,
        replace_existing=True,
        precision=one.state.precision,
        input_shape=_input_shape(one.network, one.state.batch, how.input_shape),
        **how.options,
    )
    if run.interrupted:
        raise CheckFailedError(
            f"interrupted ({run.interrupted}); its {run.cycles} complete cycles are kept",
            where=run.folder,
            fix="Record again: it goes on with what is missing",
        )
    computed = read_run_info(RecordingPaths(run.folder).run_info).precision
    if computed != one.state.precision:
        warn(f"{backend.name} computed in {computed}, not in {one.state.precision}", where=run.folder)
    return run


def _plan(networks: Sequence[str | Path], raw_dir: Path, states: Sequence[RunState]) -> list[_Planned]:
    planned = []
    for state in states:
        folder = raw_dir if state.power_mode is None else raw_dir / state.power_mode
        for name, network in network_names(networks).items():
            run_name = name + state.suffix
            check_name(run_name)
            planned.append(_Planned(network, state, run_name, folder))
    return planned


def _input_shape(network: str | Path, batch: int, shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The shape that makes a batch; None for an engine's own, which is fixed.

    Raises:
        EdgewattError: The network is unknown or broken.
    """
    if shape is not None:
        return (batch, *shape[1:])
    found = find_network(network)
    if found.kind == "engine" or found.path.suffix.lower() in ENGINE_SUFFIXES:
        if batch != 1:
            raise EdgewattError(
                "an engine's batch is fixed when it is built", where=network, fix="Give the ONNX file it was built from"
            )
        return None
    source = found.name if found.random_weights else found.path
    return (batch, *network_layers(source)[0].input_shape[1:])
