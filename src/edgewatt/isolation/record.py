"""`edgewatt record NETWORK RAW_DIR --isolate`: every layer of a network by itself.

    raw_data/resnet18@isolated/     isolated.json     what is measured: written once every layer was tried
                                    visits.jsonl      what was measured: a line is appended for each loop that ended
                                    run.json          what surrounded it, written at the end
                                    trt_profiling/trt_engine_info.json

A recording that was interrupted is gone on with by the same command: layers that were tried, and loops that ended, are
not run again.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from edgewatt.backends.base import Backend, LoadSettings
from edgewatt.backends.network import find_network
from edgewatt.backends.registry import choose_backend
from edgewatt.backends.simulated import SimulatedBackend
from edgewatt.formats.isolated import SUFFIX
from edgewatt.formats.recording import refuse_foreign_recording
from edgewatt.isolation.isolated_run import IsolatedRun
from edgewatt.isolation.job import network_job
from edgewatt.isolation.live_rig import LiveRig
from edgewatt.isolation.options import IsolationOptions
from edgewatt.isolation.rig import LoopRig
from edgewatt.isolation.session import IsolationSession, Progress
from edgewatt.isolation.simulated_rig import SimulatedRig
from edgewatt.isolation.surroundings import Surroundings
from edgewatt.recording.logger import MOST_PER_S
from edgewatt.recording.power_source import find_power_source
from edgewatt.recording.signals import StopRequest, stop_requests
from edgewatt.recording.staging import check_name
from edgewatt.sensors.discovery import NONE

__all__ = ["IsolatedRun", "IsolationOptions", "make_rig", "record_isolated"]


def record_isolated(
    network: str | Path,
    raw_dir: Path,
    *,
    backend: str | Backend | None = None,
    sensor: str | None = None,
    options: IsolationOptions | None = None,
    name: str | None = None,
    replace_existing: bool = False,
    root: Path = Path("/"),
    most_per_s: float | None = MOST_PER_S,
    progress: Progress | None = None,
    rig: LoopRig | None = None,
) -> IsolatedRun:
    """Measure every layer of a network by itself.

    Args:
        network: The name of a shipped architecture, an ONNX file, an engine, or an engine inspector's JSON, whose
            layers are then built from their descriptions.
        raw_dir: The raw data folder, made where it is missing.
        backend: What executes it, as for `edgewatt.recording.record.record`.
        sensor: What to log, as for `record`.
        options: How it is measured.
        name: The network's name in the run's, which gets `@isolated` behind it; None for the network's own.
        replace_existing: Whether to begin anew where there is such a recording.
        root: Folder that /sys, /proc, /etc and /var are read below.
        most_per_s: Most power readings in a second; None for no limit.
        progress: Called before each step.
        rig: What runs loops; None for that of the backend.

    Returns:
        What was measured; where it was interrupted, what was until then.

    Raises:
        EdgewattError: The network or an option is not usable, there is a complete recording of that name, or one that
            was measured otherwise.
        NoDeviceError: The named backend or sensor cannot be used.
    """
    options = options or IsolationOptions()
    chosen = backend if isinstance(backend, Backend) else choose_backend(backend)
    found = find_network(network)
    run_name = f"{found.name if name is None else name}{SUFFIX}"
    check_name(run_name)
    refuse_foreign_recording(raw_dir / run_name)
    with ExitStack() as stack:
        stopping = stack.enter_context(stop_requests())
        if rig is None:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="edgewatt-")))
            rig = make_rig(chosen, options, scratch / run_name, stopping, sensor, root, most_per_s)
        stack.enter_context(rig)
        surroundings = Surroundings.now(rig, root)
        if progress is not None:
            progress("loading", 0, 1)
        job = network_job(found, str(network), rig, options)
        session = IsolationSession(job, raw_dir / run_name, rig, options, surroundings, sensor, progress)
        return session.run(replace_existing=replace_existing)


def make_rig(
    backend: Backend,
    options: IsolationOptions,
    folder: Path,
    stopping: StopRequest,
    sensor: str | None = None,
    root: Path = Path("/"),
    most_per_s: float | None = MOST_PER_S,
) -> LoopRig:
    """What runs loops with a backend.

    Args:
        backend: The backend. The simulated board's time is simulated too, unless a real sensor is asked for.
        options: How layers are measured.
        folder: A folder for files of a moment, which is made.
        stopping: Whether the user asked to stop.
        sensor: What to log, as `edgewatt sensors` names it; None for the board's input, `none` for nothing.
        root: Folder that /sys, /proc, /etc and /var are read below.
        most_per_s: Most power readings in a second; None for no limit.

    Raises:
        NoDeviceError: The named sensor cannot be used.
    """
    if isinstance(backend, SimulatedBackend) and sensor in (None, NONE, backend.own_sensor_name):
        return SimulatedRig(
            backend.board,
            precision=options.precision,
            seed=options.seed,
            has_power=sensor != NONE,
            stopping=stopping,
        )
    folder.mkdir(parents=True)
    source = find_power_source(root, sensor, backend.own_sensor(folder))
    settings = LoadSettings(options.precision, options.input_shape, options.seed)
    return LiveRig(backend, settings, source, folder, stopping, most_per_s)
