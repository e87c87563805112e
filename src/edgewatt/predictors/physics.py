"""What a layer does, in physical amounts that are the same for every kind: operations, bytes, and its matrix product.

A convolution is computed as a product of matrices (implicit GEMM; Chetlur et al., "cuDNN: Efficient Primitives for
Deep Learning", arXiv 1410.0759): one row an output position, one column an output channel of a group, as deep as a
group's input channels times the kernel. Hardware works on tiles of it, so what it takes depends on how well rows,
columns and depth fill them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.board_features import BOARD_COLUMNS
from edgewatt.predictors.terms import Array

#: Bytes of one value; a precision that is not named is taken for float32.
_VALUE_BYTES = {"int8": 1.0, "uint8": 1.0, "fp8": 1.0, "float16": 2.0, "bfloat16": 2.0}

_BYTE_COLUMNS = ("weight_bytes", "input_bytes", "output_bytes")

#: Names of the amounts, in the order in which features are made of them.
AMOUNTS = (
    *("batch", "macs", "window", *_BYTE_COLUMNS, "value_bytes"),
    *("rows", "columns", "depth", "groups"),
    *("input_channels", "input_size", "output_channels", "output_size"),
    *("kernel_0", "kernel_1", "stride", "dilation", "padding", "depthwise", "transposed"),
    *(str(kind) for kind in LayerKind),
    *("tensor_time", "cuda_time", "memory_time", "core_time", "board_cores", "board_idle"),
)

#: The amounts that are the board's; all are 1 where a table does not tell of boards.
BOARD_AMOUNTS = ("tensor_time", "cuda_time", "memory_time", "core_time", "board_cores", "board_idle")


@dataclass(frozen=True, eq=False)
class LayerAmounts:
    """Amounts of layers, n of them.

    Attributes:
        values: Every one of `AMOUNTS`, shape (n,). `macs` are multiply-accumulates; `window` values that pooling
            windows cover; `rows`, `columns`, `depth` those of each group's matrix product; sizes are height times
            width; `depthwise`, `transposed` and the kinds are 0 or 1.
        operations: What each layer does, finer than its kind; empty where the table does not tell.
    """

    values: Mapping[str, Array]
    operations: tuple[str, ...]

    def __len__(self) -> int:
        """Number of layers."""
        return len(self.operations)

    def __getitem__(self, name: str) -> Array:
        """One of the amounts."""
        return self.values[name]

    @property
    def total_bytes(self) -> Array:
        """Bytes of weights, inputs and outputs, shape (n,)."""
        return self["weight_bytes"] + self["input_bytes"] + self["output_bytes"]


def concatenated(parts: Sequence[LayerAmounts]) -> LayerAmounts:
    """The layers of all parts, in order."""
    values = {name: np.concatenate([part[name] for part in parts]) for name in AMOUNTS}
    return LayerAmounts(values, tuple(operation for part in parts for operation in part.operations))


def differs_by_board(amounts: LayerAmounts) -> bool:
    """Whether layers ran on boards of different figures."""
    return any(bool(np.ptp(amounts[name]) > 0.0) for name in ("memory_time", "board_cores", "board_idle"))


def is_detailed(table: pl.DataFrame) -> bool:
    """Whether a table tells precisions and bytes itself, so that they need not be worked out as if for float32."""
    needed = ("precision", *_BYTE_COLUMNS)
    return all(name in table.columns and table[name].null_count() == 0 for name in needed)


def layer_amounts(kind: LayerKind, table: pl.DataFrame, detailed: bool) -> LayerAmounts:
    """The amounts of layers of one kind.

    Args:
        kind: The kind of layer.
        table: A training table or a `feature_frame`.
        detailed: Take bytes and precisions from the table's own columns (a residual addition that is fused into a
            convolution reads more than its input); else work them out of the base columns, four bytes a value. What
            is predicted must be described as what was trained on.

    Raises:
        EdgewattError: A column is missing.
    """
    columns = _Columns(kind, table)
    if kind in (LayerKind.CONVOLUTIONAL, LayerKind.POOLING):
        values = _window_amounts(kind, columns)
    elif kind is LayerKind.DENSE:
        values = _dense_amounts(columns)
    else:
        values = _other_amounts(columns)
    if detailed:
        values |= {name: columns.required(name) for name in _BYTE_COLUMNS}
        precisions = table["precision"].to_list()
        values["value_bytes"] = np.array([_VALUE_BYTES.get(name, 4.0) for name in precisions], dtype=np.float64)
    values |= _board_amounts(columns, values["value_bytes"])
    ones = np.ones(table.height)
    complete = {name: values.get(name, ones) for name in AMOUNTS}
    complete |= {str(other): ones * float(other is kind) for other in LayerKind}
    return LayerAmounts(complete, columns.operations())


class _Columns:
    """Columns of a table as floats; a column that an older table lacks has a neutral value."""

    def __init__(self, kind: LayerKind, table: pl.DataFrame) -> None:
        self._kind = kind
        self._table = table

    def required(self, name: str) -> Array:
        if name not in self._table.columns:
            raise EdgewattError(f"the column {name} of {self._kind} layers is missing")
        values: Array = self._table[name].cast(pl.Float64).fill_null(0.0).to_numpy()
        return values

    def optional(self, name: str, where_absent: float) -> Array:
        if name not in self._table.columns:
            return np.full(self._table.height, where_absent)
        values: Array = self._table[name].cast(pl.Float64).fill_null(where_absent).to_numpy()
        return values

    def has(self, names: Sequence[str]) -> bool:
        return all(name in self._table.columns and self._table[name].null_count() == 0 for name in names)

    def operations(self) -> tuple[str, ...]:
        if "operation" not in self._table.columns:
            return ("",) * self._table.height
        return tuple(name or "" for name in self._table["operation"].cast(pl.String).to_list())

    def is_operation(self, operation: str) -> Array:
        return np.array([float(name == operation) for name in self.operations()], dtype=np.float64)


def _window_amounts(kind: LayerKind, columns: _Columns) -> dict[str, Array]:
    batch = columns.required("batch_size")
    in_c, in_h, in_w = (columns.required(f"input_size_{index}") for index in range(3))
    out_c, out_h, out_w = (columns.required(f"output_size_{index}") for index in range(3))
    kernel_0, kernel_1 = columns.required("kernel_0"), columns.required("kernel_1")
    transposed = columns.is_operation("transposed")
    is_convolution = kind is LayerKind.CONVOLUTIONAL
    groups = np.maximum(columns.optional("groups", 1.0), 1.0)
    # A transposed convolution spreads every input over the kernel; any other sums the kernel for every output.
    positions = batch * np.where(transposed > 0, in_h * in_w, out_h * out_w)
    depth = in_c / groups * kernel_0 * kernel_1 if is_convolution else kernel_0 * kernel_1
    weights = out_c * in_c / groups * kernel_0 * kernel_1
    none = np.zeros(len(batch))
    return {
        "batch": batch,
        "macs": positions * out_c * depth if is_convolution else none,
        "window": none if is_convolution else positions * out_c * depth,
        "weight_bytes": 4.0 * weights if is_convolution else none,
        "input_bytes": 4.0 * batch * in_c * in_h * in_w,
        "output_bytes": 4.0 * batch * out_c * out_h * out_w,
        "value_bytes": np.full(len(batch), 4.0),
        "rows": positions,
        "columns": out_c / groups if is_convolution else out_c,
        "depth": depth,
        "groups": groups,
        "input_channels": in_c,
        "input_size": in_h * in_w,
        "output_channels": out_c,
        "output_size": out_h * out_w,
        "kernel_0": kernel_0,
        "kernel_1": kernel_1,
        "stride": columns.required("stride_0") * columns.required("stride_1"),
        "dilation": columns.optional("dilation_0", 1.0) * columns.optional("dilation_1", 1.0),
        "padding": columns.optional("padding_0", 0.0) + columns.optional("padding_1", 0.0),
        "depthwise": ((groups > 1) & (groups == in_c)).astype(np.float64),
        "transposed": transposed,
    }


def _dense_amounts(columns: _Columns) -> dict[str, Array]:
    rows, depth, width = (columns.required(name) for name in ("batch_size", "input_size", "output_size"))
    none = np.zeros(len(rows))
    return {
        "batch": rows,
        "macs": rows * depth * width,
        "window": none,
        "weight_bytes": 4.0 * depth * width,
        "input_bytes": 4.0 * rows * depth,
        "output_bytes": 4.0 * rows * width,
        "value_bytes": np.full(len(rows), 4.0),
        "rows": rows,
        "columns": width,
        "depth": depth,
        "input_channels": depth,
        "output_channels": width,
        "padding": none,
        "depthwise": none,
        "transposed": none,
    }


def _board_amounts(columns: _Columns, value_bytes: Array) -> dict[str, Array]:
    """What the board's peak rates make of an operation and a byte; nothing where the table tells of no boards."""
    if not columns.has(BOARD_COLUMNS):
        return {}
    tensor, cuda, bandwidth, multiprocessors, cores, idle = (columns.required(name) for name in BOARD_COLUMNS)
    # Costs count a narrow operation as a part of one; the rate is of the narrow operation already.
    relative = value_bytes / 4.0
    tensor_time = 1.0 / (tensor * relative)
    return {
        "tensor_time": tensor_time,
        "cuda_time": 1.0 / (cuda * relative),
        "memory_time": 1.0 / bandwidth,
        "core_time": tensor_time * multiprocessors,
        "board_cores": cores,
        "board_idle": idle,
    }


def _other_amounts(columns: _Columns) -> dict[str, Array]:
    batch = columns.required("batch_size")
    none = np.zeros(len(batch))
    value_bytes = np.full(len(batch), 4.0)
    output_bytes = columns.optional("output_bytes", 0.0)
    return {
        "batch": batch,
        "macs": columns.optional("macs", 0.0),
        "window": none,
        "weight_bytes": columns.optional("weight_bytes", 0.0),
        "input_bytes": columns.optional("input_bytes", 0.0),
        "output_bytes": output_bytes,
        "value_bytes": value_bytes,
        "rows": np.maximum(output_bytes / 4.0, 1.0),
        "padding": none,
        "depthwise": none,
        "transposed": none,
    }
