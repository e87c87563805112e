"""What can be exported: a recording, mapped networks, training tables or a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_power import FILE_NAME as LAYER_POWER_FILE
from edgewatt.formats.recording import RecordingPaths
from edgewatt.formats.run_folders import run_folders
from edgewatt.formats.training_tables import table_path
from edgewatt.networks.layer import LayerKind


class SourceKind(str, Enum):
    """Kinds of sources; the value is what a person calls one."""

    RECORDING = "a recording"
    MAPPED = "a mapped network"
    TRAINING = "training tables"
    PREDICTION = "a prediction"


@dataclass(frozen=True)
class Source:
    """What is exported.

    Attributes:
        kind: What it is.
        path: What was named.
        folders: The networks' folders; the file itself for a prediction.
        several: Whether a folder of networks was named, so that rows must say which network they are of.
    """

    kind: SourceKind
    path: Path
    folders: tuple[Path, ...]
    several: bool

    @property
    def network(self) -> Path:
        """The one network's folder, or the prediction.

        Raises:
            EdgewattError: A folder of several networks was named.
        """
        if self.several:
            raise EdgewattError(
                "the folder holds several networks, and this format is of one",
                where=self.path,
                fix=f"Name one of them: {self.folders[0]}",
            )
        return self.folders[0]


def find_source(path: Path) -> Source:
    """Tell what a path is.

    Args:
        path: A network's folder in raw_data/, preprocessed_data/ or training_data/, one of the latter two themselves,
            or a file of predictions.

    Raises:
        EdgewattError: It is none of these.
    """
    if path.is_file():
        return Source(SourceKind.PREDICTION, path, (path,), several=False)
    # Names of files come from the folder's, which `.` has none of.
    folder = path.resolve() if path.is_dir() else path
    kind = _kind(folder)
    if kind is not None:
        return Source(kind, path, (folder,), several=False)
    runs = run_folders(folder, "map or dataset", lambda one: _kind(one) is not None)
    inner = {run.path: _kind(run.path) for run in runs}
    for kind in (SourceKind.MAPPED, SourceKind.TRAINING):
        folders = tuple(found for found, its_kind in inner.items() if its_kind is kind)
        if folders:
            return Source(kind, path, folders, several=True)
    recordings = [found for found, its_kind in inner.items() if its_kind is SourceKind.RECORDING]
    raise EdgewattError(
        "the folder holds recordings of several networks" if recordings else "there is nothing here to export",
        where=path,
        fix=f"Name one of them: {recordings[0]}" if recordings else f"Name {_exportable()}",
    )


def _exportable() -> str:
    return "the folder of " + ", of ".join(kind.value for kind in list(SourceKind)[:3]) + ", or a file of predictions"


def _kind(folder: Path) -> SourceKind | None:
    holds: Sequence[tuple[SourceKind, Sequence[Path]]] = (
        (SourceKind.MAPPED, (folder / LAYER_POWER_FILE, folder / METRICS_FILE)),
        (SourceKind.TRAINING, [table_path(folder, kind) for kind in LayerKind]),
        (SourceKind.RECORDING, (RecordingPaths(folder).layer_latency,)),
    )
    return next((kind for kind, files in holds if any(file.exists() for file in files)), None)
