"""Training data of the simulated board's truth, with errors as a measurement has them, without recording anything."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import polars as pl

import edgewatt
from edgewatt.dataset.features import feature_frame, table_kind
from edgewatt.formats.network_info import NetworkInfo
from edgewatt.formats.training_tables import columns
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.layer import FREE_OPERATIONS, LayerKind
from edgewatt.predictors.training_data import TrainingData
from edgewatt.simulation.board import find_board
from edgewatt.simulation.roofline import layer_truth

#: Standard deviations of what is off: a layer's power by a few per cent, its runtime hardly.
POWER_ERROR, RUNTIME_ERROR = 0.03, 0.005
#: Time of a cycle beside its layers, and power above idle meanwhile.
CYCLE_S, GAP_W = 20e-6, 0.6


def simulated_data(networks: Sequence[str], power_mode: str = "15W", *, precision: str = "float16") -> TrainingData:
    """Tables of networks on the simulated board in a power mode."""
    board = find_board("orin-nano", power_mode)
    parts: dict[LayerKind, list[pl.DataFrame]] = {kind: [] for kind in LayerKind}
    measured = {}
    for name in networks:
        random = np.random.default_rng(crc32(f"{name} {power_mode}".encode()))
        layers = [
            layer for layer in network_layers(name, precision=precision) if layer.operation not in FREE_OPERATIONS
        ]
        runtime_s, power_w = layer_truth(layers, board)
        layers = [layer for layer, time in zip(layers, runtime_s, strict=True) if time > 0]
        power_w, runtime_s = power_w[runtime_s > 0], runtime_s[runtime_s > 0]
        total_s = float(runtime_s.sum()) + CYCLE_S
        energy_j = float(power_w @ runtime_s) + GAP_W * CYCLE_S + board.idle_power_w * total_s
        measured[name] = NetworkInfo(
            edgewatt_version=edgewatt.__version__,
            model=name,
            method="deconvolve",
            runtime_s=total_s,
            energy_j=energy_j,
            sum_of_layers_s=float(runtime_s.sum()),
            time_share=1.0,
            idle_power_w=board.idle_power_w,
            cycles=1000,
            run={"board": "simulated orin-nano", "power_mode": power_mode, "precision": precision},
        )
        shown_w = power_w * (1 + POWER_ERROR * random.standard_normal(len(power_w)))
        shown_ms = runtime_s * 1e3 * (1 + RUNTIME_ERROR * random.standard_normal(len(runtime_s)))
        for kind in LayerKind:
            rows = [index for index, layer in enumerate(layers) if table_kind(layer) is kind]
            table = feature_frame(kind, [layers[index] for index in rows]).with_columns(
                pl.Series("power", shown_w[rows] * 1e6, pl.Float64),
                pl.Series("runtime", shown_ms[rows], pl.Float64),
                pl.lit(board.idle_power_w, pl.Float64).alias("idle_power_w"),
                pl.lit(100, pl.Int64).alias("samples"),
                pl.lit("deconvolve").alias("method"),
            )
            parts[kind].append(table.select(columns(kind)).with_columns(pl.lit(name).alias("network")))
    tables = {kind: pl.concat(tables) for kind, tables in parts.items() if any(table.height for table in tables)}
    return TrainingData(tables, tuple(networks), measured)
