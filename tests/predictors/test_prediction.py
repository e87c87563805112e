"""Predictions of a network, with predictors whose answers can be worked out by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.polynomial import Polynomial, constant
from edgewatt.predictors.prediction import Status, predict, write_predictions
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target

CONV, POOL, DENSE, OTHER = LayerKind

LAYERS = (
    Layer(
        name='conv, "1"',
        kind=CONV,
        operation="convolution",
        input_shape=(1, 3, 8, 8),
        output_shape=(1, 4, 8, 8),
        kernel=(3, 3),
        pre_padding=(1, 1),
        post_padding=(1, 1),
        macs=6912,
        weight_bytes=100,
        input_bytes=200,
        output_bytes=300,
        precision="float16",
    ),
    Layer("nothing", OTHER, "noop", (1, 4, 8, 8), (1, 4, 8, 8), input_bytes=999),
    Layer("weights", OTHER, "constant", (), (4,)),
    Layer("shapes", OTHER, "shape_call", (), ()),
    Layer("max", POOL, "max", (1, 4, 8, 8), (1, 4, 4, 4), kernel=(2, 2), stride=(2, 2), input_bytes=100),
    Layer("relu", OTHER, "elementwise", (1, 4, 4, 4), (1, 4, 4, 4), input_bytes=50, output_bytes=50),
    Layer("fc", DENSE, "gemm", (1, 64), (1, 10), macs=640, weight_bytes=200, precision="float16"),
    Layer("volume", CONV, "convolution", (1, 2, 3, 3, 3), (1, 2, 3, 3, 3), kernel=(3, 3), macs=448),
)


def _stored(polynomial: Polynomial, target: Target, ranges: dict[str, tuple[float, float]]) -> StoredPredictor:
    return StoredPredictor(polynomial, "by hand", target, {}, 5, ("a",), ranges, (0.0, 1.0))


@pytest.fixture
def predictors() -> Predictors:
    """Convolutions take 1e-4 ms an operation at 3 W; dense layers 0.5 ms at 1 W; of pooling the runtime is known."""
    one = np.ones(1)
    per_operation = Polynomial(CONV, ("operations",), np.array([[1]]), np.zeros(1), one, 1e-4 * one, 0.0)
    sizes = {"input_size_0": (1.0, 64.0), "batch_size": (1.0, 1.0)}
    return Predictors(
        by_purpose={
            (CONV, Target.POWER): _stored(constant(CONV, 3.0), Target.POWER, sizes),
            (CONV, Target.RUNTIME): _stored(per_operation, Target.RUNTIME, sizes),
            (DENSE, Target.POWER): _stored(constant(DENSE, 1.0), Target.POWER, {"input_size": (100.0, 200.0)}),
            (DENSE, Target.RUNTIME): _stored(constant(DENSE, 0.5), Target.RUNTIME, {"input_size": (100.0, 200.0)}),
            (POOL, Target.RUNTIME): _stored(constant(POOL, 0.2), Target.RUNTIME, {}),
        },
        networks=("a",),
        idle_power_w=4.0,
        precisions=("float16",),
    )


def test_layer_by_layer(predictors: Predictors) -> None:
    layers = predict(LAYERS, predictors).layers
    assert [layer.layer for layer in layers] == list(LAYERS)
    assert [layer.kind for layer in layers] == [CONV, OTHER, OTHER, OTHER, POOL, OTHER, DENSE, OTHER]
    assert [layer.status.value for layer in layers] == [
        *("predicted", "free", "free", "free", "uncovered", "uncovered", "predicted", "uncovered"),
    ]
    assert layers[0].power_w == 3.0
    assert layers[0].runtime_s == pytest.approx(6912e-7)
    assert layers[0].energy_j == pytest.approx(3 * 6912e-7)
    assert (layers[1].power_w, layers[1].runtime_s, layers[1].energy_j) == (0.0, 0.0, 0.0)
    assert (layers[4].power_w, layers[4].runtime_s, layers[4].energy_j) == (None, pytest.approx(2e-4), None)
    assert (layers[5].power_w, layers[5].runtime_s, layers[5].energy_j) == (None, None, None)


def test_what_lies_outside_the_training(predictors: Predictors) -> None:
    layers = predict(LAYERS, predictors).layers
    assert [layer.outside for layer in layers] == [(), (), (), (), ("precision",), (), ("input_size",), ()]


def test_totals(predictors: Predictors) -> None:
    found = predict(LAYERS, predictors)
    runtime_s = 6912e-7 + 5e-4
    energy_j = 3 * 6912e-7 + 5e-4
    assert found.runtime_s == pytest.approx(runtime_s)
    assert found.energy_above_idle_j == pytest.approx(energy_j)
    assert found.energy_including_idle_j == pytest.approx(energy_j + 4 * runtime_s)
    assert found.power_above_idle_w == pytest.approx(energy_j / runtime_s)
    assert found.power_including_idle_w == pytest.approx(energy_j / runtime_s + 4)
    assert (found.predicted_layers, found.free_layers, found.uncovered_layers) == (2, 3, 3)
    assert found.uncovered_share == pytest.approx(3 / 5)
    assert found.uncovered_macs_share == pytest.approx(448 / (6912 + 640 + 448))
    # Of 600 + 200 + 200 bytes, those of the layer that is not executed left out.
    assert found.uncovered_bytes_share == pytest.approx(200 / 1000)


def test_totals_without_idle_or_predictors(predictors: Predictors) -> None:
    bare = predict(LAYERS, Predictors(predictors.by_purpose, ("a",)))
    assert bare.energy_including_idle_j is None
    assert bare.power_including_idle_w is None
    nothing = predict(LAYERS[:1], Predictors({}, ()))
    assert nothing.layers[0].status is Status.UNCOVERED
    assert (nothing.runtime_s, nothing.power_above_idle_w, nothing.uncovered_share) == (0.0, None, 1.0)
    empty = predict((), predictors)
    assert (empty.runtime_s, empty.uncovered_share, empty.power_above_idle_w) == (0.0, 0.0, None)


def test_file(predictors: Predictors, tmp_path: Path) -> None:
    write_predictions(tmp_path / "predictions.csv", predict(LAYERS, predictors))
    table = pl.read_csv(tmp_path / "predictions.csv")
    assert table.columns == [
        "layer_name",
        "layer_type",
        "power_prediction (W)",
        "runtime_prediction (ms)",
        "energy_prediction (mJ)",
        *("power_low (W)", "power_high (W)", "runtime_low (ms)", "runtime_high (ms)"),
        *("energy_low (mJ)", "energy_high (mJ)", "status", "extrapolated"),
    ]
    assert table["layer_name"].to_list() == [layer.name for layer in LAYERS]
    assert table.row(0)[:5] == ('conv, "1"', "convolutional", 3.0, pytest.approx(0.6912), pytest.approx(2.0736))
    assert table.row(1)[:5] == ("nothing", "other", 0.0, 0.0, 0.0)
    assert table.row(4)[:5] == ("max", "pooling", None, pytest.approx(0.2), None)
    assert table.row(5)[:5] == ("relu", "other", None, None, None)


def test_predicting_loads_no_training_library() -> None:
    # scikit-learn takes a second to load, half of what a prediction may take.
    code = "import sys, edgewatt.predictors.prediction, edgewatt.reports.predictions; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
