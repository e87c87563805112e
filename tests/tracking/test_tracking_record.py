"""What is kept of a training, worked out without MLflow."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from edgewatt.formats.fingerprint import data_fingerprint
from edgewatt.predictors.training import TrainingResult, train
from edgewatt.tracking.figures import figures_page, training_figures
from edgewatt.tracking.record import metrics, parameters, tags
from edgewatt.tracking.worker import serve
from small_training import write_training_data


@pytest.fixture(scope="module")
def training_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_training_data(tmp_path_factory.mktemp("tracked") / "training")


@pytest.fixture(scope="module")
def result(training_dir: Path) -> TrainingResult:
    return train(training_dir, training_dir.parent / "predictors", holdout=["b"], predictor="mean")


def test_every_number_becomes_a_metric_and_nothing_else() -> None:
    entries = {
        "convolutional": {"power": {"cv": {"mape": 0.25, "rows": 7, "r2": None, "grouping": "network"}}},
        "a & b": {"good": True, "huge": float("inf"), "values": [1.0]},
        "tuning": {"targets": {"power": {"trials": 12}}},
    }
    assert metrics(entries) == {
        "convolutional/power/cv/mape": 0.25,
        "convolutional/power/cv/rows": 7.0,
        "tuning/targets/power/trials": 12.0,
    }
    assert metrics({"a & b": 1}) == {"a _ b": 1.0}


def test_parameters_say_what_it_was_made_of(result: TrainingResult, training_dir: Path) -> None:
    found = parameters(result, training_dir)
    assert found["predictor"] == "mean"
    assert found["holdout"] == "b"
    assert found["networks"] == "a, c, d, e, f"
    assert found["idle_power_w"] == "not known"
    assert found["data_fingerprint"] == data_fingerprint(training_dir)
    assert all(isinstance(value, str) for value in found.values())


def test_the_card_is_the_description(result: TrainingResult) -> None:
    found = tags(result, "# A card")
    assert found["mlflow.note.content"] == "# A card"
    assert found["edgewatt.predictor"] == "mean"
    assert found["edgewatt.board"] == "not known"


def test_fingerprint_is_of_names_and_contents_wherever_they_lie(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place / "net").mkdir(parents=True)
        (tmp_path / place / "net" / "dense.csv").write_text("1\n")
    first = data_fingerprint(tmp_path / "one")
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert data_fingerprint(tmp_path / "two") == first
    (tmp_path / "two" / ".hidden").write_text("2")
    assert data_fingerprint(tmp_path / "two") == first
    (tmp_path / "two" / "other").mkdir()
    (tmp_path / "two" / "other" / "dense.csv").write_text("2\n")
    assert data_fingerprint(tmp_path / "two") != first
    assert data_fingerprint(tmp_path / "two", ["net"]) == first
    (tmp_path / "two" / "net" / "dense.csv").rename(tmp_path / "two" / "net" / "other.csv")
    assert data_fingerprint(tmp_path / "two", ["net"]) != first


def test_figures_show_each_layer_that_a_fold_left_out(result: TrainingResult) -> None:
    figures = training_figures(result)
    assert list(figures) == [
        "Power, predicted against measured",
        "Power, relative error",
        "Runtime, predicted against measured",
        "Runtime, relative error",
    ]
    points = figures["Power, predicted against measured"]["data"][0]
    # Five networks of eight layers, without the one that is held out.
    assert len(points["x"]) == len(points["y"]) == 40
    measured = (result.training.tables[next(iter(result.training.tables))]["power"] * 1e-6).to_list()
    assert points["x"] == pytest.approx(measured, rel=1e-5)
    residuals = figures["Power, relative error"]["data"][0]
    expected = [100 * (y / x - 1) for x, y in zip(points["x"], points["y"], strict=True)]
    assert residuals["y"] == pytest.approx(expected, abs=1e-2)


def test_the_page_of_figures_needs_nothing_from_elsewhere(result: TrainingResult) -> None:
    page = figures_page("Predictors", training_figures(result))
    assert page.count('class="plot"') == 4
    assert page.count('type="application/json"') == 4
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", page)


def test_the_worker_goes_on_after_an_error() -> None:
    answers = io.StringIO()
    requests = [{"action": "connect", "experiment": "e", "artifacts": None}, {"action": "log"}]
    serve(io.StringIO("".join(json.dumps(one) + "\n" for one in requests)), answers)
    assert [json.loads(line) for line in answers.getvalue().splitlines()] == [{"error": "there is no connection"}] * 2
