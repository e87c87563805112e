"""What a sweep measured until now, as training tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from edgewatt.dataset.features import feature_frame, table_kind
from edgewatt.formats.layer_power import LayerPower
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.training_data import NETWORK


def swept_tables(
    layers: Sequence[Layer], measured: Mapping[str, LayerPower], name: str
) -> dict[LayerKind, pl.DataFrame]:
    """The tables of the layers that were measured; kinds without any are absent.

    Args:
        layers: Descriptions, their names unique.
        measured: What was measured, by name.
        name: The sweep's name.
    """
    tables = {}
    for kind in LayerKind:
        chosen = [layer for layer in layers if layer.name in measured and table_kind(layer) is kind]
        if chosen:
            rows = [measured[layer.name] for layer in chosen]
            power = [None if row.power_above_idle_w is None else row.power_above_idle_w * 1e6 for row in rows]
            tables[kind] = feature_frame(kind, chosen).with_columns(
                pl.Series("power", power, pl.Float64),
                pl.Series("runtime", [row.runtime_ms for row in rows], pl.Float64),
                pl.lit(name).alias(NETWORK),
            )
    return tables
