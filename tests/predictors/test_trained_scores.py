"""Trained predictors scored on networks that are new to them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from edgewatt.cli import app
from edgewatt.errors import EdgewattError
from edgewatt.predictors.folder import load_predictors
from edgewatt.predictors.trained_scores import trained_scores
from edgewatt.predictors.training import train
from small_training import convolutions, write_training_data


def test_scores_are_of_new_networks_alone(tmp_path: Path) -> None:
    training = write_training_data(tmp_path / "training", "abc")
    train(training, tmp_path / "predictors", predictor="mean")
    write_training_data(training, "xy")
    found = trained_scores(training, load_predictors(tmp_path / "predictors"))
    assert (found.networks, found.known) == (("x", "y"), ("a", "b", "c"))
    trained_on = np.concatenate([convolutions(8, ord(name))["runtime"].to_numpy() for name in "abc"])
    true = np.concatenate([convolutions(8, ord(name))["runtime"].to_numpy() for name in "xy"])
    mean = np.exp(np.log(trained_on).mean())
    runtime = found.layers["convolutional"]["runtime"]
    assert runtime["mape"] == pytest.approx(np.abs(mean / true - 1).mean())
    assert (runtime["rows"], runtime["networks"], runtime["fallback"]) == (16, 2, False)

    sums = np.array([convolutions(8, ord(name))["runtime"].sum() for name in "xy"])
    assert found.network["runtime"]["mape"] == pytest.approx(np.abs(8 * mean / sums - 1).mean())
    assert (found.network["runtime"]["networks"], found.whole) == (2, False)

    arguments = ["evaluate", training, "--predictors", tmp_path / "predictors", "--json"]
    told = json.loads(CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False).stdout)
    assert told["layers"] == found.layers
    assert told["network"] == found.network
    assert told["predictors"] == str(tmp_path / "predictors")


def test_networks_that_were_trained_on_say_nothing(tmp_path: Path) -> None:
    training = write_training_data(tmp_path / "training", "ab")
    train(training, tmp_path / "predictors", predictor="mean")
    with pytest.raises(EdgewattError, match="trained on all networks"):
        trained_scores(training, load_predictors(tmp_path / "predictors"))
