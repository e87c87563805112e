from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgewatt.cli import app
from edgewatt.errors import EdgewattError

ARGUMENTS = ["--backend", "simulated", "--seconds", "0.05", "--rounds", "1"]


def test_a_sweep_tells_how_long_it_takes_and_what_it_found(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["sweep", str(tmp_path), "--count", "10", *ARGUMENTS])
    assert result.exit_code == 0, result.output
    assert "This takes about" in result.stderr
    assert "1,000 MB" in result.stderr
    for word in ("conv", "pool", "dense", "Repeat error, as MAPE", "sweep@seed0"):
        assert word in result.stdout
    result = CliRunner().invoke(
        app, ["sweep", str(tmp_path), "--count", "12", "--board", "orin-nano", "--json", *ARGUMENTS]
    )
    value = json.loads(result.stdout)
    assert (value["layers"], value["repeats"], value["left_out"], value["interrupted"]) == (12, 10, {}, None)
    assert sum(value["measured"].values()) == 22
    assert value["repeat_error"]["power"]["layers"] == 5
    assert "20 measurements are there already" in result.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--kinds", "pooling,other"], "'other' layers"),
        (["--board", "orin-nano", "--backend", "onnxruntime"], "--board"),
        (["--board", "nano-orin", "--backend", "simulated"], "nano-orin"),
        (["--target-error", "5"], "--target-error"),
        (["--networks", "lenet"], "leave --networks away"),
        (["--networks", "squeezenet1_1", "--adaptive", "--kinds", "dense"], "of the kinds that are swept"),
        (["--networks", "nobody", "--adaptive", "--backend", "simulated"], "'nobody'"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, given: list[str], told: str) -> None:
    result = CliRunner().invoke(app, ["sweep", str(tmp_path), *given])
    assert isinstance(result.exception, EdgewattError)
    assert told in str(result.exception)


def test_train_says_that_the_repeat_error_is_unknown(tmp_path: Path) -> None:
    from small_training import write_training_data

    tables = write_training_data(tmp_path / "tables")
    result = CliRunner().invoke(app, ["train", str(tables), str(tmp_path / "predictors"), "--predictor", "mean"])
    assert result.exit_code == 0, result.output
    assert "Repeat error: unknown" in result.stdout
    assert "Repeat error: not known" in (tmp_path / "predictors" / "card.md").read_text()
