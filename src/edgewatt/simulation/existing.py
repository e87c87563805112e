"""Simulated recordings take the place of simulated ones alone, never of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.formats.folders import network_folders
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE_NAME
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.isolated import is_isolated, read_plan
from edgewatt.formats.recording import RecordingPaths, holds_recording
from edgewatt.formats.run_info import read_run_info
from edgewatt.simulation.base_files import IDLE_TIMESTAMP

_FIX = "Simulate into a folder of its own"
_SIMULATED = "simulated"


def refuse_measured(raw_dir: Path) -> None:
    """Refuse to simulate into a folder that holds measurements.

    A simulation writes the folder's idle power, too, by which every recording in it is mapped.

    Args:
        raw_dir: The raw data folder; it may be missing.

    Raises:
        EdgewattError: It holds a recording that no simulated board made, or an idle power that was measured alone.
    """
    if not raw_dir.is_dir():
        return
    recorded = [folder for folder in network_folders(raw_dir, "edgewatt record") if holds_recording(folder)]
    measured = [folder for folder in recorded if not _is_simulated(folder)]
    if measured:
        raise EdgewattError(
            f"{_names(measured)} measured: a simulation would take its place, or give it another idle power",
            where=raw_dir,
            fix=_FIX,
        )
    idle_file = raw_dir / IDLE_FILE_NAME
    if not recorded and idle_file.exists() and read_idle_power(idle_file).timestamp != IDLE_TIMESTAMP:
        raise EdgewattError(
            "this idle power was measured, and a simulation would take its place", where=idle_file, fix=_FIX
        )


def _is_simulated(folder: Path) -> bool:
    if is_isolated(folder):
        return read_plan(folder).settings.get("backend") == _SIMULATED
    path = RecordingPaths(folder).run_info
    return path.exists() and read_run_info(path).backend == _SIMULATED


def _names(folders: Sequence[Path]) -> str:
    shown = ", ".join(folder.name for folder in folders[:3]) + (" and others" if len(folders) > 3 else "")
    return f"{shown} {'was' if len(folders) == 1 else 'were'}"
