"""`network.json`: what a whole network took, beside the tables of its layers. Ours; older tables have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveFloat

from edgewatt.errors import FormatError
from edgewatt.formats.checked import FileModel, read_checked, write_checked

FILE_NAME = "network.json"
SCHEMA_VERSION = 1
_FIX = "Make the tables again with `edgewatt dataset`"


class NetworkInfo(FileModel):
    """A measured network as a whole.

    Attributes:
        schema_version: Version of this format.
        edgewatt_version: The version that wrote it.
        model: The run's name.
        method: The mapping method of the layers' powers.
        runtime_s: Runtime of one cycle, measured without the layer profiler where the recording has it.
        energy_j: Energy of that time, idle power and the time between layers included, pauses between cycles not.
        sum_of_layers_s: Sum of the layers' runtimes of one cycle.
        time_share: Share of it that the tables' layers take.
        idle_power_w: Idle power.
        cycles: Number of cycles that were recorded.
        run: What is known of the run: board, backend, power mode, clocks, precision, versions, date.
    """

    schema_version: int = SCHEMA_VERSION
    edgewatt_version: str
    model: str
    method: str = ""
    runtime_s: PositiveFloat | None = None
    energy_j: PositiveFloat | None = None
    sum_of_layers_s: PositiveFloat | None = None
    time_share: FiniteFloat | None = None
    idle_power_w: FiniteFloat | None = None
    cycles: NonNegativeInt | None = None
    run: dict[str, Any] = Field(default_factory=dict)


def read_network_info(path: Path) -> NetworkInfo:
    """Read the file.

    Raises:
        FormatError: The file is missing, not of this format, or of a later schema.
    """
    info = read_checked(path, NetworkInfo, _FIX)
    if info.schema_version != SCHEMA_VERSION:
        raise FormatError(
            f"schema version {info.schema_version}; this edgewatt reads version {SCHEMA_VERSION}", where=path, fix=_FIX
        )
    return info


def write_network_info(path: Path, info: NetworkInfo) -> None:
    """Write the file, whole or not at all."""
    write_checked(path, info)
