"""`layer_power.csv`: one row a layer, in execution order, whichever method mapped it. Ours."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from edgewatt.errors import FormatError
from edgewatt.formats.csv_file import check_ended, read_csv, write_csv

FILE_NAME = "layer_power.csv"


@dataclass(frozen=True)
class LayerPower:
    """What is known of one layer's power; None is unknown.

    Attributes:
        layer_name: Unique in its network.
        layer_type: The backend's type.
        runtime_ms: Mean runtime of a cycle in ms.
        power_w: Power with idle, in W.
        power_above_idle_w: Power above idle, in W.
        power_low_w: Lower end of the 90 % interval of `power_w`.
        power_high_w: Upper end of it.
        energy_mj: Energy of a cycle with idle, in mJ.
        samples: Number of values behind the power: cycles with a reading (window) or fresh values
            (deconvolve).
        identifiable: Whether the recording tells this layer apart from the others; None where the method
            cannot say (window).
        runtime_low_ms: Lower end of the 90 % interval of `runtime_ms`; None for fewer than two cycles, and in files of
            earlier versions.
        runtime_high_ms: Upper end of it.
    """

    layer_name: str
    layer_type: str
    runtime_ms: float
    power_w: float | None
    power_above_idle_w: float | None
    power_low_w: float | None
    power_high_w: float | None
    energy_mj: float | None
    samples: int
    identifiable: bool | None
    runtime_low_ms: float | None = None
    runtime_high_ms: float | None = None


_SCHEMA: dict[str, type[pl.DataType]] = {
    field.name: pl.Float64 for field in fields(LayerPower) if field.name not in ("layer_name", "layer_type")
} | {"layer_name": pl.String, "layer_type": pl.String, "samples": pl.Int64, "identifiable": pl.Boolean}
_LATER = ("runtime_low_ms", "runtime_high_ms")
_NUMBERS = ("power_w", "power_above_idle_w", "power_low_w", "power_high_w", "energy_mj", *_LATER)
COLUMNS = tuple(field.name for field in fields(LayerPower))


def layer_power_frame(layers: list[LayerPower]) -> pl.DataFrame:
    """The layers as a table."""
    return pl.DataFrame([asdict(layer) for layer in layers], schema={name: _SCHEMA[name] for name in COLUMNS})


def write_layer_power(path: Path, layers: list[LayerPower]) -> None:
    """Write the file, whole or not at all."""
    write_csv(path, layer_power_frame(layers))


def read_layer_power(path: Path) -> list[LayerPower]:
    """Read the file.

    Raises:
        FormatError: The file is missing, broken, cut short or without layers, lacks a column, or a number is not
            finite.
    """
    table = read_csv(path, _SCHEMA)
    check_ended(path)
    missing = [name for name in COLUMNS if name not in (*table.columns, *_LATER)]
    if missing:
        raise FormatError(f"the columns {', '.join(missing)} are missing", where=path, fix="Map it again")
    if not table.height:
        raise FormatError("the file holds no layer", where=path, fix="Map it again")
    twice = table["layer_name"].is_duplicated()
    if twice.any():
        where = f"{path}, line {len(twice) + 1 - (twice.reverse().arg_max() or 0)}"
        raise FormatError("the layer comes twice", where=where, fix="Map it again")
    rows: list[dict[str, Any]] = table.select(name for name in COLUMNS if name in table.columns).to_dicts()
    for number, row in enumerate(rows, start=2):
        runtime = row["runtime_ms"]
        if row["layer_name"] is None or runtime is None or not 0 <= runtime < float("inf"):
            raise FormatError("the layer has no name or no runtime", where=f"{path}, line {number}", fix="Map it again")
        known = (name for name in _NUMBERS if row.get(name) is not None)
        wrong = next((name for name in known if not isfinite(row[name])), None)
        if wrong is not None:
            raise FormatError(f"{wrong} is {row[wrong]}", where=f"{path}, line {number}", fix="Map it again")
        row["layer_type"] = row["layer_type"] or ""
        row["samples"] = row["samples"] or 0
    return [LayerPower(**row) for row in rows]
