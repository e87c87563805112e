"""Networks to simulated recordings on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE_NAME
from edgewatt.formats.idle_power import IdlePower, read_idle_power, write_idle_power
from edgewatt.formats.recording import refuse_foreign_recording
from edgewatt.networks.architectures import network_layers
from edgewatt.simulation.base_files import IDLE_TIMESTAMP, TRUTH_FOLDER, write_recording
from edgewatt.simulation.board import find_board
from edgewatt.simulation.existing import refuse_measured
from edgewatt.simulation.recording import measure_idle, simulate_network
from edgewatt.simulation.settings import SimulationSettings

#: Idle power of one board in one mode differs by less, relatively, from one simulation to the next.
_SAME_IDLE = 0.05


def simulate(
    raw_dir: Path,
    networks: Sequence[str],
    *,
    board: str = "orin-nano",
    power_mode: str | None = None,
    suffix: str = "",
    cycles: int = 3000,
    seed: int = 0,
    precision: str = "float16",
    batch: int = 1,
    settings: SimulationSettings | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Simulate networks and write raw data.

    The same arguments write the same bytes for a network, whichever others are asked for with it.

    Args:
        raw_dir: The raw data folder, made where it is missing.
        networks: Names of shipped architectures, ONNX files, or engine-inspector JSON files.
        board: The simulated board's name.
        power_mode: Name of its power mode; None for its usual one.
        suffix: What stands behind the network in each run's name.
        cycles: Recorded cycles of each network.
        seed: From 0.
        precision: What the networks compute in.
        batch: Inputs of one cycle.
        settings: How they are run and measured; its number of cycles gives way to `cycles`.
        progress: Called with a network's run name once its recording is written.

    Returns:
        The recordings' folders, in the order of `networks`.

    Raises:
        EdgewattError: A network is not known, comes twice or cannot be read, or the folder holds measurements (then
            nothing is written); or a file cannot be written.
    """
    simulated = find_board(board, power_mode)
    settings = (settings or SimulationSettings()).with_cycles(cycles)
    names = [_run_name(network) + suffix for network in networks]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise EdgewattError(f"the network {twice!r} comes twice", fix="Name each network once")
    layers = [network_layers(network, batch=batch, precision=precision) for network in networks]
    refuse_measured(raw_dir)
    for name in names:
        refuse_foreign_recording(raw_dir / name)
    idle_w = measure_idle(simulated, settings.sensor, seed=seed)
    idle = IdlePower(timestamp=IDLE_TIMESTAMP, avg_idle_power=idle_w * 1e6)
    _warn_of_other_idle_power(raw_dir / IDLE_FILE_NAME, idle)
    write_idle_power(raw_dir / IDLE_FILE_NAME, idle)
    folders = []
    for name, network in zip(names, layers, strict=True):
        recording = simulate_network(network, simulated, settings, name=name, seed=seed)
        folders.append(write_recording(raw_dir, recording, simulated, settings, precision=precision))
        if progress is not None:
            progress(name)
    return folders


def _warn_of_other_idle_power(path: Path, idle: IdlePower) -> None:
    """Warn where a folder's idle power becomes another board's or power mode's."""
    if not path.exists():
        return
    before = read_idle_power(path)
    if abs(before.avg_idle_power - idle.avg_idle_power) > _SAME_IDLE * before.avg_idle_power:
        warn(
            f"it was {before.power_w:.3g} W and becomes {idle.power_w:.3g} W; recordings that lie here already are "
            "then mapped with another board's idle power",
            where=path,
            fix="Give each board and power mode a folder of its own",
        )


def _run_name(network: str) -> str:
    path = Path(network)
    name = path.stem if path.suffix in (".onnx", ".json") else path.name
    if not name or name.startswith(".") or name == TRUTH_FOLDER:
        raise EdgewattError(f"a recording cannot be called {name!r}", where=network, fix="Rename the network's file")
    return name
