"""What a folder of data holds: recordings, mapped networks or training tables, in the base format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.formats.folders import network_folders
from edgewatt.formats.run_folders import run_folders
from edgewatt.formats.training_tables import table_path
from edgewatt.networks.layer import LayerKind
from edgewatt.results.mapped import is_mapped
from edgewatt.results.recording import is_recording
from edgewatt.wording import counted


@dataclass(frozen=True)
class Contents:
    """What was found in a folder.

    Attributes:
        stage: `raw`, `preprocessed` or `training`.
        networks: Names of the networks that have it.
        others: Names of folders that hold nothing of it.
    """

    stage: str
    networks: tuple[str, ...]
    others: tuple[str, ...]

    def __str__(self) -> str:
        number = len(self.networks)
        told = {
            "raw": counted(number, "recording"),
            "preprocessed": counted(number, "mapped network"),
            "training": f"training tables of {counted(number, 'network')}",
        }
        rest = f"; nothing in {', '.join(self.others)}" if self.others else ""
        return told[self.stage] + rest


def data_set(folder: Path) -> Contents:
    """Tell what a folder of data holds.

    Args:
        folder: One folder a network.

    Raises:
        EdgewattError: It is no data set in the base format.
    """
    tells = {"raw": is_recording, "preprocessed": is_mapped, "training": _has_tables}
    # A board's folder holds those of its networks.
    found = {
        stage: tuple(one.name for one in run_folders(folder, "map, dataset or record", is_it))
        for stage, is_it in tells.items()
    }
    stage = max(found, key=lambda name: len(found[name]))
    if not found[stage]:
        raise EdgewattError(
            "it is no data set in the base format",
            where=folder,
            fix="It must hold a folder for each network, with its recording, layer powers or training tables",
        )
    known = {name.partition("/")[0] for name in found[stage]}
    folders = network_folders(folder, "map, dataset or record")
    return Contents(stage, found[stage], tuple(one.name for one in folders if one.name not in known))


def _has_tables(folder: Path) -> bool:
    return any(table_path(folder, kind).exists() for kind in LayerKind)
