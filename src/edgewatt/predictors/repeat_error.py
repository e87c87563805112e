"""How far repeated measurements of one layer differ: no predictor can be better than that.

A perfect predictor knows the mean of infinitely many measurements. What it is off by is estimated from how far each of
n measurements is from the mean of those n, times sqrt(n / (n - 1)), for that mean follows each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from edgewatt.formats.sweep import is_sweep
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.configurations import configurations
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array


@dataclass(frozen=True)
class RepeatError:
    """What repeated measurements differ by, as the errors that a perfect predictor would be said to have.

    Attributes:
        mape: Mean of the relative errors.
        median: Their median.
        layers: Layers that were measured several times.
        rows: Measurements of them.
    """

    mape: float
    median: float
    layers: int
    rows: int


def repeat_error(kind: LayerKind, table: pl.DataFrame, target: Target) -> RepeatError | None:
    """The repeat error of a kind and target; None where no layer was measured twice.

    Rows of sweeps alone count: in a network the same layer in two places is not the same measurement twice, and layers
    that `record --isolate` measured once for several places do not differ at all.

    Args:
        kind: The kind.
        table: A training table with the column `network`.
        target: Power or runtime.
    """
    return _together([_errors(kind, table, target)])


def repeat_errors(tables: Mapping[LayerKind, pl.DataFrame]) -> dict[str, RepeatError | None]:
    """The repeat error of each target over all kinds."""
    return {
        target.value: _together([_errors(kind, table, target) for kind, table in tables.items()]) for target in Target
    }


def _errors(kind: LayerKind, table: pl.DataFrame, target: Target) -> list[Array]:
    """Relative errors of each repeated layer's measurements."""
    of_sweeps = table.filter(pl.Series([is_sweep(name) for name in table["network"].to_list()], dtype=pl.Boolean))
    values = target_values(of_sweeps, target)
    known = np.isfinite(values) & (values > 0.0)
    numbers = configurations(kind, of_sweeps)
    sweeps = np.unique(of_sweeps["network"].to_numpy().astype(np.str_), return_inverse=True)[1]
    found = []
    for number, sweep in sorted(set(zip(numbers[known].tolist(), sweeps[known].tolist(), strict=True))):
        same = values[known & (numbers == number) & (sweeps == sweep)]
        if len(same) > 1:
            found.append(np.abs(same - same.mean()) / same * np.sqrt(len(same) / (len(same) - 1)))
    return found


def _together(parts: list[list[Array]]) -> RepeatError | None:
    errors = [one for part in parts for one in part]
    if not errors:
        return None
    joined = np.concatenate(errors)
    return RepeatError(float(joined.mean()), float(np.median(joined)), len(errors), len(joined))
