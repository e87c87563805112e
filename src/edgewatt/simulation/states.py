"""Simulated recordings in several states: every batch, precision and power mode.

Folders and names are those of recorded states, see `edgewatt.recording.states`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from edgewatt.formats.run_state import all_states
from edgewatt.simulation.board import find_board
from edgewatt.simulation.settings import SimulationSettings
from edgewatt.simulation.simulate import simulate


def simulate_states(
    raw_dir: Path,
    networks: Sequence[str],
    *,
    batches: Sequence[int] = (1,),
    precisions: Sequence[str] = ("float16",),
    power_modes: Sequence[str] = (),
    board: str = "orin-nano",
    cycles: int = 3000,
    seed: int = 0,
    settings: SimulationSettings | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Simulate networks in every combination of states.

    Args:
        raw_dir: The raw data folder; with power modes, one folder a mode is made in it.
        networks: As for `simulate`.
        batches: Inputs of one cycle.
        precisions: What the networks compute in.
        power_modes: Names of the board's power modes; none for its usual one, without a folder of its own.
        board: The simulated board's name.
        cycles: Recorded cycles of each recording.
        seed: From 0.
        settings: As for `simulate`.
        progress: Called with a run's name once its recording is written.

    Returns:
        The recordings' folders, power modes outermost.

    Raises:
        EdgewattError: As for `simulate`; the board has no such power mode, or a batch or precision is none.
    """
    states = all_states(batches, precisions, power_modes, "simulated")
    for name in power_modes:
        find_board(board, name)
    folders = []
    for state in states:
        folders += simulate(
            raw_dir if state.power_mode is None else raw_dir / state.power_mode,
            networks,
            board=board,
            power_mode=state.power_mode,
            suffix=state.suffix,
            cycles=cycles,
            seed=seed,
            precision=state.precision,
            batch=state.batch,
            settings=settings,
            progress=progress,
        )
    return folders
