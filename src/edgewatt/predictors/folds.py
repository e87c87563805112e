"""How rows are divided for cross-validation: by network where there are enough networks, else by row.

A sweep is no network: each of its layers is by itself, and is left out with all measurements of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.formats.run_folders import network_of
from edgewatt.formats.sweep import is_sweep
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.configurations import configurations

#: The grouping of folds of single layers, each with all measurements of it.
CONFIGURATION = "configuration"

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
    from sklearn.model_selection import GroupKFold, KFold  # predicting needs numpy alone

    numbers = None if networks is None else np.unique(np.asarray(networks), return_inverse=True)[1]
    count = 0 if numbers is None else int(numbers.max(initial=-1)) + 1
    nothing = np.zeros(rows)
    if numbers is not None and count >= least:
        return "network", list(GroupKFold(min(folds, count)).split(nothing, groups=numbers))
    shuffled = KFold(min(folds, rows), shuffle=True, random_state=seed)
    return "row", list(shuffled.split(nothing))


@dataclass(frozen=True)
class Folds:
    """The fold of every row of a training set's tables.

    Attributes:
        numbers: One number a row of each kind's table.
        grouping: What each kind's folds are of: `network`, `family`, `row`, or `configuration` where nearly all
            layers are a sweep's.
    """

    numbers: Mapping[LayerKind, NDArray[np.int64]]
    grouping: Mapping[LayerKind, str]


def network_folds(
    tables: Mapping[LayerKind, pl.DataFrame],
    folds: int,
    *,
    groups: Mapping[str, str] | None = None,
    grouping: str = "network",
    seed: int = 0,
) -> Folds:
    """Folds of whole networks, the same for every kind.

    Args:
        tables: Tables with the column `network`.
        folds: At most so many.
        groups: What is left out together: the family of each run, say; None for each network alone, on all boards and
            in all states, and then single rows for a kind that fewer than five networks have.
        grouping: What the groups are.
        seed: Of the assignment of rows.
    """
    networks = {name for table in tables.values() for name in table["network"].to_list()}
    group_of = {name: network_of(name) if groups is None else groups[name] for name in networks}
    row_groups = {kind: _groups(kind, table, group_of) for kind, table in tables.items()}
    group_rows = Counter(group for own in row_groups.values() for group in own)
    # The largest first, each into the fold that has fewest rows.
    sizes = np.zeros(max(1, min(folds, len(group_rows))))
    fold_of = {}
    for group, rows in sorted(group_rows.items(), key=lambda item: (-item[1], item[0])):
        fold_of[group] = int(sizes.argmin())
        sizes[fold_of[group]] += rows
    numbers, grouping_of = {}, {}
    least = NETWORKS_FOR_GROUPING if groups is None else 2
    for kind, table in tables.items():
        own = row_groups[kind]
        if len(set(own)) >= least:
            numbers[kind] = np.array([fold_of[group] for group in own], dtype=np.int64)
            plain = {group_of[name] for name in set(table["network"].to_list()) if not is_sweep(name)}
            grouping_of[kind] = grouping if len(plain) >= least or len(plain) == len(set(own)) else CONFIGURATION
        else:
            numbers[kind], grouping_of[kind] = _row_numbers(table.height, folds, seed), "row"
    return Folds(numbers, grouping_of)


def row_folds(tables: Mapping[LayerKind, pl.DataFrame], folds: int, seed: int = 0) -> Folds:
    """Folds of single rows, which flatter: a network's layers resemble each other.

    Repeated measurements of a sweep's layer stay together.
    """
    numbers = {}
    for kind, table in tables.items():
        names = _groups(kind, table, None)
        first = np.unique(np.array(names), return_index=True, return_inverse=True) if names else None
        if first is None:
            numbers[kind] = _row_numbers(0, folds, seed)
        else:
            # Rows that are alone keep the number that their place gives them.
            order = np.argsort(np.argsort(first[1]))
            numbers[kind] = _row_numbers(len(first[1]), folds, seed)[order[first[2]]]
    return Folds(numbers, dict.fromkeys(tables, "row"))


def _groups(kind: LayerKind, table: pl.DataFrame, group_of: Mapping[str, str] | None) -> list[str]:
    """What each row is left out with.

    Args:
        kind: The table's kind.
        table: The table.
        group_of: The group of each network; None for each row alone.
    """
    names = table["network"].to_list()
    swept = [is_sweep(name) for name in names]
    numbers = configurations(kind, table).tolist() if any(swept) else [0] * len(names)
    groups = []
    for row, (name, is_swept, number) in enumerate(zip(names, swept, numbers, strict=True)):
        if is_swept:
            # Rows of features in order are alike; the digest mixes them.
            groups.append(f"sweep {blake2b(f'{kind} {number}'.encode(), digest_size=8).hexdigest()}")
        else:
            groups.append(f"row {row}" if group_of is None else group_of[name])
    return groups


def _row_numbers(rows: int, folds: int, seed: int) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = np.random.default_rng(seed).permutation(rows) % min(folds, max(rows, 1))
    return numbers
