"""The tables of a recording, of mapped networks, of training tables and of a prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from edgewatt.dataset.tables import read_measured_layers
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.exchange.sources import Source, SourceKind
from edgewatt.formats.csv_file import read_csv
from edgewatt.formats.file_kind import advice
from edgewatt.formats.json_file import read_json
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_metrics import read_metrics_table
from edgewatt.formats.layer_power import layer_power_frame
from edgewatt.formats.power_log import read_power_log
from edgewatt.formats.recording import RecordingPaths, read_recording
from edgewatt.formats.training_tables import read_table, table_path
from edgewatt.networks.layer import LayerKind
from edgewatt.results.prediction import read_prediction

_ALL = "all"


def table_names(kind: SourceKind) -> tuple[str, ...]:
    """Names of the tables that a kind of source has; the first is the one that people want."""
    return tuple(_TABLES[kind])


def source_table(source: Source, name: str | None = None) -> pl.DataFrame:
    """One table of a source.

    Args:
        source: What is exported.
        name: One of `table_names`; the first of them where it is None.

    Returns:
        The table; where a folder of several networks was named, with the column `network` before the others.

    Raises:
        EdgewattError: There is no such table.
        FormatError: A file is missing or broken.
    """
    tables = _TABLES[source.kind]
    if name is not None and name not in tables:
        raise EdgewattError(
            f"{source.kind.value} has no table {name!r}", where=source.path, fix=f"There are: {', '.join(tables)}"
        )
    read = tables[name or next(iter(tables))]
    if not source.several:
        return read(source.folders[0])
    root = source.path.resolve()
    names = [folder.relative_to(root).as_posix() for folder in source.folders]
    parts = [
        read(folder).select(pl.lit(name).alias("network"), pl.all())
        for name, folder in zip(names, source.folders, strict=True)
    ]
    return pl.concat(parts, how="diagonal")


#: Quantities of a prediction: the column's name and unit, the result's attribute, and what makes that unit of it.
_PREDICTED = (
    ("power", "W", "power_above_idle_w", 1.0),
    ("runtime", "ms", "runtime_s", 1e3),
    ("energy", "mJ", "energy_above_idle_j", 1e3),
)


def prediction_table(path: Path) -> pl.DataFrame:
    """Read `predictions.csv`: text in `layer_name`, `layer_type` and columns that are not numbers, else floats.

    What `edgewatt predict --json` printed is read, too, and has the same columns.

    Raises:
        FormatError: The file is missing, broken or no prediction.
    """
    if path.suffix.lower() == ".json":
        return _json_prediction(path)
    table = read_csv(path, {})
    if not {"layer_name", "power_prediction (W)", "runtime_prediction (ms)"} <= set(table.columns):
        raise FormatError(
            "not a file of predictions", where=path, fix=advice(path, None, "Write one with `edgewatt predict --out`")
        )
    if not table.height:
        raise FormatError("the prediction holds no layer", where=path, fix="Predict again")
    return table.with_columns(_typed(table[name], path) for name in table.columns)


def _json_prediction(path: Path) -> pl.DataFrame:
    value = read_json(path)
    if not isinstance(value, dict) or not {"layers", "totals"} <= set(value):
        what = "Name what `edgewatt predict` wrote"
        raise FormatError("not a file of predictions", where=path, fix=advice(path, None, what))
    layers = read_prediction(path).layers
    columns: dict[str, list[float | None]] = {}
    for part in ("prediction", "low", "high"):
        for quantity, unit, attribute, factor in _PREDICTED:
            found = [getattr(layer, attribute) for layer in layers]
            ends = [None if one is None else one.value if part == "prediction" else getattr(one, part) for one in found]
            columns[f"{quantity}_{part} ({unit})"] = [None if end is None else end * factor for end in ends]
    entries = value["layers"]
    return pl.DataFrame(
        {
            "layer_name": [layer.name for layer in layers],
            "layer_type": [layer.kind.value for layer in layers],
            **{name: pl.Series(values, dtype=pl.Float64) for name, values in columns.items()},
            "status": pl.Series([entry.get("status") for entry in entries], dtype=pl.String),
            "extrapolated": pl.Series([entry.get("extrapolated") for entry in entries], dtype=pl.Boolean),
        }
    )


def _typed(text: pl.Series, path: Path) -> pl.Series:
    if text.name in ("layer_name", "layer_type"):
        return pl.Series(text.name, text.fill_null(""))
    numbers: pl.Series = text.cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & text.is_not_null() & (text != "")).fill_null(False)
    if not wrong.any():
        return numbers
    if "prediction" in text.name:
        row = int(wrong.arg_max() or 0)
        raise FormatError(f"{text.name} is {text[row]!r}, not a number", where=f"{path}, line {row + 2}")
    return text


def _layers(folder: Path) -> pl.DataFrame:
    return layer_power_frame(read_measured_layers(folder).layers)


def _mapped_cycles(folder: Path) -> pl.DataFrame:
    path = folder / METRICS_FILE
    if not path.exists():
        raise EdgewattError(
            "the network has no power for each cycle", where=folder, fix="Map it with `edgewatt map --method window`"
        )
    return read_metrics_table(path)


def _training(folder: Path) -> pl.DataFrame:
    """Every kind's table below each other; what a kind has no column for is null."""
    parts = [_training_kind(kind, folder).select(pl.lit(kind.value).alias("kind"), pl.all()) for kind in LayerKind]
    return pl.concat([part for part in parts if part.height] or parts, how="diagonal")


def _training_kind(kind: LayerKind, folder: Path) -> pl.DataFrame:
    path = table_path(folder, kind)
    return read_table(path, kind) if path.exists() else pl.DataFrame()


def _recorded_cycles(folder: Path) -> pl.DataFrame:
    layers = read_recording(RecordingPaths(folder)).layers
    names = pl.Series("layer_name", layers.names, dtype=pl.Categorical)
    types = pl.Series("layer_type", layers.types, dtype=pl.Categorical)
    row = np.tile(np.arange(len(layers.names)), layers.cycles)
    return pl.DataFrame(
        {
            "cycle": np.repeat(np.arange(1, layers.cycles + 1), len(layers.names)),
            "layer_name": names.gather(row),
            "layer_type": types.gather(row),
            "runtime_ms": layers.latency_ms.T.ravel(),
            "reported": pl.Series(layers.end_us.T.ravel()).cast(pl.Datetime("us")),
        }
    )


def _readings(folder: Path) -> pl.DataFrame:
    log = read_power_log(RecordingPaths(folder).power_log)
    return pl.DataFrame(
        {
            "time": pl.Series(log.times_us).cast(pl.Datetime("us")),
            "voltage_mv": log.voltage_mv,
            "current_ma": log.current_ma,
            "power_w": log.power_uw / 1e6,
        }
    )


_TABLES: Mapping[SourceKind, Mapping[str, Callable[[Path], pl.DataFrame]]] = {
    SourceKind.MAPPED: {"layers": _layers, "cycles": _mapped_cycles},
    SourceKind.TRAINING: {_ALL: _training, **{kind.value: partial(_training_kind, kind) for kind in LayerKind}},
    SourceKind.PREDICTION: {"layers": prediction_table},
    SourceKind.RECORDING: {"cycles": _recorded_cycles, "readings": _readings},
}
