"""Predictor files read back as they were written, without scikit-learn, and broken ones say what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgewatt.errors import FormatError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.neuralpower import NeuralPowerPredictor
from edgewatt.predictors.storage import StoredPredictor, file_name, read_predictor, write_predictor
from edgewatt.predictors.targets import Target

CONV = LayerKind.CONVOLUTIONAL


@pytest.fixture
def stored(convolutions: Any) -> StoredPredictor:
    table = convolutions(80)
    y = 0.1 + 0.01 * table["input_size_0"].to_numpy() / 3 + np.random.default_rng(0).uniform(0, 0.1, 80)
    fitted = NeuralPowerPredictor(CONV, degree=(1, 2), log_features=True).fit(table, y)
    return StoredPredictor(
        function=fitted.polynomial_,
        name="neuralpower",
        target=Target.RUNTIME,
        settings={"degree": [1, 2], "scaler": "standard"},
        rows=80,
        networks=("a", "b, c"),
        feature_ranges={"input_size_0": (3.0, 199.0)},
        target_range=(0.1, 0.9),
    )


@pytest.fixture
def written(stored: StoredPredictor, tmp_path: Path) -> Path:
    path = tmp_path / stored.file_name
    write_predictor(path, stored)
    return path


def test_reads_back_bit_by_bit(stored: StoredPredictor, written: Path, convolutions: Any) -> None:
    table = convolutions(200, seed=5)
    read = read_predictor(written, CONV, Target.RUNTIME)
    assert len(stored.function.coefficients) > 3
    assert read.function.predict(table).tobytes() == stored.function.predict(table).tobytes()
    for name in ("name", "target", "settings", "rows", "networks", "feature_ranges", "target_range"):
        assert getattr(read, name) == getattr(stored, name)


def test_file_says_what_it_is(written: Path) -> None:
    assert written.name == file_name(CONV, Target.RUNTIME) == "convolutional_runtime.json"
    content = json.loads(written.read_text())
    assert (content["schema_version"], content["kind"], content["target"], content["unit"]) == (
        1,
        "convolutional",
        "runtime",
        "ms",
    )
    assert all(term["coefficient"] != 0.0 for term in content["terms"])


def test_predicts_without_scikit_learn(written: Path, stored: StoredPredictor, convolutions: Any) -> None:
    table = convolutions(5, seed=7)
    table.write_parquet(written.parent / "table.parquet")
    script = f"""
import sys
sys.modules["sklearn"] = None  # importing it now fails
from pathlib import Path
import polars as pl
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.storage import read_predictor
from edgewatt.predictors.targets import Target
import edgewatt.predictors.prediction
predictor = read_predictor(Path({str(written)!r}), LayerKind.CONVOLUTIONAL, Target.RUNTIME)
print(predictor.function.predict(pl.read_parquet({str(written.parent / "table.parquet")!r})).tolist())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == stored.function.predict(table).tolist()


def _change(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(schema_version=2), "schema version is 2, not 1"),
        (lambda c: c.update(schema_version=True), "schema version is True"),
        (lambda c: c.pop("schema_version"), "schema version is None"),
        (lambda c: c.update(kind="pooling"), "pooling layers"),
        (lambda c: c.update(target="power"), "predicts the power"),
        (lambda c: c.update(unit="s"), "in s, not"),
        (lambda c: c.update(intercept=None), "intercept"),
        (lambda c: c.update(intercept="1.0"), "intercept"),
        (lambda c: c.pop("terms"), "terms"),
        (lambda c: c["terms"][0].update(coefficient="inf"), "terms.0.coefficient"),
        (lambda c: c["terms"][0].update(scale=0.0), "scale is 0"),
        (lambda c: c["terms"][0].update(powers={"input_size_0": -1}), "powers.input_size_0"),
        (lambda c: c["terms"][0].update(powers={"input_size_0": 10**6}), "exponent"),
        (lambda c: c["terms"][0].update(powers={"color": 1}), "lacks"),
        (lambda c: c["features"].append("color"), "are not those of convolutional layers"),
        (lambda c: c.update(target_range=[1.0]), "two ends"),
        (lambda c: c.update(lower=5.0, upper=1.0), "lower limit"),
    ],
)
def test_broken_content(written: Path, change: Callable[[dict[str, Any]], None], message: str) -> None:
    _change(written, change)
    with pytest.raises(FormatError, match=message) as caught:
        read_predictor(written, CONV, Target.RUNTIME)
    assert caught.value.where == str(written)


@pytest.mark.parametrize("value", ["1e999", "NaN", "Infinity"])
def test_numbers_that_are_not_finite(written: Path, value: str) -> None:
    text = written.read_text().replace('"intercept": ', f'"intercept": {value}, "was": ')
    written.write_text(text)
    with pytest.raises(FormatError):
        read_predictor(written, CONV, Target.RUNTIME)


@pytest.mark.parametrize("keep", [0, 1, 300])
def test_truncated(written: Path, keep: int) -> None:
    written.write_bytes(written.read_bytes()[:keep])
    with pytest.raises(FormatError):
        read_predictor(written, CONV, Target.RUNTIME)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        read_predictor(tmp_path / "none.json", CONV, Target.RUNTIME)
