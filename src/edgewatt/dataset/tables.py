"""One network's training tables, from its layers' powers and its engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from edgewatt.dataset.features import feature_frame, table_kind
from edgewatt.errors import FormatError, warn
from edgewatt.formats.engine_info import read_engine_info
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_metrics import read_layer_metrics
from edgewatt.formats.layer_power import FILE_NAME as LAYER_POWER_FILE
from edgewatt.formats.layer_power import LayerPower, read_layer_power
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import read_mapping_info
from edgewatt.formats.training_tables import columns
from edgewatt.mapping.info import NO_POWER
from edgewatt.mapping.summary import summarise_layer
from edgewatt.networks.engine import layers_from_engine
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.tabular import Tabular
from edgewatt.wording import counted

ENGINE_FILE = "trt_engine_info.json"


@dataclass(frozen=True)
class MeasuredLayers:
    """A network's layers as they were mapped.

    Attributes:
        layers: Powers and runtimes, in execution order.
        method: The mapping method.
        idle_power_w: Idle power; None where it is not known.
    """

    layers: list[LayerPower]
    method: str
    idle_power_w: float | None


@dataclass(frozen=True)
class LeftOut:
    """A layer that is in no table.

    Attributes:
        layer_name: Its name.
        reason: Why.
    """

    layer_name: str
    reason: str


@dataclass(frozen=True)
class NetworkTables(Tabular):
    """A network's training tables.

    Attributes:
        model: The run's name.
        tables: One table for each kind, also where it is empty.
        time_share: Share of the network's time (sum over layers) that each table covers.
        left_out: Layers that are in no table.
    """

    model: str
    tables: dict[LayerKind, pl.DataFrame]
    time_share: dict[LayerKind, float]
    left_out: list[LeftOut]


def read_measured_layers(folder: Path) -> MeasuredLayers:
    """Read a preprocessed folder, of ours or of the base method.

    Raises:
        FormatError: It holds neither file, or a broken one.
    """
    if (folder / LAYER_POWER_FILE).exists():
        info = read_mapping_info(folder / MAPPING_FILE)
        layers = read_layer_power(folder / LAYER_POWER_FILE)
        if len(layers) != info.layers:
            raise FormatError(
                f"it holds {len(layers)} layers where {MAPPING_FILE} tells of {info.layers}",
                where=folder / LAYER_POWER_FILE,
                fix="Map it again",
            )
        return MeasuredLayers(layers, info.method, info.idle_power_w)
    if not (folder / METRICS_FILE).exists():
        raise FormatError(
            f"the folder holds neither {LAYER_POWER_FILE} nor {METRICS_FILE}",
            where=folder,
            fix="Map it first",
        )
    metrics = read_layer_metrics(folder / METRICS_FILE)
    layers = [
        summarise_layer(layer.name, layer.backend_type, layer.power_uw, layer.latency_ms, layer.idle_power_w)
        for layer in metrics
    ]
    return MeasuredLayers(layers, "window", metrics[0].idle_power_w if metrics else None)


def build_tables(folder: Path, min_samples: int) -> NetworkTables:
    """Build one network's tables.

    Args:
        folder: Its preprocessed folder.
        min_samples: A layer with fewer power values is left out; not where the run has none at all, whose runtimes
            are still of use.

    Raises:
        FormatError: A file is missing or broken, or the engine has no details.
    """
    measured = read_measured_layers(folder)
    engine_path = folder / ENGINE_FILE
    layers = layers_from_engine(read_engine_info(engine_path).layers, str(engine_path))
    by_name = {layer.name: layer for layer in layers}
    powerless = measured.method == NO_POWER or all(power.power_w is None for power in measured.layers)
    kept: list[tuple[Layer, LayerPower]] = []
    left_out: list[LeftOut] = []
    for power in measured.layers:
        layer = by_name.get(power.layer_name)
        reason = _reason_to_leave_out(layer, power, 0 if powerless else min_samples)
        if layer is None or reason is not None:
            left_out.append(LeftOut(power.layer_name, reason or ""))
        else:
            kept.append((layer, power))
    tables = {kind: _table(kind, kept, measured) for kind in LayerKind}
    if measured.layers and not kept:
        warn(
            "all its layers are left out, so its tables are empty",
            where=folder,
            fix="Record it for longer, or allow fewer power values (--min-samples)",
        )
    total = sum(power.runtime_ms for power in measured.layers)
    share = {kind: float(tables[kind]["runtime"].sum()) / total if total else 0.0 for kind in LayerKind}
    return NetworkTables(folder.name, tables, share, left_out)


def _reason_to_leave_out(layer: Layer | None, power: LayerPower, min_samples: int) -> str | None:
    if layer is None:
        return "the engine does not know it"
    if power.samples < min_samples:
        return f"{counted(power.samples, 'power value')}, fewer than {min_samples}"
    return None


def _table(kind: LayerKind, kept: list[tuple[Layer, LayerPower]], measured: MeasuredLayers) -> pl.DataFrame:
    of_kind = [(layer, power) for layer, power in kept if table_kind(layer) is kind]
    features = feature_frame(kind, [layer for layer, _ in of_kind])
    above_idle = [power.power_above_idle_w for _, power in of_kind]
    return features.with_columns(
        pl.Series("power", [None if w is None else w * 1e6 for w in above_idle], pl.Float64),
        pl.Series("runtime", [power.runtime_ms for _, power in of_kind], pl.Float64),
        pl.lit(measured.idle_power_w, pl.Float64).alias("idle_power_w"),
        pl.Series("samples", [power.samples for _, power in of_kind], pl.Int64),
        pl.lit(measured.method).alias("method"),
    ).select(columns(kind))
