"""Training from a folder of tables to a folder of predictors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.csv_file import write_csv
from edgewatt.formats.training_tables import read_table, table_path
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors import evaluation, training_metrics, training_plan
from edgewatt.predictors.baselines import MeanPredictor
from edgewatt.predictors.folder import load_predictors
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training import train
from edgewatt.predictors.training_data import read_training_data

CONV, DENSE = LayerKind.CONVOLUTIONAL, LayerKind.DENSE
SCORES = {"mape", "rmspe", "rmse", "mae", "r2", "rows", "networks", "zero_rows", "median", "rank_correlation"}


def _predictions(folder: Path, table: pl.DataFrame) -> dict[Target, list[float]]:
    predictors = load_predictors(folder)
    stored = {target: predictors.get(CONV, target) for target in Target}
    return {target: one.function.predict(table).tolist() for target, one in stored.items() if one is not None}


def test_finds_the_truth_and_writes_it(training_dir: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    result = train(
        training_dir, tmp_path / "predictors", holdout=["e", "b"], predictor="neuralpower", progress=steps.append
    )
    assert steps[:4] == ["convolutional power", "convolutional runtime", "dense power", "dense runtime"]
    held_out = read_table(table_path(training_dir / "e", CONV), CONV)
    predicted = _predictions(tmp_path / "predictors", held_out)
    assert predicted[Target.POWER] == pytest.approx((held_out["power"] * 1e-6).to_list(), rel=0.05)
    assert predicted[Target.RUNTIME] == pytest.approx(held_out["runtime"].to_list(), rel=0.05)
    assert result.predictors.networks == ("a", "c", "d", "f")
    assert result.predictors.holdout == ("b", "e")


def test_metrics_file(training_dir: Path, tmp_path: Path) -> None:
    result = train(training_dir, tmp_path / "predictors", holdout=["a"], predictor="neuralpower")
    metrics = json.loads((tmp_path / "predictors" / "metrics.json").read_text())
    assert metrics == result.metrics
    assert set(metrics) == {"convolutional", "dense", "network"}
    for kind, rows, test_rows in (("convolutional", 60, 12), ("dense", 4, 2)):
        for target in ("power", "runtime"):
            entry = metrics[kind][target]
            assert set(entry) == {"predictor", "cv", "test", "baselines", "repeat_error", "interval"}
            assert entry["repeat_error"] is None
            assert entry["predictor"] == "neuralpower"
            assert set(entry["cv"]) == SCORES | {"grouping"}
            assert set(entry["test"]) == SCORES
            assert set(entry["baselines"]) == {"mean"}
            assert set(entry["baselines"]["mean"]) == {"cv", "test"}
            assert (entry["cv"]["rows"], entry["test"]["rows"]) == (rows, test_rows)
    assert metrics["convolutional"]["power"]["cv"]["grouping"] == "network"
    assert metrics["convolutional"]["power"]["cv"]["networks"] == 5
    assert metrics["dense"]["power"]["cv"]["grouping"] == "row"
    for target in ("power", "runtime"):
        entry = metrics["convolutional"][target]
        assert entry["cv"]["mape"] < 0.3 * entry["baselines"]["mean"]["cv"]["mape"]
        assert entry["test"]["mape"] < 0.05


@pytest.mark.usefixtures("quick_polynomials")
def test_no_holdout_has_no_test_scores(training_dir: Path, tmp_path: Path) -> None:
    metrics = train(training_dir, tmp_path / "predictors").metrics
    assert metrics["dense"]["runtime"]["test"] is None
    assert metrics["dense"]["runtime"]["baselines"]["mean"]["test"] is None


def test_held_out_networks_are_never_trained_on(
    training_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []

    class Spy(MeanPredictor):
        def fit(self, table: Any, y: Any, groups: Any = None) -> Spy:
            seen.append({*groups, *table["network"]})
            super().fit(table, y)
            return self

    def spy(_: str, kind: LayerKind, __: Target, ___: object = None) -> Spy:
        return Spy(kind)

    monkeypatch.setattr(training_plan, "new_predictor", spy)
    monkeypatch.setattr(training_metrics, "new_predictor", spy)
    train(training_dir, tmp_path / "predictors", holdout=["c", "f"], predictor="neuralpower")
    assert len(seen) > 20
    assert set().union(*seen) == {"a", "b", "d", "e"}


def test_held_out_values_change_nothing(training_dir: Path, tmp_path: Path) -> None:
    train(training_dir, tmp_path / "before", holdout=["c"], predictor="neuralpower", tune_degree=True)
    path = table_path(training_dir / "c", CONV)
    write_csv(path, read_table(path, CONV).with_columns(pl.col("power", "runtime") * 1000))
    train(training_dir, tmp_path / "after", holdout=["c"], predictor="neuralpower", tune_degree=True)
    for name in ("convolutional_power.json", "convolutional_runtime.json", "predictors.json"):
        assert (tmp_path / "before" / name).read_bytes() == (tmp_path / "after" / name).read_bytes()


@pytest.mark.usefixtures("quick_polynomials")
def test_rows_without_power_train_runtime_alone(training_dir: Path, tmp_path: Path) -> None:
    path = table_path(training_dir / "a", CONV)
    write_csv(path, read_table(path, CONV).with_columns(power=pl.lit(None, pl.Float64)))
    metrics = train(training_dir, tmp_path / "predictors").metrics["convolutional"]
    assert (metrics["power"]["cv"]["rows"], metrics["power"]["cv"]["networks"]) == (60, 5)
    assert (metrics["runtime"]["cv"]["rows"], metrics["runtime"]["cv"]["networks"]) == (72, 6)


def test_kinds_without_enough_rows_are_listed(training_dir: Path, tmp_path: Path) -> None:
    result = train(training_dir, tmp_path / "predictors", holdout=["a", "b"], predictor="neuralpower")
    assert result.predictors.left_out == {
        "pooling power": "0 layers, fewer than 3",
        "pooling runtime": "0 layers, fewer than 3",
        "dense power": "2 layers, fewer than 3",
        "dense runtime": "2 layers, fewer than 3",
    }
    assert set(result.metrics) == {"convolutional", "network"}
    assert "dense power (2 layers, fewer than 3)" in (tmp_path / "predictors" / "card.md").read_text()


def test_five_layers_are_enough_and_say_so(training_dir: Path, tmp_path: Path) -> None:
    result = train(training_dir, tmp_path / "predictors", predictor="neuralpower")
    assert "dense power: degree at most 1, for want of rows (6)" in result.notes
    assert "degree at most 1" in (tmp_path / "predictors" / "card.md").read_text()


def test_tuned_degree(training_dir: Path, tmp_path: Path) -> None:
    result = train(training_dir, tmp_path / "predictors", predictor="neuralpower", tune_degree=True)
    stored = result.predictors.get(CONV, Target.RUNTIME)
    assert stored is not None
    # The truth is one special term, so the lowest degree is enough.
    assert stored.function.exponents.max() == 1
    with pytest.raises(EdgewattError, match="either given or tuned"):
        train(training_dir, tmp_path / "x", predictor="neuralpower", tune_degree=True, settings={"degree": 2})
    with pytest.raises(EdgewattError, match="no degree to tune"):
        train(training_dir, tmp_path / "x", tune_degree=True, predictor="mean")


@pytest.mark.usefixtures("quick_polynomials")
def test_the_mean_as_a_predictor(training_dir: Path, tmp_path: Path) -> None:
    result = train(training_dir, tmp_path / "predictors", predictor="mean", holdout=["a"])
    entry = result.metrics["convolutional"]["power"]
    assert entry["cv"] == entry["baselines"]["mean"]["cv"]
    assert entry["test"] == entry["baselines"]["mean"]["test"]


@pytest.mark.usefixtures("quick_polynomials")
def test_what_the_networks_had_in_common(training_dir: Path, tmp_path: Path) -> None:
    for name, idle, method in (("a", 4.0, "window"), ("b", 5.0, "deconvolve")):
        path = table_path(training_dir / name, CONV)
        table = read_table(path, CONV).with_columns(idle_power_w=pl.lit(idle), method=pl.lit(method))
        write_csv(path, table.with_columns(precision=pl.lit("float16")))
    train(training_dir, tmp_path / "predictors")
    predictors = load_predictors(tmp_path / "predictors")
    assert predictors.idle_power_w == 4.5
    assert predictors.methods == ("deconvolve", "window")
    assert predictors.precisions == ("float16",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"holdout": ["a", "resnet"]}, "no network resnet to hold out. There are: a, b, c, d, e, f"),
        ({"holdout": list("abcdef")}, "all networks are held out"),
        ({"predictor": "magic"}, "no predictor 'magic'"),
        ({"settings": {"depth": 1}}, "no such setting"),
    ],
)
def test_impossible_training(training_dir: Path, tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(EdgewattError, match=message):
        train(training_dir, tmp_path / "predictors", **arguments)
    assert not (tmp_path / "predictors").exists()


@pytest.mark.usefixtures("quick_polynomials")
def test_failure_leaves_older_predictors(training_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "predictors"
    train(training_dir, folder)
    (folder / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    table_path(training_dir / "b", CONV).write_text("batch_size\nmany\n")
    with pytest.raises(FormatError):
        train(training_dir, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    table_path(training_dir / "b", CONV).unlink()
    monkeypatch.setattr("edgewatt.predictors.folder.write_json", full)
    with pytest.raises(EdgewattError, match="No space left"):
        train(training_dir, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["predictors", "training_data"]


@pytest.mark.usefixtures("quick_polynomials")
def test_retraining_removes_what_is_no_longer_there(training_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "predictors"
    train(training_dir, folder)
    (folder / "notes.txt").write_text("mine")
    assert (folder / "dense_power.json").exists()
    train(training_dir, folder, holdout=["a", "b"])
    assert not (folder / "dense_power.json").exists()
    assert (folder / "notes.txt").read_text() == "mine"
    assert load_predictors(folder).get(DENSE, Target.POWER) is None


def test_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match="no such folder"):
        read_training_data(tmp_path / "none")
    (tmp_path / "empty" / "lenet").mkdir(parents=True)
    with pytest.raises(EdgewattError, match="no training tables"):
        read_training_data(tmp_path / "empty")


def test_too_few_rows_of_any_kind(training_dir: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    write_csv(table_path(small / "a", DENSE), read_table(table_path(training_dir / "a", DENSE), DENSE))
    with pytest.raises(EdgewattError, match="no kind of layer has the 3 rows"):
        train(small, tmp_path / "predictors")


@pytest.mark.usefixtures("quick_polynomials")
def test_a_table_without_rows(training_dir: Path, tmp_path: Path) -> None:
    path = table_path(training_dir / "a", DENSE)
    write_csv(path, read_table(path, DENSE).clear())
    assert train(training_dir, tmp_path / "predictors").metrics["dense"]["power"]["cv"]["rows"] == 4


@pytest.mark.usefixtures("quick_polynomials")
def test_score_is_what_cross_validation_says(training_dir: Path, tmp_path: Path) -> None:
    entry = train(training_dir, tmp_path / "predictors").metrics["convolutional"]["power"]
    data = read_training_data(training_dir).tables[CONV]
    found = evaluation.cross_validate(
        lambda: MeanPredictor(CONV), data, data["power"].to_numpy() * 1e-6, data["network"].to_list()
    )
    assert entry["baselines"]["mean"]["cv"]["mape"] == pytest.approx(found.scores.mape)
