"""What repeated measurements differ by, in words."""

from __future__ import annotations

from collections.abc import Mapping

from edgewatt.predictors.repeat_error import RepeatError
from edgewatt.reports.tables import percent
from edgewatt.wording import counted

UNKNOWN = "Repeat error: unknown, for no layer was measured several times; `edgewatt sweep` does so"


def repeat_line(repeats: Mapping[str, RepeatError | None]) -> str:
    """The repeat error of each target, a line.

    Args:
        repeats: As `edgewatt.predictors.repeat_error.repeat_errors` gives it.
    """
    known = {target: error for target, error in repeats.items() if error is not None}
    if not known:
        return UNKNOWN
    parts = [
        f"{target} {percent(error.mape, 2)} (median {percent(error.median, 2)}, {counted(error.layers, 'layer')})"
        for target, error in known.items()
    ]
    return f"Repeat error, as MAPE: {', '.join(parts)}; no predictor can be better than this"
