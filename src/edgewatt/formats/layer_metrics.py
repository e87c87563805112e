"""`power_runtime_mapping_layerwise.csv`: the window method's power of each layer in each cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.atomic import replacing
from edgewatt.formats.csv_file import check_ended, read_csv
from edgewatt.formats.layer_cycles import LayerRuntimes

FILE_NAME = "power_runtime_mapping_layerwise.csv"
INCLUDING_IDLE = "layer_power_including_idle_power_micro_watt"
EXCLUDING_IDLE = "layer_power_excluding_idle_power_micro_watt"
_ROWS_AT_ONCE = 500_000
_SCHEMA: dict[str, type[pl.DataType]] = {
    "cycle": pl.Int64,
    "layer_name": pl.String,
    "layer_type": pl.String,
    INCLUDING_IDLE: pl.Float64,
    EXCLUDING_IDLE: pl.Float64,
    "layer_run_time": pl.Float64,
}
_LEAN_SCHEMA: dict[str, Any] = {**_SCHEMA, "layer_name": pl.Categorical, "layer_type": pl.Categorical}


def metrics_frame(
    layers: LayerRuntimes,
    power_uw: NDArray[np.float64],
    idle_power_uw: float,
    first: int = 0,
    last: int | None = None,
) -> pl.DataFrame:
    """Lay powers out as the file's rows: cycle by cycle (from 1), the layers in execution order.

    Args:
        layers: Runtimes of the layers.
        power_uw: Power in uW, shape (layers, cycles), NaN for none.
        idle_power_uw: Idle power in uW.
        first: The first cycle, from 0.
        last: The cycle to stop before; all, when None.
    """
    part = slice(first, layers.cycles if last is None else last)
    power = pl.Series(INCLUDING_IDLE, power_uw[:, part].T.ravel()).fill_nan(None)
    cycles = power_uw[:, part].shape[1]
    number = np.arange(first + 1, first + cycles + 1, dtype=np.int64)
    row = np.tile(np.arange(len(layers.names)), cycles)
    names = pl.Series("layer_name", layers.names, dtype=pl.Categorical)
    types = pl.Series("layer_type", layers.types, dtype=pl.Categorical)
    return pl.DataFrame(
        {
            "cycle": np.repeat(number, len(layers.names)),
            "layer_name": names.gather(row),
            "layer_type": types.gather(row),
            INCLUDING_IDLE: power,
            EXCLUDING_IDLE: power - idle_power_uw,
            "layer_run_time": layers.latency_ms[:, part].T.ravel(),
        }
    )


def write_layer_metrics(path: Path, layers: LayerRuntimes, power_uw: NDArray[np.float64], idle_power_uw: float) -> None:
    """Write the file, whole or not at all, some cycles at a time; arguments as for `metrics_frame`."""
    step = max(1, _ROWS_AT_ONCE // len(layers.names))
    with replacing(path) as beside, beside.open("wb") as file:
        for first in range(0, layers.cycles, step):
            rows = metrics_frame(layers, power_uw, idle_power_uw, first, min(first + step, layers.cycles))
            rows.write_csv(file, include_header=first == 0, quote_style="non_numeric")


@dataclass(frozen=True)
class LayerMetrics:
    """One layer's rows of the file.

    Attributes:
        name: The layer's name, told apart where one repeats within a cycle.
        backend_type: The backend's type of it.
        power_uw: Power including idle in uW in each cycle; NaN for none.
        latency_ms: Latency in ms in each cycle.
        idle_power_w: Idle power in W that the file's two powers differ by; None where it holds only one.
    """

    name: str
    backend_type: str
    power_uw: NDArray[np.float64]
    latency_ms: NDArray[np.float64]
    idle_power_w: float | None


def read_metrics_table(path: Path) -> pl.DataFrame:
    """Read the file as it is, its columns typed, names and types of layers as categories or text.

    Raises:
        FormatError: The file is missing, broken, cut short or without rows, lacks a column, or a runtime or power is
            not finite.
    """
    table = _read_lean(path)
    if table is None:
        table = read_csv(path, _SCHEMA)
        check_ended(path)
    missing = [name for name in _SCHEMA if name != EXCLUDING_IDLE and name not in table.columns]
    if missing:
        raise FormatError(f"the columns {', '.join(missing)} are missing", where=path, fix="Map it again")
    if table.select("cycle", "layer_name", "layer_run_time").null_count().sum_horizontal()[0]:
        raise FormatError("a row has no cycle, layer or runtime", where=path, fix="Map it again")
    _check_values(table, path)
    return table


def read_layer_metrics(path: Path) -> list[LayerMetrics]:
    """Read the file of an older preprocessed folder, layer by layer in execution order.

    Raises:
        FormatError: The file is missing, broken, cut short or without rows, lacks a column, or a runtime or power is
            not finite.
    """
    table = read_metrics_table(path)
    idle = None
    if EXCLUDING_IDLE in table.columns:
        idle_uw = (table[INCLUDING_IDLE] - table[EXCLUDING_IDLE]).median()
        idle = None if idle_uw is None else float(str(idle_uw)) / 1e6
    return [
        LayerMetrics(
            name=name if number == 0 else f"{name} ({number + 1})",
            backend_type=str(rows["layer_type"][0] or ""),
            power_uw=rows[INCLUDING_IDLE].fill_null(float("nan")).to_numpy(),
            latency_ms=rows["layer_run_time"].to_numpy(),
            idle_power_w=idle,
        )
        for name, number, rows in _by_layer(table)
    ]


def _by_layer(table: pl.DataFrame) -> Iterator[tuple[str, int, pl.DataFrame]]:
    """Each layer's name, how many of its name come before it in a cycle, and its rows; in execution order."""
    width = _layers_of_every_cycle(table)
    if width is not None:
        seen: Counter[str] = Counter()
        for first, name in enumerate(table["layer_name"][:width].cast(pl.String).to_list()):
            yield name, seen[name], table[first::width]
            seen[name] += 1
        return
    occurrence = pl.int_range(pl.len()).over("cycle", "layer_name").alias("occurrence")
    groups = table.with_columns(occurrence).partition_by(
        ["layer_name", "occurrence"], maintain_order=True, as_dict=True
    )
    for (name, number), rows in groups.items():
        yield str(name), int(number), rows


def _layers_of_every_cycle(table: pl.DataFrame) -> int | None:
    """The number of layers, where every cycle has the same ones in the same order, as writers leave it; else None."""
    cycle = table["cycle"].to_numpy()
    others = np.flatnonzero(cycle != cycle[0])
    width = int(others[0]) if len(others) else len(cycle)
    if len(cycle) % width:
        return None
    cycles = cycle.reshape(-1, width)
    codes = table["layer_name"].cast(pl.Categorical).to_physical().to_numpy().reshape(-1, width)
    # A cycle that is split would come twice.
    is_regular = (cycles == cycles[:, :1]).all() and (np.diff(cycles[:, 0]) > 0).all() and (codes == codes[0]).all()
    return width if is_regular else None


def _read_lean(path: Path) -> pl.DataFrame | None:
    """Read the file without holding any number or repeated name as text, of which millions of rows hold gigabytes.

    Returns:
        The table; None where anything is off, for the careful reader to tell what.
    """
    try:
        check_ended(path)
        rows = pl.scan_csv(path, schema_overrides=_LEAN_SCHEMA, infer_schema=False, glob=False)
        if any(name.endswith("_duplicated_0") for name in rows.collect_schema().names()):
            return None
        return rows.collect()
    except (EdgewattError, OSError, UnicodeError, pl.exceptions.PolarsError):
        return None


def _check_values(table: pl.DataFrame, path: Path) -> None:
    if not table.height:
        raise FormatError("the file holds no layer", where=path, fix="Map it again")
    runtime = pl.col("layer_run_time")
    powers = [name for name in (INCLUDING_IDLE, EXCLUDING_IDLE) if name in table.columns]
    wrong = table.select(
        (~(runtime.is_finite() & (runtime >= 0))).alias("layer_run_time"),
        # Some writers leave NaN instead of an empty field where a layer has no power.
        *(pl.col(name).is_infinite().fill_null(False) for name in powers),
    )
    for name in wrong.columns:
        if wrong[name].any():
            row = wrong[name].arg_max() or 0
            raise FormatError(f"{name} is {table[name][row]}", where=f"{path}, line {row + 2}", fix="Map it again")
