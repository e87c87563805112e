"""How well settings predict networks that they were not fitted to: one fold of the training networks at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.formats.run_folders import network_of
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import measured_rows
from edgewatt.predictors.folder import PREDICTED_KINDS
from edgewatt.predictors.folds import Folds, network_folds
from edgewatt.predictors.neuralpower import MINIMUM_ROWS
from edgewatt.predictors.registry import DEFAULT_PREDICTOR, Settings, fit_predictor, new_predictor
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array
from edgewatt.predictors.training_data import NETWORK, TrainingData

#: Folds of the search, at most: each trial is as many fits of every kind.
FOLDS = 5

#: Targets below this part of their kind's median count as if they were there, as they do in the fits.
_FLOOR = 0.02


@dataclass(frozen=True)
class Errors:
    """Errors of the layers of one network.

    Attributes:
        log: Sum of |log(predicted / measured)|.
        relative: Sum of |predicted / measured - 1|.
        layers: Number of layers.
    """

    log: float
    relative: float
    layers: int

    def __add__(self, other: Errors) -> Errors:
        return Errors(self.log + other.log, self.relative + other.relative, self.layers + other.layers)


#: Errors of each network.
NetworkErrors = dict[str, Errors]


@dataclass(frozen=True, eq=False)
class Search:
    """What a search is of.

    Attributes:
        predictor: The predictor's name.
        tables: Tables of the networks that are trained on; no others are in it.
        folds: Whole networks that are left out together.
    """

    predictor: str
    tables: Mapping[LayerKind, pl.DataFrame]
    folds: Folds

    @property
    def numbers(self) -> list[int]:
        """The folds' numbers."""
        return sorted({int(number) for numbers in self.folds.numbers.values() for number in numbers})


@dataclass(frozen=True)
class FoldTask:
    """Settings to be fitted without a fold, and scored on it.

    Attributes:
        target: What is predicted.
        settings: The settings.
        fold: The fold's number.
    """

    target: Target
    settings: Settings
    fold: int


def new_search(data: TrainingData, predictor: str) -> Search:
    """Divide training networks into folds.

    Args:
        data: Networks to train on.
        predictor: The predictor's name.
    """
    kinds = tuple(LayerKind) if predictor == DEFAULT_PREDICTOR else PREDICTED_KINDS
    tables = {kind: data.tables[kind] for kind in kinds if kind in data.tables}
    # A group for each network keeps rows of one out of two folds, also in a kind that few networks have.
    groups = {name: network_of(name) for name in data.networks}
    return Search(predictor, tables, network_folds(tables, FOLDS, groups=groups))


def fold_errors(search: Search, task: FoldTask) -> NetworkErrors:
    """Fit settings to all folds but one, and score them on that.

    Args:
        search: The networks and their folds.
        task: Settings and the fold.
    """
    masks = {kind: search.folds.numbers[kind] == task.fold for kind in search.tables}
    training = {kind: table.filter(pl.Series(~masks[kind])) for kind, table in search.tables.items()}
    test = {kind: table.filter(pl.Series(masks[kind])) for kind, table in search.tables.items()}
    return errors(search.predictor, task.target, task.settings, training, test, _floors(search.tables, task.target))


def held_out_errors(search: Search, test: TrainingData, target: Target, settings: Settings) -> NetworkErrors:
    """Fit settings to all networks of a search, and score them on networks that are not in it.

    Args:
        search: The networks to fit to.
        test: The others.
        target: What is predicted.
        settings: The settings.
    """
    return errors(search.predictor, target, settings, search.tables, test.tables, _floors(search.tables, target))


def errors(
    predictor: str,
    target: Target,
    settings: Settings,
    training: Mapping[LayerKind, pl.DataFrame],
    test: Mapping[LayerKind, pl.DataFrame],
    floors: Mapping[LayerKind, float],
) -> NetworkErrors:
    """Errors of each network's layers; a kind with too few rows to be trained on is left out.

    Args:
        predictor: The predictor's name.
        target: What is predicted.
        settings: Its settings for this target.
        training: Tables to fit to.
        test: Tables to score on.
        floors: Of each kind, in the target's unit: what is less counts as if it were there.
    """
    found: NetworkErrors = {}
    for kind, table in training.items():
        rows, y = measured_rows(table, target)
        test_rows, true = measured_rows(test[kind], target) if kind in test else (np.zeros(0, dtype=np.int64), y[:0])
        if len(y) < MINIMUM_ROWS or len(true) == 0:
            continue
        one = new_predictor(predictor, kind, target, settings)
        networks = table[NETWORK].to_numpy().astype(np.str_)
        fit_predictor(one, table[rows], y, networks[rows], training)
        predicted = one.function_.predict(test[kind][test_rows])
        # Runs of one network resemble each other too much to count as several.
        names = np.array([network_of(name) for name in test[kind][NETWORK][test_rows].to_list()], dtype=np.str_)
        for name, part in _by_network(names, true, predicted, floors[kind]).items():
            found[name] = found[name] + part if name in found else part
    return found


def _by_network(names: NDArray[np.str_], true: Array, predicted: Array, floor: float) -> NetworkErrors:
    true, predicted = np.maximum(true, floor), np.maximum(predicted, floor)
    log, relative = np.abs(np.log(predicted / true)), np.abs(predicted / true - 1.0)
    masks = {str(name): names == name for name in np.unique(names)}
    return {
        name: Errors(float(log[mask].sum()), float(relative[mask].sum()), int(mask.sum()))
        for name, mask in masks.items()
    }


def _floors(tables: Mapping[LayerKind, pl.DataFrame], target: Target) -> dict[LayerKind, float]:
    floors = {}
    for kind, table in tables.items():
        y = target_values(table, target)
        y = np.abs(y[np.isfinite(y)])
        floors[kind] = (_FLOOR * float(np.median(y)) if len(y) else 0.0) or 1e-9
    return floors
