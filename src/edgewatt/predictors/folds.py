"""How rows are divided for cross-validation: by network where there are enough networks, else by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

Split = tuple[NDArray[np.int64], NDArray[np.int64]]

#: From this many networks on a score is that of networks that were not seen.
NETWORKS_FOR_GROUPING = 5

#: From this many on a penalty or degree is chosen so; an outer fold has some networks fewer.
_NETWORKS_FOR_INNER_GROUPING = 3


def inner_splits(rows: int, networks: Sequence[str] | NDArray[Any] | None, folds: int, seed: int) -> list[Split]:
    """Training and validation rows of each fold for choosing settings, within the rows trained on."""
    return _splits(rows, networks, folds, seed, _NETWORKS_FOR_INNER_GROUPING)[1]


def outer_splits(networks: Sequence[str] | NDArray[Any], folds: int, seed: int = 0) -> tuple[str, list[Split]]:
    """Training and test rows of each fold for a score, and what they are divided by.

    Args:
        networks: The network of each row.
        folds: At most so many folds; fewer where there are fewer networks or rows.
        seed: Of the assignment of rows to folds; networks are assigned by their number of rows alone.

    Returns:
        `network` or `row`, and the folds.
    """
    return _splits(len(networks), networks, folds, seed, NETWORKS_FOR_GROUPING)


def _splits(
    rows: int, networks: Sequence[str] | NDArray[Any] | None, folds: int, seed: int, least: int
) -> tuple[str, list[Split]]:
    numbers = None if networks is None else np.unique(np.asarray(networks), return_inverse=True)[1]
    count = 0 if numbers is None else int(numbers.max(initial=-1)) + 1
    nothing = np.zeros(rows)
    if numbers is not None and count >= least:
        return "network", list(GroupKFold(min(folds, count)).split(nothing, groups=numbers))
    shuffled = KFold(min(folds, rows), shuffle=True, random_state=seed)
    return "row", list(shuffled.split(nothing))
