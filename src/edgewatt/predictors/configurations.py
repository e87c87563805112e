"""Which rows of a training table are of the same layer, as far as features tell."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.formats.training_tables import BASE_FEATURES, EXTRA_FEATURES
from edgewatt.networks.layer import LayerKind


def configurations(kind: LayerKind, table: pl.DataFrame) -> NDArray[np.int64]:
    """A number for each row, the same where all features are; shape (rows,).

    Args:
        kind: The table's kind.
        table: A training table.
    """
    names = [name for name in (*BASE_FEATURES[kind], *EXTRA_FEATURES[kind]) if name in table.columns]
    if table.height == 0:
        return np.zeros(0, dtype=np.int64)
    numbered = table.select(pl.struct(names).rank("dense").alias("number"))
    numbers: NDArray[np.int64] = numbered["number"].to_numpy().astype(np.int64)
    return numbers
