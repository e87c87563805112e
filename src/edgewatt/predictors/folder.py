"""The folder that `train` writes and `predict` reads: predictors, and `predictors.json`, which lists them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, FiniteFloat, PositiveFloat

from edgewatt import __version__
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.atomic import write_bytes
from edgewatt.formats.checked import FileModel, read_checked, write_checked
from edgewatt.formats.json_file import write_json
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.board_features import BoardRates
from edgewatt.predictors.network_calibration import CalibrationFields, NetworkCalibration
from edgewatt.predictors.storage import (
    COMPRESSED,
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
        fallback: Predictors of all kinds together, for kinds that have none of their own.
        energy_intervals: Of the energies of layers of each kind, as `StoredPredictor.interval`.
        calibration: How networks follow from their layers; None where no measured network is known.
        runs: What is known of the recordings: each key's values, such as boards and precisions.
        edgewatt_version: The version that trained them.
        boards: The boards whose figures are features; none where predictors hold for what was recorded alone.
        new_board_intervals: Factors of intervals on other boards than these, by kind and target.
    """

    by_purpose: Mapping[tuple[LayerKind, Target], StoredPredictor]
    networks: tuple[str, ...]
    holdout: tuple[str, ...] = ()
    idle_power_w: float | None = None
    methods: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    left_out: Mapping[str, str] | None = None
    fallback: Mapping[Target, StoredPredictor] = field(default_factory=dict)
    energy_intervals: Mapping[LayerKind, float] = field(default_factory=dict)
    calibration: NetworkCalibration | None = None
    runs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    edgewatt_version: str = __version__
    boards: tuple[BoardRates, ...] = ()
    new_board_intervals: Mapping[str, float] = field(default_factory=dict)

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
    energy_intervals: dict[str, PositiveFloat] = Field(default_factory=dict)
    calibration: CalibrationFields | None = None
    runs: dict[str, list[str]] = Field(default_factory=dict)
    boards: list[BoardRates] = Field(default_factory=list)
    new_board_intervals: dict[str, PositiveFloat] = Field(default_factory=dict)


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
            written = [
                write_predictor(beside / stored.file_name, stored).name
                for stored in (*predictors.by_purpose.values(), *predictors.fallback.values())
            ]
            write_json(beside / METRICS, metrics)
            write_bytes(beside / CARD, card.encode())
            write_checked(beside / MANIFEST, _manifest(predictors, written))
            _move_in(beside, folder)
    except OSError as error:
        raise EdgewattError.of_system(error, "cannot be written", folder) from error


def _manifest(predictors: Predictors, files: list[str]) -> _Manifest:
    return _Manifest(
        schema_version=SCHEMA_VERSION,
        edgewatt_version=predictors.edgewatt_version,
        files=files,
        networks=list(predictors.networks),
        holdout=list(predictors.holdout),
        idle_power_w=predictors.idle_power_w,
        methods=list(predictors.methods),
        precisions=list(predictors.precisions),
        left_out=dict(predictors.left_out or {}),
        energy_intervals={kind.value: factor for kind, factor in predictors.energy_intervals.items()},
        calibration=None if predictors.calibration is None else predictors.calibration.fields(),
        runs={key: list(values) for key, values in predictors.runs.items()},
        boards=list(predictors.boards),
        new_board_intervals=dict(predictors.new_board_intervals),
    )


def _move_in(beside: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    # Without its list a folder holds no predictors: one that is left half-way is not taken for good.
    (folder / MANIFEST).unlink(missing_ok=True)
    written = sorted(path.name for path in beside.iterdir())
    for name in sorted(written, key=lambda name: name == MANIFEST):
        (beside / name).replace(folder / name)
    # Predictors of an earlier training that this one has none of.
    for name in _purposes():
        if name not in written:
            (folder / name).unlink(missing_ok=True)


def _purposes() -> dict[str, tuple[LayerKind | None, Target]]:
    """What each file that may be in the folder is for."""
    plain = {file_name(kind, target): (kind, target) for kind in (*LayerKind, None) for target in Target}
    return {**plain, **{name + COMPRESSED: purpose for name, purpose in plain.items()}}


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
    purposes = _purposes()
    unknown = [name for name in manifest.files if name not in purposes]
    if unknown:
        raise FormatError(f"it lists {unknown[0]!r}, which is no predictor", where=path, fix="Train again")
    by_purpose: dict[tuple[LayerKind, Target], StoredPredictor] = {}
    fallback: dict[Target, StoredPredictor] = {}
    for name in manifest.files:
        kind, target = purposes[name]
        stored = read_predictor(folder / name, kind, target)
        if kind is None:
            fallback[target] = stored
        else:
            by_purpose[kind, target] = stored
    return Predictors(
        by_purpose=by_purpose,
        networks=tuple(manifest.networks),
        holdout=tuple(manifest.holdout),
        idle_power_w=manifest.idle_power_w,
        methods=tuple(manifest.methods),
        precisions=tuple(manifest.precisions),
        left_out=manifest.left_out,
        fallback=fallback,
        energy_intervals={
            kind: manifest.energy_intervals[kind.value] for kind in LayerKind if kind.value in manifest.energy_intervals
        },
        calibration=None if manifest.calibration is None else NetworkCalibration.of(manifest.calibration),
        runs={key: tuple(values) for key, values in manifest.runs.items()},
        edgewatt_version=manifest.edgewatt_version,
        boards=tuple(manifest.boards),
        new_board_intervals=manifest.new_board_intervals,
    )
