"""The terms of NeuralPower's polynomials: products of a layer's sizes, and its operations and memory accesses.

Cai, Juan, Stamoulis and Marculescu, "NeuralPower: Predict and Deploy Energy-Efficient Convolutional Neural
Networks", arXiv 1710.05420: a layer's power and runtime are a sparse polynomial of its hyper-parameters plus
special terms that a polynomial of low degree cannot reach, such as its number of operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.formats.training_tables import BASE_FEATURES
from edgewatt.networks.layer import LayerKind

Array = NDArray[np.float64]

#: Columns that a table of base columns alone does not have, and whose values are then 1.
_ONE_WHERE_ABSENT = ("groups", "dilation_0", "dilation_1")

#: What the polynomial is made of, for each kind of layer.
POLYNOMIAL_FEATURES: Mapping[LayerKind, tuple[str, ...]] = {
    **BASE_FEATURES,
    LayerKind.CONVOLUTIONAL: (*BASE_FEATURES[LayerKind.CONVOLUTIONAL], *_ONE_WHERE_ABSENT),
}

#: What enters beside the polynomial: operations are multiply-accumulates (for pooling: values that windows
#: cover); inputs, outputs and memory accesses (inputs, weights and outputs) count values, not bytes.
SPECIAL_FEATURES: Mapping[LayerKind, tuple[str, ...]] = {
    LayerKind.CONVOLUTIONAL: ("operations_per_input", "operations", "memory_accesses"),
    LayerKind.POOLING: ("inputs", "outputs", "operations"),
    LayerKind.DENSE: ("operations", "memory_accesses"),
    LayerKind.OTHER: (),
}


def feature_columns(kind: LayerKind, table: pl.DataFrame | Array) -> dict[str, Array]:
    """All features of layers of one kind.

    Args:
        kind: The kind of layer.
        table: A training table or a `feature_frame`; or an array, one row a layer, whose columns are
            `POLYNOMIAL_FEATURES[kind]`.

    Returns:
        The polynomial's and the special features, each of shape (rows,).

    Raises:
        EdgewattError: A base column is missing, or an array has another number of columns.
    """
    columns = _array_columns(kind, table) if isinstance(table, np.ndarray) else _frame_columns(kind, table)
    return {**columns, **_special(kind, columns, _transposed(table, len(columns["batch_size"])))}


def _array_columns(kind: LayerKind, table: Array) -> dict[str, Array]:
    names = POLYNOMIAL_FEATURES[kind]
    if table.ndim != 2 or table.shape[1] != len(names):
        raise EdgewattError(
            f"an array of shape {table.shape} cannot describe {kind} layers",
            fix=f"Give one row a layer and the columns {', '.join(names)}",
        )
    return {name: table[:, index].astype(np.float64) for index, name in enumerate(names)}


def _frame_columns(kind: LayerKind, table: pl.DataFrame) -> dict[str, Array]:
    columns: dict[str, Array] = {}
    for name in POLYNOMIAL_FEATURES[kind]:
        if name in table.columns:
            column = table[name].cast(pl.Float64)
            columns[name] = (column.fill_null(1.0) if name in _ONE_WHERE_ABSENT else column).to_numpy()
        elif name in _ONE_WHERE_ABSENT:
            columns[name] = np.ones(table.height)
        else:
            raise EdgewattError(f"the column {name} of {kind} layers is missing")
    return columns


def _transposed(table: pl.DataFrame | Array, rows: int) -> NDArray[np.bool_]:
    if isinstance(table, pl.DataFrame) and "operation" in table.columns:
        return np.asarray((table["operation"].cast(pl.String) == "transposed").fill_null(False), dtype=np.bool_)
    return np.zeros(rows, dtype=np.bool_)


def _special(kind: LayerKind, x: Mapping[str, Array], transposed: NDArray[np.bool_]) -> dict[str, Array]:
    if kind is LayerKind.OTHER:
        return {}
    batch = x["batch_size"]
    if kind is LayerKind.DENSE:
        size_in, size_out = x["input_size"], x["output_size"]
        return {
            "operations": batch * size_in * size_out,
            "memory_accesses": batch * size_in + batch * size_out + size_in * size_out,
        }
    inputs = x["input_size_0"] * x["input_size_1"] * x["input_size_2"]
    outputs = x["output_size_0"] * x["output_size_1"] * x["output_size_2"]
    window = x["kernel_0"] * x["kernel_1"]
    if kind is LayerKind.POOLING:
        return {"inputs": batch * inputs, "outputs": batch * outputs, "operations": batch * outputs * window}
    # A transposed convolution spreads every input over the kernel; any other sums the kernel for every output.
    per_input = np.where(transposed, inputs * x["output_size_0"], outputs * x["input_size_0"])
    per_input = per_input * window / x["groups"]
    weights = x["input_size_0"] * x["output_size_0"] * window / x["groups"]
    return {
        "operations_per_input": per_input,
        "operations": batch * per_input,
        "memory_accesses": batch * (inputs + outputs) + weights,
    }


def monomial_exponents(features: int, degree: int) -> NDArray[np.int64]:
    """Exponents of all products of features of total degree 1 to `degree`.

    Returns:
        Shape (terms, features), lower degrees first.
    """
    rows = [
        np.bincount(chosen, minlength=features)
        for total in range(1, degree + 1)
        for chosen in combinations_with_replacement(range(features), total)
    ]
    return np.asarray(rows, dtype=np.int64).reshape(len(rows), features)


def term_values(values: Array, exponents: NDArray[np.int64]) -> Array:
    """Products of powers of features.

    Args:
        values: Features, shape (rows, features).
        exponents: Shape (terms, features), not negative.

    Returns:
        Shape (rows, terms).
    """
    terms = np.ones((len(values), len(exponents)))
    for feature in range(values.shape[1]):
        power = np.ones(len(values))
        for exponent in range(1, int(exponents[:, feature].max(initial=0)) + 1):
            power = power * values[:, feature]
            chosen = exponents[:, feature] == exponent
            terms[:, chosen] *= power[:, None]
    return terms


def informative(columns: Array) -> NDArray[np.int64]:
    """Indices of columns that are neither constant nor a copy of an earlier one up to origin and scale.

    Args:
        columns: Shape (rows, columns).
    """
    if len(columns) == 0:
        return np.zeros(0, dtype=np.int64)
    spread = columns.std(axis=0)
    size = np.abs(columns).max(axis=0)
    varying = np.flatnonzero(np.isfinite(spread) & (spread > 1e-12 * size))
    scaled = (columns[:, varying] - columns[:, varying].mean(axis=0)) / spread[varying]
    # Adding 0 turns -0.0 into 0.0, so that copies are equal bit by bit.
    _, first = np.unique(np.round(scaled, 9) + 0.0, axis=1, return_index=True)
    return varying[np.sort(first)].astype(np.int64)


def stack(columns: Mapping[str, Array], names: Sequence[str]) -> Array:
    """The named columns side by side, shape (rows, names)."""
    rows = len(next(iter(columns.values()), np.zeros(0)))
    return np.column_stack([columns[name] for name in names]) if names else np.zeros((rows, 0))
