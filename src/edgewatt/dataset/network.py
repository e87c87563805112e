"""What a whole network took, as `network.json` tells of it, from its preprocessed folder."""

from __future__ import annotations

from pathlib import Path

import edgewatt
from edgewatt.dataset.tables import NetworkTables
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import MappingInfo, read_mapping_info
from edgewatt.formats.network_info import NetworkInfo


def network_info(folder: Path, built: NetworkTables) -> NetworkInfo | None:
    """What is known of the whole network; None where the folder has no mapping.json, as older ones have not.

    Args:
        folder: The preprocessed folder.
        built: The network's training tables.

    Raises:
        FormatError: mapping.json is broken.
    """
    if not (folder / MAPPING_FILE).exists():
        return None
    info = read_mapping_info(folder / MAPPING_FILE)
    return NetworkInfo(
        edgewatt_version=edgewatt.__version__,
        model=built.model,
        method=info.method,
        runtime_s=_positive(info.runtime.get("network_s")),
        energy_j=_positive(_cycle_energy_j(info)),
        sum_of_layers_s=_positive(info.runtime.get("sum_of_layers_s")),
        time_share=sum(built.time_share.values()),
        idle_power_w=info.idle_power_w,
        cycles=info.cycles,
        run=info.run,
    )


def _cycle_energy_j(info: MappingInfo) -> float | None:
    """Energy of the time that a cycle takes: its layers' power while they run, and the gaps' for the rest of it.

    The rest is negative where the layers' times were profiled and the network's was not: a profiler holds layers up,
    and the board meanwhile draws about what it does in gaps. How long a program waits from one cycle to the next is
    its own choice, and is no part of a cycle.
    """
    layers_w, gaps_w = info.power.get("layers_w"), info.power.get("gaps_w")
    layers_s, network_s = info.runtime.get("sum_of_layers_s"), info.runtime.get("network_s")
    if layers_w is None or layers_s is None or network_s is None:
        return None
    if gaps_w is None:
        gaps_w = layers_w if info.idle_power_w is None else info.idle_power_w
    return layers_w * layers_s + gaps_w * (network_s - layers_s)


def _positive(value: float | None) -> float | None:
    return value if value is not None and value > 0.0 else None
