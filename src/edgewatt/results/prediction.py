"""A prediction as a result: what `edgewatt predict` wrote as CSV or printed as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from edgewatt.errors import FormatError
from edgewatt.formats.csv_file import read_csv
from edgewatt.formats.json_file import read_json
from edgewatt.networks.layer import LayerKind
from edgewatt.results.estimate import Estimate, added
from edgewatt.results.network_result import Environment, Finding, LayerResult, NetworkResult, Source, Weight
from edgewatt.wording import counted

_FIX = "Name the file that `edgewatt predict --out` wrote, or what `edgewatt predict --json` printed"
#: Quantities, their units in the CSV file and in JSON's keys, and what makes W, s and J of them.
_QUANTITIES = {"power": ("W", "w", 1.0), "runtime": ("ms", "ms", 1e-3), "energy": ("mJ", "mj", 1e-3)}


def is_prediction(path: Path) -> bool:
    """Whether a path looks like a file of predictions."""
    return path.is_file() and path.suffix.lower() in (".csv", ".json")


def read_prediction(path: Path) -> NetworkResult:
    """Read predictions, from a CSV file or from JSON.

    Raises:
        FormatError: The file is missing, broken, or holds no predictions.
    """
    if path.suffix.lower() == ".json":
        return _from_json(read_json(path), path)
    names = [f"{quantity}_prediction ({unit})" for quantity, (unit, _, _) in _QUANTITIES.items()]
    table = read_csv(path, {})
    missing = [name for name in ("layer_name", "layer_type", *names) if name not in table.columns]
    if missing:
        raise FormatError(f"holds no predictions: {', '.join(missing)} are missing", where=path, fix=_FIX)
    numbers = {name: pl.Float64 for name in table.columns if name.endswith(("(W)", "(ms)", "(mJ)"))}
    table = read_csv(path, {**numbers, "extrapolated": pl.Boolean})
    rows = [_csv_row(row) for row in table.iter_rows(named=True)]
    return _result(path.stem, path, _layers(rows, path), {}, {})


def _csv_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the keys that JSON has."""
    known = {name: row.get(name) for name in ("layer_name", "layer_type", "status", "extrapolated")}
    for quantity, (unit, key, _) in _QUANTITIES.items():
        known[f"{quantity}_{key}"] = row[f"{quantity}_prediction ({unit})"]
        ends = [row.get(f"{quantity}_{end} ({unit})") for end in ("low", "high")]
        known[f"{quantity}_interval_{key}"] = None if None in ends else ends
    return known


def _from_json(value: Any, path: Path) -> NetworkResult:
    entries = value.get("layers") if isinstance(value, dict) else None
    if not isinstance(entries, list) or not isinstance(value.get("totals"), dict):
        raise FormatError("holds no predictions", where=path, fix=_FIX)
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise FormatError("the layer is no object", where=f"{path}, layer {number}", fix=_FIX)
    return _result(
        Path(str(value.get("network", path.stem))).stem,
        path,
        _layers(entries, path),
        value["totals"],
        value.get("origin") if isinstance(value.get("origin"), dict) else {},
        _calibrated(value.get("whole_network")),
    )


def _calibrated(whole: Any) -> dict[str, Any]:
    """The network as a whole, where that is more than the sum of its layers."""
    return whole if isinstance(whole, dict) and whole.get("calibrated_on_networks") else {}


def _layers(rows: Sequence[Mapping[str, Any]], path: Path) -> tuple[LayerResult, ...]:
    layers = []
    for number, row in enumerate(rows, start=1):
        where = f"{path}, layer {number}"
        name = row.get("layer_name")
        if not isinstance(name, str):
            raise FormatError("the layer has no name", where=where, fix=_FIX)
        try:
            kind = LayerKind(row.get("layer_type"))
        except ValueError as error:
            raise FormatError(f"{row.get('layer_type')!r} is no kind of layer", where=where, fix=_FIX) from error
        layers.append(
            LayerResult(
                name=name,
                kind=kind,
                operation=str(row.get("operation") or ""),
                runtime_s=_estimate(row, "runtime", where),
                power_above_idle_w=_estimate(row, "power", where),
                energy_above_idle_j=_estimate(row, "energy", where),
                remarks=_remarks(row),
            )
        )
    if not layers:
        raise FormatError("holds no layer", where=path, fix=_FIX)
    return tuple(layers)


def _estimate(row: Mapping[str, Any], quantity: str, where: str) -> Estimate | None:
    _, key, factor = _QUANTITIES[quantity]
    value = _number(row.get(f"{quantity}_{key}"), quantity, where)
    if value is None:
        return None
    ends = row.get(f"{quantity}_interval_{key}")
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return Estimate(value * factor)
    low, high = (_number(end, quantity, where) for end in ends)
    return Estimate(value, low, high).scaled(factor)


def _number(value: Any, quantity: str, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise FormatError(f"the {quantity} is {value!r}", where=where, fix=_FIX)
    return float(value)


def _remarks(row: Mapping[str, Any]) -> tuple[str, ...]:
    status, outside = row.get("status"), row.get("outside_training_range") or ()
    remarks = []
    if status == "uncovered":
        remarks.append("no predictor covers it")
    elif status == "free":
        remarks.append("not executed")
    elif status == "fallback":
        remarks.append("predicted as any kind")
    elif status == "prior":
        remarks.append("prior")
    if outside:
        remarks.append("extrapolated: " + ", ".join(map(str, outside)))
    elif row.get("extrapolated"):
        remarks.append("extrapolated")
    return tuple(remarks)


def _result(
    name: str,
    path: Path,
    layers: tuple[LayerResult, ...],
    totals: Mapping[str, Any],
    origin: Mapping[str, Any],
    whole: Mapping[str, Any] | None = None,
) -> NetworkResult:
    idle = _number(totals.get("idle_power_w"), "idle power", str(path))
    layers = tuple(_with_idle(layer, idle) for layer in layers)
    where, whole = str(path), whole or {}
    board = str(origin.get("title") or origin.get("board") or "")
    return NetworkResult(
        name=name,
        source=Source.PREDICTION,
        path=path,
        layers=layers,
        idle_power_w=idle,
        runtime_s=_estimate(whole, "runtime", where),
        power_w=_estimate(whole, "power", where),
        energy_j=_estimate(whole, "energy", where),
        environment=Environment(board=board, method="prior" if origin.get("prior") else "predictors"),
        findings=tuple(_findings(layers, origin)),
        made=_made(origin, idle),
    )


def _with_idle(layer: LayerResult, idle_power_w: float | None) -> LayerResult:
    """The layer with its power and energy with idle, where idle power is known."""
    power, energy, runtime = layer.power_above_idle_w, layer.energy_above_idle_j, layer.runtime_s
    if idle_power_w is None or power is None or energy is None or runtime is None:
        return layer
    idle = runtime.scaled(idle_power_w)
    return replace(layer, power_w=power.shifted(idle_power_w), energy_j=added([energy, idle]))


def _findings(layers: Sequence[LayerResult], origin: Mapping[str, Any]) -> list[Finding]:
    found = [Finding(Weight.NOTE, "Predicted: nothing here was measured")]
    if origin.get("prior"):
        factor = origin.get("energy_factor")
        known = f" (energies within a factor of {factor:.2g})" if isinstance(factor, float) else ""
        found.append(
            Finding(Weight.CAUTION, f"A prior from published figures of the board, not from measurements of it{known}")
        )
    uncovered = sum(layer.runtime_s is None or layer.power_above_idle_w is None for layer in layers)
    if uncovered:
        found.append(
            Finding(Weight.BAD, f"No predictor covers {uncovered} of {len(layers)} layers: the totals leave them out")
        )
    extrapolated = sum(any(r.startswith("extrapolated") for r in layer.remarks) for layer in layers)
    if extrapolated:
        found.append(
            Finding(
                Weight.CAUTION, f"{counted(extrapolated, 'layer', ('is', 'are'))} unlike those trained on: extrapolated"
            )
        )
    return found


def _made(origin: Mapping[str, Any], idle: float | None) -> dict[str, str]:
    made = {}
    if origin.get("predictors"):
        made["Predictors"] = str(origin["predictors"])
    if origin.get("prior"):
        made["Prior of"] = str(origin.get("title") or origin.get("board"))
    if idle is not None:
        made["Idle power"] = f"{idle:.3f} W"
    return made
