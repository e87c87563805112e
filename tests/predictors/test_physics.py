"""Physical amounts of layers, worked out by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from edgewatt.dataset.features import feature_frame
from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.physical_features import cost_terms, padded_macs, physical_features
from edgewatt.predictors.physics import concatenated, is_detailed, layer_amounts
from edgewatt.predictors.terms import feature_columns

CONV, POOL, DENSE, OTHER = LayerKind

GROUPED = Layer(
    "grouped",
    CONV,
    "convolution",
    (2, 8, 10, 10),
    (2, 6, 5, 5),
    kernel=(3, 3),
    stride=(2, 2),
    pre_padding=(1, 1),
    post_padding=(1, 1),
    groups=2,
    precision="float16",
    macs=2 * 6 * 25 * 4 * 9,
    weight_bytes=2 * 6 * 4 * 9,
    input_bytes=2 * 2 * 800,
    output_bytes=2 * 2 * 150,
)


def test_a_grouped_convolution() -> None:
    table = feature_frame(CONV, [GROUPED])
    amounts = layer_amounts(CONV, table, detailed=False)
    expected = {"rows": 50, "columns": 3, "depth": 36, "groups": 2, "macs": 10800, "stride": 4, "padding": 4}
    expected |= {"weight_bytes": 4 * 216, "input_bytes": 4 * 1600, "output_bytes": 4 * 300, "value_bytes": 4}
    assert {name: amounts[name].item() for name in expected} == expected
    assert (amounts["convolutional"].item(), amounts["pooling"].item(), amounts["depthwise"].item()) == (1, 0, 0)


def test_bytes_that_the_table_tells() -> None:
    table = feature_frame(CONV, [GROUPED])
    assert is_detailed(table)
    amounts = layer_amounts(CONV, table, detailed=True)
    assert (amounts["weight_bytes"].item(), amounts["input_bytes"].item(), amounts["value_bytes"].item()) == (
        432,
        3200,
        2,
    )
    assert not is_detailed(table.with_columns(pl.lit(None, pl.Int64).alias("input_bytes")))
    assert not is_detailed(table.drop("precision"))


def test_multiply_accumulates_agree_with_neuralpower(convolutions: object) -> None:
    table = convolutions(30)  # type: ignore[operator]
    amounts = layer_amounts(CONV, table, detailed=False)
    assert amounts["macs"] == pytest.approx(feature_columns(CONV, table)["operations"])


def test_padded_macs_and_fill() -> None:
    amounts = layer_amounts(CONV, feature_frame(CONV, [GROUPED]), detailed=False)
    # 50 rows fill 64, 3 columns fill 32, 36 deep, twice.
    assert padded_macs(amounts, 32).item() == 64 * 32 * 36 * 2
    features = physical_features(amounts)
    assert features["rows fill"].item() == 50 / 64
    assert features["columns fill 32"].item() == 3 / 32
    assert features["log blocks"].item() == pytest.approx(np.log(2))


def test_kinds_together_have_no_terms_of_each_other() -> None:
    pooling = Layer("p", POOL, "max", (1, 4, 8, 8), (1, 4, 4, 4), kernel=(2, 2), stride=(2, 2))
    dense = Layer("d", DENSE, "gemm", (1, 64), (1, 10), macs=640)
    other = Layer("o", OTHER, "elementwise", (1, 64), (1, 64), input_bytes=512, output_bytes=256)
    parts = [
        layer_amounts(layer.kind, feature_frame(layer.kind, [layer]), detailed=False)
        for layer in (GROUPED, pooling, dense, other)
    ]
    terms = cost_terms(concatenated(parts))
    assert terms["macs"].tolist() == [10800, 0, 640, 0]
    assert terms["window"].tolist() == [0, 4 * 16 * 4, 0, 0]
    assert terms["input bytes"].tolist() == [6400, 1024, 256, 512]
    assert terms["depthwise macs"].tolist() == [0, 0, 0, 0]
    assert all(np.isfinite(values).all() for values in physical_features(concatenated(parts)).values())


def test_a_missing_column() -> None:
    with pytest.raises(EdgewattError, match="stride_0 of convolutional"):
        layer_amounts(CONV, feature_frame(CONV, [GROUPED]).drop("stride_0"), detailed=False)
