"""Errors of settings on networks that they were not fitted to."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training_data import read_training_data
from edgewatt.tuning.folds import FoldTask, fold_errors, held_out_errors, new_search
from edgewatt.workers.base import map_tasks
from edgewatt.workers.places import open_place
from small_training import write_training_data

CONV = LayerKind.CONVOLUTIONAL


@pytest.fixture(scope="module")
def training_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_training_data(tmp_path_factory.mktemp("folds") / "training")


def test_a_network_is_in_one_fold(training_dir: Path) -> None:
    data = read_training_data(training_dir)
    search = new_search(data.of(["a", "b", "c"]), "physics")
    folds = search.folds.numbers[CONV]
    names = search.tables[CONV]["network"].to_numpy()
    assert set(names) == {"a", "b", "c"}
    assert sorted({(str(name), int(fold)) for name, fold in zip(names, folds, strict=True)}, key=str) == sorted(
        {(name, int(folds[names == name][0])) for name in "abc"}, key=str
    )
    assert search.numbers == [0, 1, 2]


def test_errors_of_the_mean_worked_out_by_hand(training_dir: Path) -> None:
    data = read_training_data(training_dir)
    search = new_search(data, "mean")
    table = search.tables[CONV]
    power = table["power"].to_numpy() * 1e-6
    names = table["network"].to_numpy()
    held_out = str(names[search.folds.numbers[CONV] == 0][0])
    left_out = search.folds.numbers[CONV] == 0
    mean = np.exp(np.log(power[~left_out]).mean())
    found = fold_errors(search, FoldTask(Target.POWER, {}, 0))
    assert set(found) == set(names[left_out])
    rows = names == held_out
    assert found[held_out].log == pytest.approx(np.abs(np.log(mean / power[rows])).sum())
    assert found[held_out].relative == pytest.approx(np.abs(mean / power[rows] - 1).sum())
    assert found[held_out].layers == rows.sum()


def test_held_out_networks_are_scored_on_and_not_fitted_to(training_dir: Path) -> None:
    data = read_training_data(training_dir)
    search = new_search(data.of(["a", "b"]), "mean")
    power = search.tables[CONV]["power"].to_numpy() * 1e-6
    test = data.of(["f"])
    true = test.tables[CONV]["power"].to_numpy() * 1e-6
    found = held_out_errors(search, test, Target.POWER, {})
    mean = np.exp(np.log(power).mean())
    assert list(found) == ["f"]
    assert found["f"].log == pytest.approx(np.abs(np.log(mean / true)).sum())


def test_processes_find_the_same(training_dir: Path) -> None:
    search = new_search(read_training_data(training_dir), "physics")
    tasks = [FoldTask(Target.RUNTIME, {"max_features": 0.3}, fold) for fold in (0, 1)]
    with open_place(jobs=2) as place:
        outcomes = list(map_tasks(partial(fold_errors, search), tasks, place))
    assert [outcome.result for outcome in outcomes] == [fold_errors(search, task) for task in tasks]
