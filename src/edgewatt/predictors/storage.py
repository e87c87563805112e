"""Predictors as files: one JSON file for each kind of layer and target, numbers only.

Reading one needs numpy alone, runs no code, and gives back the very polynomial that was written: JSON holds the
shortest decimal form of each number, which reads as the same number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt

from edgewatt import __version__
from edgewatt.errors import FormatError
from edgewatt.formats.checked import FileModel, read_checked, write_checked
from edgewatt.formats.json_file import read_json
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.polynomial import Polynomial
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import POLYNOMIAL_FEATURES, SPECIAL_FEATURES

#: Raised when a file of an older version would be read wrongly.
SCHEMA_VERSION = 1

#: Far above any degree that can be fitted; a greater exponent is a broken file.
_GREATEST_EXPONENT = 9

_TRAIN_AGAIN = "Train the predictors again"


@dataclass(frozen=True, eq=False)
class StoredPredictor:
    """A trained predictor, and what it was trained on.

    Attributes:
        polynomial: What predicts.
        name: The predictor's name, `neuralpower` for instance.
        target: What it predicts.
        settings: The predictor's settings, the scaler among them.
        rows: Number of layers that it was trained on.
        networks: Names of the networks that it was trained on.
        feature_ranges: Least and greatest value of each feature in training.
        target_range: Least and greatest target in training, in the target's unit.
        edgewatt_version: The version that trained it.
    """

    polynomial: Polynomial
    name: str
    target: Target
    settings: Mapping[str, Any]
    rows: int
    networks: tuple[str, ...]
    feature_ranges: Mapping[str, tuple[float, float]]
    target_range: tuple[float, float]
    edgewatt_version: str = __version__

    @property
    def kind(self) -> LayerKind:
        """The kind of layer that it is for."""
        return self.polynomial.kind

    @property
    def file_name(self) -> str:
        """The file that it is stored in."""
        return file_name(self.kind, self.target)


class _Term(FileModel):
    """One term: the product of powers of features, minus centre, by scale, times coefficient."""

    powers: dict[str, NonNegativeInt]
    centre: FiniteFloat
    scale: FiniteFloat
    coefficient: FiniteFloat


class _PredictorFile(FileModel):
    """A predictor's file."""

    schema_version: int
    edgewatt_version: str
    predictor: str
    kind: str
    target: str
    unit: str
    settings: dict[str, Any]
    rows: int
    networks: list[str]
    feature_ranges: dict[str, list[FiniteFloat]]
    target_range: list[FiniteFloat]
    features: list[str]
    log_features: bool
    log_target: bool
    lower: FiniteFloat | None = None
    upper: FiniteFloat | None = None
    intercept: FiniteFloat
    terms: list[_Term]


def file_name(kind: LayerKind, target: Target) -> str:
    """The name of the file of one kind and target: `convolutional_power.json`."""
    return f"{kind}_{target}.json"


def check_schema_version(path: Path) -> None:
    """Check that a JSON file is of this version's schema.

    Raises:
        FormatError: It is not JSON, has no schema version or another one.
    """
    content = read_json(path)
    version = content.get("schema_version") if isinstance(content, dict) else None
    if type(version) is not int or version != SCHEMA_VERSION:
        raise FormatError(
            f"the file's schema version is {version!r}, not {SCHEMA_VERSION}", where=path, fix=_TRAIN_AGAIN
        )


def write_predictor(path: Path, stored: StoredPredictor) -> None:
    """Write a predictor, whole or not at all."""
    function = stored.polynomial
    terms = [
        _Term(
            powers={name: int(e) for name, e in zip(function.features, exponents, strict=True) if e > 0},
            centre=float(centre),
            scale=float(scale),
            coefficient=float(coefficient),
        )
        for exponents, centre, scale, coefficient in zip(
            function.exponents, function.centre, function.scale, function.coefficients, strict=True
        )
    ]
    content = _PredictorFile(
        schema_version=SCHEMA_VERSION,
        edgewatt_version=stored.edgewatt_version,
        predictor=stored.name,
        kind=stored.kind.value,
        target=stored.target.value,
        unit=stored.target.unit,
        settings=dict(stored.settings),
        rows=stored.rows,
        networks=list(stored.networks),
        feature_ranges={name: list(ends) for name, ends in stored.feature_ranges.items()},
        target_range=list(stored.target_range),
        features=list(function.features),
        log_features=function.log_features,
        log_target=function.log_target,
        lower=function.lower,
        upper=function.upper,
        intercept=function.intercept,
        terms=terms,
    )
    write_checked(path, content)


def read_predictor(path: Path, kind: LayerKind, target: Target) -> StoredPredictor:
    """Read a predictor.

    Args:
        path: The file.
        kind: The kind of layer that it must be for.
        target: What it must predict.

    Raises:
        FormatError: The file is missing, truncated, of another schema version, kind or target, or does not hold what
            it must.
    """
    check_schema_version(path)
    content = read_checked(path, _PredictorFile, _TRAIN_AGAIN)
    _check_purpose(content, kind, target, path)
    _check_function(content, kind, path)
    index = {name: position for position, name in enumerate(content.features)}
    exponents = np.zeros((len(content.terms), len(index)), dtype=np.int64)
    for row, term in enumerate(content.terms):
        for name, exponent in term.powers.items():
            exponents[row, index[name]] = exponent
    polynomial = Polynomial(
        kind=kind,
        features=tuple(content.features),
        exponents=exponents,
        centre=np.array([term.centre for term in content.terms], dtype=np.float64),
        scale=np.array([term.scale for term in content.terms], dtype=np.float64),
        coefficients=np.array([term.coefficient for term in content.terms], dtype=np.float64),
        intercept=float(content.intercept),
        log_features=content.log_features,
        log_target=content.log_target,
        lower=content.lower,
        upper=content.upper,
    )
    return StoredPredictor(
        polynomial=polynomial,
        name=content.predictor,
        target=target,
        settings=content.settings,
        rows=content.rows,
        networks=tuple(content.networks),
        feature_ranges={name: (ends[0], ends[1]) for name, ends in content.feature_ranges.items()},
        target_range=(content.target_range[0], content.target_range[1]),
        edgewatt_version=content.edgewatt_version,
    )


def _check_purpose(content: _PredictorFile, kind: LayerKind, target: Target, path: Path) -> None:
    wanted = (kind.value, target.value, target.unit)
    if (content.kind, content.target, content.unit) != wanted:
        raise FormatError(
            f"it predicts the {content.target} of {content.kind} layers in {content.unit}, "
            f"not the {target} of {kind} layers in {target.unit}",
            where=path,
            fix=_TRAIN_AGAIN,
        )


def _check_function(content: _PredictorFile, kind: LayerKind, path: Path) -> None:
    known = {*POLYNOMIAL_FEATURES[kind], *SPECIAL_FEATURES[kind]}
    unknown = [name for name in content.features if name not in known]
    problem = None
    if unknown or len(set(content.features)) != len(content.features):
        problem = f"the features {', '.join(content.features)} are not those of {kind} layers"
    elif any(name not in content.features for term in content.terms for name in term.powers):
        problem = "a term has a feature that the list of features lacks"
    elif any(power > _GREATEST_EXPONENT for term in content.terms for power in term.powers.values()):
        problem = f"an exponent is above {_GREATEST_EXPONENT}"
    elif any(term.scale == 0.0 for term in content.terms):
        problem = "a term's scale is 0"
    elif any(len(ends) != 2 for ends in (content.target_range, *content.feature_ranges.values())):
        problem = "a range has not two ends"
    elif content.lower is not None and content.upper is not None and content.lower > content.upper:
        problem = "the lower limit is above the upper"
    if problem is not None:
        raise FormatError(problem, where=path, fix=_TRAIN_AGAIN)
