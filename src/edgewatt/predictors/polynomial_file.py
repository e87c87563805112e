"""A polynomial as the fields of a predictor's file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt

from edgewatt.errors import FormatError
from edgewatt.formats.checked import FileModel
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.polynomial import Polynomial
from edgewatt.predictors.terms import POLYNOMIAL_FEATURES, SPECIAL_FEATURES

#: Far above any degree that can be fitted; a greater exponent is a broken file.
_GREATEST_EXPONENT = 9


class _Term(FileModel):
    """One term: the product of powers of features, minus centre, by scale, times coefficient."""

    powers: dict[str, NonNegativeInt]
    centre: FiniteFloat
    scale: FiniteFloat
    coefficient: FiniteFloat


class PolynomialFields(FileModel):
    """What a file holds of a polynomial."""

    features: list[str]
    log_features: bool
    log_target: bool
    lower: FiniteFloat | None = None
    upper: FiniteFloat | None = None
    intercept: FiniteFloat
    terms: list[_Term]


def polynomial_fields(function: Polynomial) -> PolynomialFields:
    """The fields of a polynomial."""
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
    return PolynomialFields(
        features=list(function.features),
        log_features=function.log_features,
        log_target=function.log_target,
        lower=function.lower,
        upper=function.upper,
        intercept=function.intercept,
        terms=terms,
    )


def polynomial_of(content: PolynomialFields, kind: LayerKind, path: Path, fix: str) -> Polynomial:
    """The polynomial of a file's fields.

    Raises:
        FormatError: The fields contradict each other.
    """
    problem = _problem(content, kind)
    if problem is not None:
        raise FormatError(problem, where=path, fix=fix)
    index = {name: position for position, name in enumerate(content.features)}
    exponents = np.zeros((len(content.terms), len(index)), dtype=np.int64)
    for row, term in enumerate(content.terms):
        for name, exponent in term.powers.items():
            exponents[row, index[name]] = exponent
    return Polynomial(
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


def _problem(content: PolynomialFields, kind: LayerKind) -> str | None:
    known = {*POLYNOMIAL_FEATURES[kind], *SPECIAL_FEATURES[kind]}
    unknown = [name for name in content.features if name not in known]
    if unknown or len(set(content.features)) != len(content.features):
        return f"the features {', '.join(content.features)} are not those of {kind} layers"
    if any(name not in content.features for term in content.terms for name in term.powers):
        return "a term has a feature that the list of features lacks"
    if any(power > _GREATEST_EXPONENT for term in content.terms for power in term.powers.values()):
        return f"an exponent is above {_GREATEST_EXPONENT}"
    if any(term.scale == 0.0 for term in content.terms):
        return "a term's scale is 0"
    if content.lower is not None and content.upper is not None and content.lower > content.upper:
        return "the lower limit is above the upper"
    return None
