"""Features and terms, by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.terms import (
    POLYNOMIAL_FEATURES,
    feature_columns,
    informative,
    monomial_exponents,
    term_values,
)


def _convolution(**changes: object) -> pl.DataFrame:
    row: dict[str, object] = {
        "batch_size": 2,
        "input_size_0": 8,
        "input_size_1": 5,
        "input_size_2": 7,
        "output_size_0": 16,
        "output_size_1": 3,
        "output_size_2": 5,
        "kernel_0": 3,
        "kernel_1": 3,
        "padding_0": 0,
        "padding_1": 0,
        "stride_0": 1,
        "stride_1": 1,
    }
    return pl.DataFrame([row | changes])


def test_convolution_with_base_columns_alone() -> None:
    columns = feature_columns(LayerKind.CONVOLUTIONAL, _convolution())
    # 16 x 3 x 5 outputs, each of 8 channels x 3 x 3.
    assert columns["operations_per_input"].tolist() == [240 * 72]
    assert columns["operations"].tolist() == [2 * 240 * 72]
    # Two batches of 280 inputs and 240 outputs, and 16 x 8 x 9 weights.
    assert columns["memory_accesses"].tolist() == [2 * (280 + 240) + 1152]
    assert columns["groups"].tolist() == columns["dilation_0"].tolist() == [1.0]


def test_groups_divide_operations_and_weights() -> None:
    columns = feature_columns(LayerKind.CONVOLUTIONAL, _convolution(groups=4))
    assert columns["operations_per_input"].tolist() == [240 * 18]
    assert columns["memory_accesses"].tolist() == [2 * 520 + 288]


def test_missing_groups_of_one_row_are_one() -> None:
    table = pl.concat([_convolution(groups=4), _convolution()], how="diagonal")
    assert feature_columns(LayerKind.CONVOLUTIONAL, table)["groups"].tolist() == [4.0, 1.0]


def test_transposed_convolution_counts_from_its_inputs() -> None:
    table = _convolution(operation="transposed", output_size_1=11, output_size_2=15)
    # Every one of 8 x 5 x 7 inputs is spread over 16 channels x 3 x 3.
    assert feature_columns(LayerKind.CONVOLUTIONAL, table)["operations"].tolist() == [2 * 280 * 144]


def test_pooling() -> None:
    table = _convolution(output_size_0=8, kernel_0=2, kernel_1=3).drop("padding_0", "padding_1")
    columns = feature_columns(LayerKind.POOLING, table)
    assert columns["inputs"].tolist() == [2 * 8 * 5 * 7]
    assert columns["outputs"].tolist() == [2 * 8 * 3 * 5]
    assert columns["operations"].tolist() == [2 * 8 * 3 * 5 * 6]


def test_dense() -> None:
    columns = feature_columns(LayerKind.DENSE, pl.DataFrame([{"batch_size": 3, "input_size": 10, "output_size": 4}]))
    assert columns["operations"].tolist() == [120]
    assert columns["memory_accesses"].tolist() == [30 + 12 + 40]


def test_array_and_table_give_the_same() -> None:
    table = _convolution(groups=2, dilation_0=1, dilation_1=2)
    array = table.select(POLYNOMIAL_FEATURES[LayerKind.CONVOLUTIONAL]).to_numpy().astype(float)
    from_table = feature_columns(LayerKind.CONVOLUTIONAL, table)
    from_array = feature_columns(LayerKind.CONVOLUTIONAL, array)
    assert {name: values.tolist() for name, values in from_table.items()} == {
        name: values.tolist() for name, values in from_array.items()
    }


def test_missing_base_column() -> None:
    with pytest.raises(EdgewattError, match="kernel_1"):
        feature_columns(LayerKind.CONVOLUTIONAL, _convolution().drop("kernel_1"))
    with pytest.raises(EdgewattError, match=r"shape \(1, 2\)"):
        feature_columns(LayerKind.DENSE, np.ones((1, 2)))


def test_exponents_of_two_features() -> None:
    assert monomial_exponents(2, 2).tolist() == [[1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    assert len(monomial_exponents(13, 3)) == 559  # (13 + 3 over 3) less the constant
    assert monomial_exponents(0, 2).shape == (0, 0)


def test_term_values() -> None:
    values = np.array([[2.0, 3.0], [5.0, 0.0]])
    exponents = np.array([[1, 0], [2, 1], [0, 3], [0, 0]])
    assert term_values(values, exponents).tolist() == [[2.0, 12.0, 27.0, 1.0], [5.0, 0.0, 0.0, 1.0]]


def test_informative_drops_constants_and_copies() -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0])
    columns = np.column_stack([np.full(4, 7.0), x, 3 * x + 1, x**2, x])
    assert informative(columns).tolist() == [1, 3]
    assert informative(np.zeros((0, 3))).tolist() == []
