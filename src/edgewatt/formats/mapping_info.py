"""`mapping.json`: which method mapped power to layers, and how well it adds up. Ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, FiniteFloat

from edgewatt.errors import FormatError
from edgewatt.formats.checked import FileModel, read_checked, write_checked

FILE_NAME = "mapping.json"
SCHEMA_VERSION = 1


class MappingInfo(FileModel):
    """How a recording was mapped.

    Attributes:
        schema_version: Version of this format.
        edgewatt_version: The version that mapped.
        model: The run's name.
        method: `window` or `deconvolve`.
        settings: The method's settings.
        idle_power_w: Idle power that was subtracted.
        cycles: Number of cycles.
        layers: Number of layers.
        readings: Number of readings in the power log, and how many of them changed the value.
        energy: Energies of the recording in J: measured, of layers, of gaps.
        power: Mean power in W while layers run and while none does; idle power included.
        energy_closure: (layers + gaps - measured) / measured; None where a layer has no power.
        runtime: Sum of the layers' runtimes and the network's own latency in s, and their ratio.
        warnings: What a reader should know.
        run: What is known of the run: board, power mode, precision.
    """

    schema_version: int = SCHEMA_VERSION
    edgewatt_version: str
    model: str
    method: str
    settings: dict[str, Any] = Field(default_factory=dict)
    idle_power_w: FiniteFloat | None = None
    cycles: int
    layers: int
    readings: dict[str, int] = Field(default_factory=dict)
    energy: dict[str, float | None] = Field(default_factory=dict)
    power: dict[str, float | None] = Field(default_factory=dict)
    energy_closure: float | None = None
    runtime: dict[str, float | None] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    run: dict[str, Any] = Field(default_factory=dict)


def read_mapping_info(path: Path) -> MappingInfo:
    """Read the file.

    Raises:
        FormatError: The file is missing, not of this format, or of a later schema.
    """
    info = read_checked(path, MappingInfo, "Map the recording again")
    if info.schema_version != SCHEMA_VERSION:
        raise FormatError(
            f"schema version {info.schema_version}; this edgewatt reads version {SCHEMA_VERSION}",
            where=path,
            fix="Map the recording again",
        )
    return info


def write_mapping_info(path: Path, info: MappingInfo) -> None:
    """Write the file, whole or not at all."""
    write_checked(path, info)
