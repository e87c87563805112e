"""The folder that `train` writes and `predict` reads: predictors, and `predictors.json`, which lists them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, FiniteFloat

from edgewatt import __version__
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.atomic import write_bytes
from edgewatt.formats.checked import FileModel, read_checked, write_checked
from edgewatt.formats.json_file import write_json
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.storage import (
    SCHEMA_VERSION,
    StoredPredictor,
    check_schema_version,
    file_name,
    read_predictor,
    write_predictor,
)
from edgewatt.predictors.targets import Target

MANIFEST = "predictors.json"
METRICS = "metrics.json"
CARD = "card.md"

#: The kinds of layer that have predictors of their own.
PREDICTED_KINDS = (LayerKind.CONVOLUTIONAL, LayerKind.POOLING, LayerKind.DENSE)


@dataclass(frozen=True, eq=False)
class Predictors:
    """Trained predictors that belong together.

    Attributes:
        by_purpose: The predictor of each kind and target that has one.
        networks: Names of the networks that they were trained on.
        holdout: Names of the networks that were kept from them.
        idle_power_w: Mean idle power of the networks trained on; None where their tables do not tell.
        methods: Mapping methods that the powers came from.
        precisions: Precisions of the layers trained on.
        left_out: Why a kind or target has no predictor, by what is missing.
        edgewatt_version: The version that trained them.
    """

    by_purpose: Mapping[tuple[LayerKind, Target], StoredPredictor]
    networks: tuple[str, ...]
    holdout: tuple[str, ...] = ()
    idle_power_w: float | None = None
    methods: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    left_out: Mapping[str, str] | None = None
    edgewatt_version: str = __version__

    def get(self, kind: LayerKind, target: Target) -> StoredPredictor | None:
        """The predictor of one kind and target; None where there is none."""
        return self.by_purpose.get((kind, target))


class _Manifest(FileModel):
    """`predictors.json`."""

    schema_version: int
    edgewatt_version: str
    files: list[str]
    networks: list[str]
    holdout: list[str]
    idle_power_w: Annotated[FiniteFloat, Field(ge=0)] | None = None
    methods: list[str]
    precisions: list[str]
    left_out: dict[str, str]


def write_predictors(folder: Path, predictors: Predictors, metrics: Mapping[str, Any], card: str) -> None:
    """Write a folder of predictors.

    Everything is written beside the folder first and then moved into it, the list last, so that a failure leaves
    the predictors that were there before, or none. Other files in the folder stay.

    Raises:
        EdgewattError: The folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part") as name:
            beside = Path(name)
            for stored in predictors.by_purpose.values():
                write_predictor(beside / stored.file_name, stored)
            write_json(beside / METRICS, metrics)
            write_bytes(beside / CARD, card.encode())
            write_checked(beside / MANIFEST, _manifest(predictors))
            _move_in(beside, folder)
    except OSError as error:
        raise EdgewattError(f"cannot be written: {error.strerror or error}", where=folder) from error


def _manifest(predictors: Predictors) -> _Manifest:
    return _Manifest(
        schema_version=SCHEMA_VERSION,
        edgewatt_version=predictors.edgewatt_version,
        files=[stored.file_name for stored in predictors.by_purpose.values()],
        networks=list(predictors.networks),
        holdout=list(predictors.holdout),
        idle_power_w=predictors.idle_power_w,
        methods=list(predictors.methods),
        precisions=list(predictors.precisions),
        left_out=dict(predictors.left_out or {}),
    )


def _move_in(beside: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    # Without its list a folder holds no predictors: one that is left half-way is not taken for good.
    (folder / MANIFEST).unlink(missing_ok=True)
    written = sorted(path.name for path in beside.iterdir())
    for name in sorted(written, key=lambda name: name == MANIFEST):
        (beside / name).replace(folder / name)
    # Predictors of an earlier training that this one has none of.
    for kind in LayerKind:
        for target in Target:
            if file_name(kind, target) not in written:
                (folder / file_name(kind, target)).unlink(missing_ok=True)


def load_predictors(folder: Path) -> Predictors:
    """Read a folder of predictors.

    Raises:
        FormatError: It holds no predictors, or a file of it is missing, broken or of another schema version.
    """
    path = folder / MANIFEST
    if not path.exists():
        raise FormatError(f"the folder holds no {MANIFEST}", where=folder, fix="Name the folder that `train` wrote")
    check_schema_version(path)
    manifest = read_checked(path, _Manifest, "Train the predictors again")
    purposes = {file_name(kind, target): (kind, target) for kind in LayerKind for target in Target}
    unknown = [name for name in manifest.files if name not in purposes]
    if unknown:
        raise FormatError(f"it lists {unknown[0]!r}, which is no predictor", where=path, fix="Train again")
    return Predictors(
        by_purpose={purposes[name]: read_predictor(folder / name, *purposes[name]) for name in manifest.files},
        networks=tuple(manifest.networks),
        holdout=tuple(manifest.holdout),
        idle_power_w=manifest.idle_power_w,
        methods=tuple(manifest.methods),
        precisions=tuple(manifest.precisions),
        left_out=manifest.left_out,
        edgewatt_version=manifest.edgewatt_version,
    )
