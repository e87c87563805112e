"""What a whole network took, as `network.json` tells of it, from its preprocessed folder."""

from __future__ import annotations

from pathlib import Path

import edgewatt
from edgewatt.dataset.tables import NetworkTables
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import read_mapping_info
from edgewatt.formats.network_info import NetworkInfo


def network_info(folder: Path, built: NetworkTables) -> NetworkInfo | None:
    """What is known of the whole network; None where the folder has no mapping.json, as older ones have not.

    The energy of a cycle is the measured energy of the recording by its number of cycles, so the time between layers
    and between cycles is in it.

    Args:
        folder: The preprocessed folder.
        built: The network's training tables.

    Raises:
        FormatError: mapping.json is broken.
    """
    if not (folder / MAPPING_FILE).exists():
        return None
    info = read_mapping_info(folder / MAPPING_FILE)
    measured_j = info.energy.get("measured_j")
    return NetworkInfo(
        edgewatt_version=edgewatt.__version__,
        model=built.model,
        method=info.method,
        runtime_s=_positive(info.runtime.get("network_s")),
        energy_j=_positive(None if measured_j is None or info.cycles == 0 else measured_j / info.cycles),
        sum_of_layers_s=_positive(info.runtime.get("sum_of_layers_s")),
        time_share=sum(built.time_share.values()),
        idle_power_w=info.idle_power_w,
        cycles=info.cycles,
        run=info.run,
    )


def _positive(value: float | None) -> float | None:
    return value if value is not None and value > 0.0 else None
