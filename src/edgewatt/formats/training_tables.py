"""The training tables: one CSV for each kind of layer, one folder for each network.

The base columns come first, in the base format's order, then ours. Index 0 is channels, 1 height, 2 width;
`padding` is pre + post; `power` is the layer's power above idle in uW, `runtime` is in ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from edgewatt.errors import FormatError
from edgewatt.formats.csv_file import read_csv, write_csv
from edgewatt.networks.layer import LayerKind

_SIZES = ("input_size_0", "input_size_1", "input_size_2", "output_size_0", "output_size_1", "output_size_2")

#: Columns of the base format that describe a layer, for each kind that the base format has.
BASE_FEATURES: Mapping[LayerKind, tuple[str, ...]] = {
    LayerKind.CONVOLUTIONAL: (
        "batch_size",
        *_SIZES,
        "kernel_0",
        "kernel_1",
        "padding_0",
        "padding_1",
        "stride_0",
        "stride_1",
    ),
    LayerKind.POOLING: ("batch_size", *_SIZES, "kernel_0", "kernel_1", "stride_0", "stride_1"),
    LayerKind.DENSE: ("batch_size", "input_size", "output_size"),
    LayerKind.OTHER: ("batch_size",),
}

#: Columns of the base format that were measured, and the layer's name.
MEASURED = ("power", "runtime", "layer_name")

_TRAFFIC = ("precision", "macs", "weight_bytes", "input_bytes", "output_bytes")

#: Our columns that describe a layer, after the base columns.
EXTRA_FEATURES: Mapping[LayerKind, tuple[str, ...]] = {
    LayerKind.CONVOLUTIONAL: ("operation", "groups", "dilation_0", "dilation_1", *_TRAFFIC),
    LayerKind.POOLING: ("operation", "padding_0", "padding_1", *_TRAFFIC),
    LayerKind.DENSE: ("operation", *_TRAFFIC),
    LayerKind.OTHER: ("operation", *_TRAFFIC),
}

#: Our columns that say how the layer was measured: idle power in W, number of power values, mapping method.
EXTRA_MEASURED = ("idle_power_w", "samples", "method")

_TEXT = frozenset({"layer_name", "precision", "operation", "method"})
_WHOLE = frozenset({"samples", "macs", "weight_bytes", "input_bytes", "output_bytes"})
#: No layer runs longer than a day or takes a megawatt: such a number is of another unit, or damaged.
_MOST_MS, _MOST_UW = 86_400_000.0, 1e12
_FROM_ONE = frozenset({"groups", "dilation_0", "dilation_1"})
_MEASURED_NUMBERS = frozenset({"power", "runtime", "idle_power_w"})


def columns(kind: LayerKind) -> tuple[str, ...]:
    """All columns of a kind's table, in order."""
    return (*BASE_FEATURES[kind], *MEASURED, *EXTRA_FEATURES[kind], *EXTRA_MEASURED)


def column_type(name: str) -> type[pl.DataType]:
    """The type that a column is held in."""
    if name in _TEXT:
        return pl.String
    return pl.Float64 if name in _MEASURED_NUMBERS else pl.Int64


def table_path(folder: Path, kind: LayerKind) -> Path:
    """Where a network's table of one kind lies."""
    return folder / f"{kind}.csv"


def write_tables(folder: Path, tables: Mapping[LayerKind, pl.DataFrame]) -> None:
    """Write one network's tables, each file whole or not at all."""
    for kind, table in tables.items():
        write_csv(table_path(folder, kind), table.select(columns(kind)))


def read_table(path: Path, kind: LayerKind) -> pl.DataFrame:
    """Read one table; a table with the base columns alone is fine, the rest is then absent.

    Args:
        path: The CSV file.
        kind: The kind of layer that it holds.

    Returns:
        The known columns that the file has, in the file's order.

    Raises:
        FormatError: A base column is missing, a value is not a number, a size is not positive, or power or
            runtime is infinite, NaN or (runtime) negative.
    """
    known = set(columns(kind))
    table = read_csv(path, {name: column_type(name) for name in columns(kind)})
    missing = [name for name in (*BASE_FEATURES[kind], *MEASURED) if name not in table.columns]
    if missing:
        raise FormatError(
            f"the columns {', '.join(missing)} are missing",
            where=path,
            fix=f"A {kind} table has the columns {', '.join((*BASE_FEATURES[kind], *MEASURED))}",
        )
    table = table.select([name for name in table.columns if name in known])
    _check_values(table, kind, path)
    return table


def _check_values(table: pl.DataFrame, kind: LayerKind, path: Path) -> None:
    may_be_zero = {"padding_0", "padding_1"}
    rules = [
        (pl.col(name) < (0 if name in may_be_zero else 1)).fill_null(True).alias(name) for name in BASE_FEATURES[kind]
    ]
    # NaN is above every number.
    rules.append(((pl.col("runtime") < 0) | (pl.col("runtime") > _MOST_MS)).fill_null(True).alias("runtime"))
    rules.append((pl.col("power").abs() > _MOST_UW).fill_null(False).alias("power"))
    for name in (*EXTRA_FEATURES[kind], *EXTRA_MEASURED):
        if name in table.columns and name not in _TEXT:
            below = pl.col(name) < (1 if name in _FROM_ONE else 0)
            rules.append((below | ~pl.col(name).is_finite()).fill_null(False).alias(name))
    wrong = table.select(rules)
    for name in wrong.columns:
        row = wrong[name].arg_max() if wrong[name].any() else None
        if row is not None:
            raise FormatError(
                f"{name} is {table[name][row]!r}, which it cannot be",
                where=f"{path}, line {row + 2}",
                fix="Sizes are whole numbers from 1, runtimes are in ms and powers in uW",
            )
