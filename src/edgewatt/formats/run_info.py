"""`run.json`: what a reader needs to trust a recording. Ours; older recordings have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from edgewatt.errors import FormatError
from edgewatt.formats.checked import FileModel, read_checked, write_checked

FILE_NAME = "run.json"
SCHEMA_VERSION = 1
_LAYOUT = f'The file is JSON with "schema_version": {SCHEMA_VERSION}, "model", "board" and what the recorder knew'


class RunInfo(FileModel):
    """How a network was recorded.

    Attributes:
        schema_version: Version of this format.
        edgewatt_version: The version that recorded.
        model: The run's name.
        network: The network's name or file.
        board: The board's name.
        backend: What executed the network.
        precision: The type that the network was asked to compute in.
        batch_size: Inputs of one cycle.
        input_shape: Shape of the network's input.
        power_mode: Name of the board's power mode.
        sensor: The sensor's name, rails, total and settings before and after.
        clocks: CPU, GPU and memory clocks, and whether they are locked.
        temperatures: Before and after, in degrees Celsius.
        versions: Of everything that took part.
        cycle_start_us: Start of every cycle, in microseconds since 1970 as the log has them.
        cycle_end_us: End of every cycle.
        interrupted: Whether the recording was stopped before its end.
    """

    schema_version: int = SCHEMA_VERSION
    edgewatt_version: str = ""
    model: str
    network: str = ""
    board: str
    backend: str = ""
    precision: str = ""
    batch_size: int | None = None
    input_shape: list[int] | None = None
    power_mode: str | None = None
    sensor: dict[str, Any] = Field(default_factory=dict)
    clocks: dict[str, Any] = Field(default_factory=dict)
    temperatures: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    cycle_start_us: list[int] | None = None
    cycle_end_us: list[int] | None = None
    interrupted: bool = False


def read_run_info(path: Path) -> RunInfo:
    """Read a run.json.

    Raises:
        FormatError: The file is missing, not of this format, or of a later schema.
    """
    info = read_checked(path, RunInfo, _LAYOUT)
    if info.schema_version != SCHEMA_VERSION:
        raise FormatError(
            f"schema version {info.schema_version}; this edgewatt reads version {SCHEMA_VERSION}",
            where=path,
            fix="Use the edgewatt that recorded it, or a later one",
        )
    start, end = info.cycle_start_us, info.cycle_end_us
    if start is not None and end is not None and len(start) != len(end):
        raise FormatError(
            f"{len(start)} cycles have a start and {len(end)} an end", where=path, fix="Leave both out, or record again"
        )
    return info


def write_run_info(path: Path, info: RunInfo) -> None:
    """Write a run.json, whole or not at all."""
    write_checked(path, info)
