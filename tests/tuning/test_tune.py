"""The search with Optuna: what it finds, keeps, and goes on with."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from edgewatt.cli import app
from edgewatt.errors import EdgewattError
from edgewatt.predictors.folder import load_predictors
from edgewatt.predictors.targets import Target
from edgewatt.tuning import tune as tuning
from edgewatt.tuning.folds import Errors, FoldTask, NetworkErrors, Search
from edgewatt.tuning.result import TuningResult
from edgewatt.tuning.study import check_optuna, open_studies
from small_training import write_training_data

optuna = pytest.importorskip("optuna")

FoldErrors = Callable[[Search, FoldTask], NetworkErrors]


@pytest.fixture(scope="module")
def training_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_training_data(tmp_path_factory.mktemp("tune") / "training", "abcdefg")


def _names(search: Search, fold: int) -> list[str]:
    table, numbers = next((table, search.folds.numbers[kind]) for kind, table in search.tables.items())
    return sorted(set(table["network"].to_numpy()[numbers == fold]))


def a_bowl(search: Search, task: FoldTask) -> NetworkErrors:
    """An error whose least is known: at a share of 0.9, for every network."""
    share = task.settings.get("share", 0.5 if task.target is Target.POWER else 1.0)
    value = 0.1 + abs(share - 0.9)
    return {name: Errors(value, value, 1) for name in _names(search, task.fold)}


def as_it_falls(search: Search, task: FoldTask) -> NetworkErrors:
    """An error that settings move up for one network as far as they move it down for another."""
    share = task.settings.get("share", 0.5)
    sign = {name: 1 if name in "ace" else -1 for name in _names(search, task.fold)}
    return {name: Errors(1.0 + sign[name] * share, 1.0, 1) for name in sign}


@pytest.fixture
def tune(training_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., TuningResult]:
    """The search with a given error instead of fits, which take long."""

    def run(errors: FoldErrors, study: str = "study.journal", **arguments: Any) -> TuningResult:
        monkeypatch.setattr(tuning, "fold_errors", errors)
        return tuning.tune(training_dir, tmp_path / study, predictor="physics", **arguments)

    return run


def test_finds_what_is_better_and_keeps_it(tune: Callable[..., TuningResult]) -> None:
    found = tune(a_bowl, trials=24)
    power = found.targets[Target.POWER]
    assert power.usual.log == pytest.approx(0.5)
    assert power.tuned.log < 0.15
    assert abs(power.best["share"] - 0.9) < 0.05
    assert power.is_kept
    assert power.held_out is None
    # Of runtimes the usual share is 1, a gain of 0.1 at most.
    assert found.settings["power.share"] == power.best["share"]
    assert found.targets[Target.RUNTIME].usual.log == pytest.approx(0.2)


def test_luck_is_not_kept(tune: Callable[..., TuningResult]) -> None:
    found = tune(as_it_falls, trials=8)
    assert found.targets[Target.POWER].tuned.log <= found.targets[Target.POWER].usual.log
    assert not any(one.is_kept for one in found.targets.values())
    assert found.settings == {}


def test_goes_on_as_if_it_had_not_stopped(tune: Callable[..., TuningResult]) -> None:
    whole = tune(a_bowl, "whole.journal", trials=10)
    tune(a_bowl, "parts.journal", trials=8)
    parts = tune(a_bowl, "parts.journal", trials=10)
    assert {target: one.trials_before for target, one in parts.targets.items()} == dict.fromkeys(Target, 8)
    assert [one.best for one in parts.targets.values()] == [one.best for one in whole.targets.values()]
    again = tune(a_bowl, "parts.journal", trials=10)
    assert {one.trials_before for one in again.targets.values()} == {10}
    other = tune(a_bowl, "other.journal", trials=10, seed=1)
    assert [one.best for one in other.targets.values()] != [one.best for one in whole.targets.values()]


def test_an_interruption_keeps_what_was_finished(tune: Callable[..., TuningResult]) -> None:
    calls = 0

    def interrupted(search: Search, task: FoldTask) -> NetworkErrors:
        nonlocal calls
        calls += 1
        if calls > 12:
            raise KeyboardInterrupt
        return a_bowl(search, task)

    with pytest.raises(KeyboardInterrupt):
        tune(interrupted, trials=6)
    # Five folds a trial: two are finished, the third is not.
    found = tune(a_bowl, trials=6)
    assert found.targets[Target.POWER].trials_before == 2
    assert found.targets[Target.POWER].trials == 6


def test_bad_trials_are_given_up_early(tune: Callable[..., TuningResult]) -> None:
    folds: dict[tuple[Any, ...], int] = {}

    def counted(search: Search, task: FoldTask) -> NetworkErrors:
        key = (task.target, *sorted(task.settings.items()))
        folds[key] = folds.get(key, 0) + 1
        return a_bowl(search, task)

    found = tune(counted, trials=20, prune=True)
    assert {one.trials for one in found.targets.values()} == {20}
    assert any(count < 5 for count in folds.values())
    assert found.targets[Target.POWER].tuned.log < 0.3


def test_given_settings_are_not_searched_for(tune: Callable[..., TuningResult]) -> None:
    found = tune(a_bowl, trials=4, settings={"share": 0.7, "power.max_features": 0.9})
    assert set(found.targets[Target.POWER].best) == {"min_samples_leaf"}
    assert set(found.targets[Target.RUNTIME].best) == {"min_samples_leaf", "max_features"}
    assert found.targets[Target.POWER].usual.log == pytest.approx(0.3)
    assert found.settings["share"] == 0.7


def test_a_study_of_something_else_is_refused(tune: Callable[..., TuningResult], tmp_path: Path) -> None:
    tune(a_bowl, trials=1)
    with pytest.raises(EdgewattError, match="the study is of something else: other data, networks"):
        tune(a_bowl, trials=1, holdout=["a"])
    (tmp_path / "broken.db").write_text("this is no database, and it is long enough to be seen for what it is" * 20)
    with pytest.raises(EdgewattError, match=r"cannot be opened.*--study"):
        tune(a_bowl, "broken.db", trials=1)


def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE photos (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(EdgewattError, match="this database is no study"):
        open_studies(path, {"power": {}})
    assert path.read_bytes() == before


def test_what_cannot_be_tuned(training_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EdgewattError, match="mean has no settings"):
        tuning.tune(training_dir, tmp_path / "s.db", trials=1, predictor="mean")
    with pytest.raises(EdgewattError, match="only one"):
        tuning.tune(training_dir, tmp_path / "s.db", trials=1, holdout=list("abcdef"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EdgewattError, match=r"pip install 'edgewatt\[tune\]'"):
        check_optuna()


def test_too_few_rows_for_any_fold(tmp_path: Path) -> None:
    data = write_training_data(tmp_path / "training", "ab", rows=2)
    with pytest.raises(EdgewattError, match="rows that a fold's power needs"):
        tuning.tune(data, tmp_path / "s.journal", trials=1, predictor="physics")


def test_options_that_do_not_go_together() -> None:
    for options, told in (
        (["--study", "s.db"], "--tune TRIALS"),
        (["--tune", "3", "--tune-degree"], "one of the two"),
    ):
        with pytest.raises(EdgewattError, match=told):
            CliRunner().invoke(app, ["train", "x", "y", *options], catch_exceptions=False)


def test_the_command_trains_with_what_it_found(training_dir: Path, tmp_path: Path) -> None:
    """Real fits and an SQLite study; what was found stands in the file of scores and on the card."""
    folder = tmp_path / "predictors"
    arguments = ["train", training_dir, folder, "--holdout", "a", "--predictor", "neuralpower", "--tune", "1"]
    ended = CliRunner().invoke(app, [*map(str, arguments), "--jobs", "1", "--json"], catch_exceptions=False)
    told = json.loads(ended.stdout)["tuning"]
    assert (tmp_path / "predictors.study.db").is_file()
    assert json.loads((folder / "metrics.json").read_text())["tuning"] == told
    # The first trial is the usual settings, which buy nothing and so are not "kept".
    power = told["targets"]["power"]
    assert (power["trials"], power["trials_before"], power["kept"], power["luck"]) == (1, 0, False, 1.0)
    assert power["settings"]["degree"] == 2
    assert power["cv"]["usual"] == power["cv"]["tuned"]
    assert (power["cv"]["usual"]["networks"], power["test"]["usual"]["networks"]) == (6, 1)
    card = (folder / "card.md").read_text()
    assert "\n\n## Tuning\n" in card
    assert "| power | 1 |" in card
    assert load_predictors(folder).holdout == ("a",)
