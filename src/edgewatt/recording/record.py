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

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from edgewatt.backends.base import Backend, LoadSettings
from edgewatt.backends.network import find_network
from edgewatt.backends.registry import choose_backend
from edgewatt.errors import EdgewattError, NoDeviceError
from edgewatt.formats.recording import refuse_foreign_recording
from edgewatt.networks.element_types import check_compute_type
from edgewatt.recording.benchmark_main import BenchmarkPlan
from edgewatt.recording.logger import MOST_PER_S
from edgewatt.recording.power_source import PowerSource, find_power_source
from edgewatt.recording.recorded_run import RecordedRun
from edgewatt.recording.session import Progress, RecordingSession
from edgewatt.recording.signals import stop_requests
from edgewatt.recording.staging import check_name, is_complete, staging
from edgewatt.sensors.discovery import Discovery
from edgewatt.sensors.fast import fast_sensor, state_file

__all__ = ["Progress", "RecordedRun", "record"]


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
    run_name = found.name if name is None else name
    check_name(run_name)
    if not replace_existing and is_complete(raw_dir, run_name):
        raise EdgewattError(
            f"there is a recording of {run_name} already",
            where=raw_dir / run_name,
            fix="Record under another name (--name), into another folder, or replace it (--replace)",
        )
    refuse_foreign_recording(raw_dir / run_name)
    settings = LoadSettings(precision, input_shape, seed)
    with ExitStack() as stack:
        stopping = stack.enter_context(stop_requests())
        stage = stack.enter_context(staging(raw_dir, run_name))
        source = find_power_source(root, sensor, chosen.own_sensor(stage.folder), further_rails)
        if fast:
            stack.enter_context(fast_sensor(_settable(source), state_file(root)))
        plan = BenchmarkPlan(chosen, found, settings, warmup, cycles, stage.folder)
        return RecordingSession(str(network), plan, stage, source, root, most_per_s, stopping, progress).run()


def _settable(source: PowerSource | None) -> Discovery:
    """The board's sensors, of which the chip behind its input can be set.

    Raises:
        NoDeviceError: Nothing of a board is logged.
    """
    if source is None or source.found is None:
        logged = "no power is logged" if source is None else f"{source.sensor.name} is no board's sensor"
        raise NoDeviceError(f"no sensor can be set to its fastest: {logged}", fix="Leave --fast away")
    return source.found


def _check_options(cycles: int, warmup: int, precision: str) -> None:
    if cycles < 1 or warmup < 0:
        raise EdgewattError(
            f"{cycles} cycles after {warmup} for warming up cannot be recorded", fix="Ask for at least one cycle"
        )
    check_compute_type(precision)
