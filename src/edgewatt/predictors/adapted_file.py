"""An adapted function as the fields of a predictor's file: the source's own fields, and the correction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import FiniteFloat

from edgewatt.errors import FormatError
from edgewatt.formats.checked import FileModel
from edgewatt.predictors.correction import FEATURES, Correction


class CorrectionFields(FileModel):
    """A correction as it is stored."""

    constant: FiniteFloat
    slopes: dict[str, FiniteFloat]
    lower: FiniteFloat
    upper: FiniteFloat


class AdaptedFields(FileModel):
    """What a file holds of an adapted function: `source` are the fields of the function named by `source_function`."""

    source_function: str
    source: dict[str, Any]
    correction: CorrectionFields


def correction_fields(correction: Correction) -> CorrectionFields:
    """The fields of a correction."""
    return CorrectionFields(
        constant=correction.constant, slopes=dict(correction.slopes), lower=correction.lower, upper=correction.upper
    )


def correction_of(fields: CorrectionFields, path: Path, fix: str) -> Correction:
    """The correction of a file's fields.

    Raises:
        FormatError: It has a slope for what is no feature, or its limits contradict each other.
    """
    unknown = [name for name in fields.slopes if name not in FEATURES]
    if unknown:
        raise FormatError(f"there is no feature {unknown[0]!r}", where=path, fix=fix)
    if fields.lower > fields.upper:
        raise FormatError("the correction's least factor is above its greatest", where=path, fix=fix)
    return Correction(fields.constant, fields.slopes, fields.lower, fields.upper)
