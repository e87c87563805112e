"""Predictors as files: one JSON file for each kind of layer and target, numbers only.

Reading one needs numpy alone, runs no code, and gives back the very function that was written: JSON holds the
shortest decimal form of each number, which reads as the same number. A file says which function it holds; one that
does not say holds a polynomial. Large files are compressed.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import FiniteFloat, PositiveFloat

from edgewatt import __version__
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.atomic import write_bytes
from edgewatt.formats.checked import FileModel, check_value
from edgewatt.formats.json_file import read_bytes, read_json
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.adapted_file import AdaptedFields, correction_fields, correction_of
from edgewatt.predictors.adapted_function import AdaptedFunction
from edgewatt.predictors.estimate import Function
from edgewatt.predictors.physics_file import PhysicsFields, physics_fields, physics_of
from edgewatt.predictors.physics_function import PhysicsFunction
from edgewatt.predictors.polynomial import Polynomial
from edgewatt.predictors.polynomial_file import PolynomialFields, polynomial_fields, polynomial_of
from edgewatt.predictors.targets import Target

#: Raised when a file of an older version would be read wrongly.
SCHEMA_VERSION = 1

#: Files above this size are compressed.
_LARGEST_PLAIN_BYTES = 2_000_000

#: Behind the name of a compressed file.
COMPRESSED = ".gz"

#: Stands in a file, and in its name, in the place of the kind of a predictor for all kinds.
_ALL_KINDS = "all"
_FALLBACK = "fallback"

_TRAIN_AGAIN = "Train the predictors again"


@dataclass(frozen=True, eq=False)
class StoredPredictor:
    """A trained predictor, and what it was trained on.

    Attributes:
        function: What predicts.
        name: The predictor's name, `neuralpower` for instance.
        target: What it predicts.
        settings: The predictor's settings, the scaler among them.
        rows: Number of layers that it was trained on.
        networks: Names of the networks that it was trained on.
        feature_ranges: Least and greatest value of each feature in training.
        target_range: Least and greatest target in training, in the target's unit.
        interval: 90 % of layers that were not trained on lie within the value times or divided by
            exp(interval x spread); None where too few were there to tell.
        edgewatt_version: The version that trained it.
    """

    function: Function
    name: str
    target: Target
    settings: Mapping[str, Any]
    rows: int
    networks: tuple[str, ...]
    feature_ranges: Mapping[str, tuple[float, float]]
    target_range: tuple[float, float]
    interval: float | None = None
    edgewatt_version: str = __version__

    @property
    def kind(self) -> LayerKind | None:
        """The kind of layer that it is for; None for all."""
        return self.function.kind

    @property
    def file_name(self) -> str:
        """The file that it is stored in, without what is behind the name of a compressed one."""
        return file_name(self.kind, self.target)


class _Header(FileModel):
    """What every predictor's file holds."""

    schema_version: int
    edgewatt_version: str
    predictor: str
    function: str = "polynomial"
    kind: str
    target: str
    unit: str
    settings: dict[str, Any]
    rows: int
    networks: list[str]
    feature_ranges: dict[str, list[FiniteFloat]]
    target_range: list[FiniteFloat]
    interval: PositiveFloat | None = None


def file_name(kind: LayerKind | None, target: Target) -> str:
    """The name of the file of one kind and target: `convolutional_power.json`; of all kinds: `fallback_power.json`."""
    return f"{_FALLBACK if kind is None else kind}_{target}.json"


def check_schema_version(path: Path) -> None:
    """Check that a JSON file is of this version's schema.

    Raises:
        FormatError: It is not JSON, has no schema version or another one.
    """
    _check_version(read_json(path), path)


def write_predictor(path: Path, stored: StoredPredictor) -> Path:
    """Write a predictor, whole or not at all.

    Args:
        path: The file to write.
        stored: The predictor.

    Returns:
        The file that was written: `path`, with `.gz` behind its name where it is large.
    """
    header = _Header(
        schema_version=SCHEMA_VERSION,
        edgewatt_version=stored.edgewatt_version,
        predictor=stored.name,
        function=_function_name(stored.function),
        kind=_ALL_KINDS if stored.kind is None else stored.kind.value,
        target=stored.target.value,
        unit=stored.target.unit,
        settings=dict(stored.settings),
        rows=stored.rows,
        networks=list(stored.networks),
        feature_ranges={name: list(ends) for name, ends in stored.feature_ranges.items()},
        target_range=list(stored.target_range),
        interval=stored.interval,
    )
    fields = header.model_dump(mode="json", exclude_none=True)
    fields |= _function_fields(stored.function).model_dump(mode="json", exclude_none=True)
    # An array of a hundred thousand numbers is not for reading, so it is not indented.
    indent = orjson.OPT_INDENT_2 if isinstance(stored.function, Polynomial) else 0
    content = orjson.dumps(fields, option=indent | orjson.OPT_APPEND_NEWLINE)
    if len(content) > _LARGEST_PLAIN_BYTES:
        path = path.with_name(path.name + COMPRESSED)
        # Without a time in it, the same predictor is the same bytes.
        content = gzip.compress(content, compresslevel=6, mtime=0)
    write_bytes(path, content)
    return path


def read_predictor(path: Path, kind: LayerKind | None, target: Target) -> StoredPredictor:
    """Read a predictor.

    Args:
        path: The file.
        kind: The kind of layer that it must be for; None for all.
        target: What it must predict.

    Raises:
        FormatError: The file is missing, truncated, of another schema version, kind or target, or does not hold what
            it must.
    """
    value = _read(path)
    _check_version(value, path)
    header = check_value(value, _Header, path, _TRAIN_AGAIN)
    _check_purpose(header, kind, target, path)
    if any(len(ends) != 2 for ends in (header.target_range, *header.feature_ranges.values())):
        raise FormatError("a range has not two ends", where=path, fix=_TRAIN_AGAIN)
    return StoredPredictor(
        function=_read_function(value, header.function, kind, target, path),
        name=header.predictor,
        target=target,
        settings=header.settings,
        rows=header.rows,
        networks=tuple(header.networks),
        feature_ranges={name: (ends[0], ends[1]) for name, ends in header.feature_ranges.items()},
        target_range=(header.target_range[0], header.target_range[1]),
        interval=header.interval,
        edgewatt_version=header.edgewatt_version,
    )


def _function_name(function: Function) -> str:
    if isinstance(function, AdaptedFunction):
        return "adapted"
    return "polynomial" if isinstance(function, Polynomial) else "physics"


def _function_fields(function: Function) -> FileModel:
    if isinstance(function, Polynomial):
        return polynomial_fields(function)
    if isinstance(function, PhysicsFunction):
        return physics_fields(function)
    if isinstance(function, AdaptedFunction):
        source = _function_fields(function.base).model_dump(mode="json", exclude_none=True)
        return AdaptedFields(
            source_function=_function_name(function.base),
            source=source,
            correction=correction_fields(function.correction),
        )
    raise EdgewattError(f"a {type(function).__name__} cannot be stored")


def _read_function(value: Any, name: str, kind: LayerKind | None, target: Target, path: Path) -> Function:
    if name == "physics":
        return physics_of(check_value(value, PhysicsFields, path, _TRAIN_AGAIN), kind, target, path, _TRAIN_AGAIN)
    if name == "polynomial" and kind is not None:
        return polynomial_of(check_value(value, PolynomialFields, path, _TRAIN_AGAIN), kind, path, _TRAIN_AGAIN)
    if name == "adapted":
        fields = check_value(value, AdaptedFields, path, _TRAIN_AGAIN)
        base = _read_function(fields.source, fields.source_function, kind, target, path)
        if isinstance(base, PhysicsFunction | Polynomial):
            return AdaptedFunction(base, correction_of(fields.correction, path, _TRAIN_AGAIN))
    raise FormatError(f"it holds the function {name!r}, which is not known", where=path, fix=_TRAIN_AGAIN)


def _read(path: Path) -> Any:
    if path.suffix != COMPRESSED:
        return read_json(path)
    try:
        return orjson.loads(gzip.decompress(read_bytes(path)))
    except (OSError, EOFError, zlib.error, orjson.JSONDecodeError) as error:
        raise FormatError(f"not compressed JSON: {error}", where=path, fix=_TRAIN_AGAIN) from error


def _check_version(content: Any, path: Path) -> None:
    version = content.get("schema_version") if isinstance(content, dict) else None
    if type(version) is not int or version != SCHEMA_VERSION:
        raise FormatError(
            f"the file's schema version is {version!r}, not {SCHEMA_VERSION}", where=path, fix=_TRAIN_AGAIN
        )


def _check_purpose(content: _Header, kind: LayerKind | None, target: Target, path: Path) -> None:
    wanted_kind = _ALL_KINDS if kind is None else kind.value
    if (content.kind, content.target, content.unit) != (wanted_kind, target.value, target.unit):
        raise FormatError(
            f"it predicts the {content.target} of {content.kind} layers in {content.unit}, "
            f"not the {target} of {wanted_kind} layers in {target.unit}",
            where=path,
            fix=_TRAIN_AGAIN,
        )
