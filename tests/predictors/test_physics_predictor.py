"""The physics predictor: inside and outside what it was trained on, and as a file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors import storage
from edgewatt.predictors.physics_function import PhysicsFunction, middle_mean
from edgewatt.predictors.physics_predictor import PhysicsPredictor
from edgewatt.predictors.storage import StoredPredictor, read_predictor, write_predictor
from edgewatt.predictors.targets import Target

CONV = LayerKind.CONVOLUTIONAL


def _runtime(table: pl.DataFrame) -> np.ndarray:
    """0.01 ms, 1e-7 ms a multiply-accumulate and 1e-6 ms a byte of output."""
    x = {name: table[name].to_numpy().astype(float) for name in table.columns if "size" in name or "kernel" in name}
    outputs = x["output_size_0"] * x["output_size_1"] * x["output_size_2"]
    macs = outputs * x["input_size_0"] * x["kernel_0"] * x["kernel_1"]
    return 0.01 + 1e-7 * macs + 4e-6 * outputs


@pytest.fixture
def fitted(convolutions: Any) -> PhysicsFunction:
    table = convolutions(150)
    return PhysicsPredictor(CONV, "runtime", trees=16).fit(table, _runtime(table)).function_


def _stored(function: PhysicsFunction) -> StoredPredictor:
    return StoredPredictor(function, "physics", Target.RUNTIME, {}, 150, ("a",), {"kernel_0": (1, 5)}, (0.1, 9.0), 1.7)


def test_new_layers_like_those_trained_on(fitted: PhysicsFunction, convolutions: Any) -> None:
    new = convolutions(100, seed=3)
    found = fitted.estimate(new)
    assert np.abs(found.value / _runtime(new) - 1).mean() < 0.03
    assert found.distant.sum() < 10


def test_middle_mean_by_hand() -> None:
    values = np.log([[1.0, 2.0, 4.0, 8.0], [8.0, 4.0, 2.0, 1.0]])
    # The middle half of four equal weights are the second and third value, whatever their order.
    assert np.exp(middle_mean(values, 0.0)) == pytest.approx([8**0.5, 8**0.5])
    # Weights 8, 4, 2 and 1 of 15: the middle half, 3.75 to 11.25, is 4.25 of the first and 3.25 of the second.
    assert middle_mean(values, 1.0) == pytest.approx([3.25 / 7.5 * np.log(2.0)] * 2)
    assert middle_mean(np.array([[3.0]]), 0.5) == pytest.approx([3.0])


def test_one_odd_tree_moves_nothing() -> None:
    agreeing = np.zeros((1, 16))
    odd = agreeing.copy()
    odd[0, 5] = 3.0
    assert middle_mean(odd, 0.5) == pytest.approx(middle_mean(agreeing, 0.5))


def test_layers_far_larger_follow_the_costs(fitted: PhysicsFunction, convolutions: Any) -> None:
    large = convolutions(40, seed=4).with_columns(pl.col("input_size_0", "output_size_0") * 20)
    found = fitted.estimate(large)
    assert np.abs(found.value / _runtime(large) - 1).max() < 0.1
    assert found.distant.mean() > 0.9
    assert found.spread.mean() > 2 * fitted.estimate(convolutions(40, seed=5)).spread.mean()


def test_power_stays_near_the_range_it_was_trained_in(convolutions: Any) -> None:
    table = convolutions(100)
    runtime = _runtime(table)
    power = 1.0 + 2.0 * (runtime - 0.01) / runtime
    function = PhysicsPredictor(CONV, "power", trees=16).fit(table.with_columns(runtime=runtime), power).function_
    new = convolutions(100, seed=3)
    expected = 1.0 + 2.0 * (_runtime(new) - 0.01) / _runtime(new)
    assert np.abs(function.predict(new) / expected - 1).mean() < 0.02
    huge = new.with_columns(pl.col("input_size_0") * 1000)
    assert function.predict(huge).max() <= 2 * power.max()


def test_other_kinds_tell_what_its_own_rows_cannot(dense_layers: Any) -> None:
    def time(table: pl.DataFrame) -> np.ndarray:
        rows, depth, width = (table[n].to_numpy().astype(float) for n in ("batch_size", "input_size", "output_size"))
        return 0.01 + 1e-8 * rows * depth * width + 1e-7 * 4 * depth * width

    dense = dense_layers(30).with_columns(input_size=pl.col("input_size") + 3000)
    other = pl.DataFrame(
        {"batch_size": [1] * 20, "input_bytes": [0] * 20, "output_bytes": [0] * 20, "power": [1e6] * 20}
    ).with_columns(runtime=pl.lit(0.01), layer_name=pl.lit("o"), operation=pl.lit("noop"))
    small = pl.DataFrame({"batch_size": [1], "input_size": [4], "output_size": [4]})
    alone = PhysicsPredictor(LayerKind.DENSE, "runtime").fit(dense, time(dense))
    told = PhysicsPredictor(LayerKind.DENSE, "runtime").fit(dense, time(dense), None, {LayerKind.OTHER: other})
    assert told.predict(small).item() == pytest.approx(0.01, rel=0.05)
    assert abs(told.predict(small).item() - 0.01) <= abs(alone.predict(small).item() - 0.01) + 1e-6


def test_targets_that_are_not_positive(convolutions: Any) -> None:
    table = convolutions(30)
    y = np.linspace(-0.1, 1.0, 30)
    assert PhysicsPredictor(CONV, "power", trees=4).fit(table, y).predict(table).min() > 0.0
    with pytest.raises(EdgewattError, match="finite"):
        PhysicsPredictor(CONV).fit(table, np.full(30, np.nan))


def test_file_gives_back_the_same_function(fitted: PhysicsFunction, convolutions: Any, tmp_path: Path) -> None:
    path = write_predictor(tmp_path / "convolutional_runtime.json", _stored(fitted))
    assert path.name == "convolutional_runtime.json"
    read = read_predictor(path, CONV, Target.RUNTIME)
    new = convolutions(50, seed=8)
    before, after = fitted.estimate(new), read.function.estimate(new)
    assert after.value.tobytes() == before.value.tobytes()
    assert after.spread.tobytes() == before.spread.tobytes()
    assert read.interval == 1.7
    assert json.loads(path.read_text())["function"] == "physics"


def test_large_files_are_compressed(
    fitted: PhysicsFunction, convolutions: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_LARGEST_PLAIN_BYTES", 1000)
    path = write_predictor(tmp_path / "convolutional_runtime.json", _stored(fitted))
    assert path.name == "convolutional_runtime.json.gz"
    new = convolutions(5, seed=8)
    assert read_predictor(path, CONV, Target.RUNTIME).function.predict(new).tolist() == fitted.predict(new).tolist()
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError, match="compressed"):
        read_predictor(path, CONV, Target.RUNTIME)
    path.write_bytes(gzip.compress(b"{}"))
    with pytest.raises(FormatError, match="schema version"):
        read_predictor(path, CONV, Target.RUNTIME)


def _change(*keys: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_change("trees", "right", to=[0]), "differ in length"),
        (_change("trees", "roots", to=[10**9]), "no root"),
        (_change("trees", "features", to=["log macs"]), "splits on a feature"),
        (_change("time", to=[{"coefficients": {"magic": 1.0}, "least": 1.0}]), "'magic'"),
        (_change("time", to=[{"coefficients": {"macs": -1.0}, "least": 1.0}]), "coefficients.macs"),
        (_change("anchors", "centre", to=[0.0]), "one number for each feature"),
        (_change("power", to={"coefficients": {}, "least": 1.0}), "costs of a power"),
        (_change("function", to="network"), "'network'"),
        (_change("lower", to=0.0), "lower"),
    ],
)
def test_broken_files(fitted: PhysicsFunction, tmp_path: Path, change: Any, message: str) -> None:
    path = write_predictor(tmp_path / "convolutional_runtime.json", _stored(fitted))
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=message):
        read_predictor(path, CONV, Target.RUNTIME)


def test_a_tree_that_never_ends_is_refused(fitted: PhysicsFunction, tmp_path: Path) -> None:
    path = write_predictor(tmp_path / "convolutional_runtime.json", _stored(fitted))
    content = json.loads(path.read_text())
    content["trees"]["right"][0] = 0
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match="outside the tree"):
        read_predictor(path, CONV, Target.RUNTIME)
