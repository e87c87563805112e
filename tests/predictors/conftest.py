"""Layers and training tables made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from edgewatt.formats.csv_file import write_csv
from edgewatt.formats.training_tables import BASE_FEATURES, table_path
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors import registry
from edgewatt.predictors.targets import Target

TableMaker = Callable[..., pl.DataFrame]


@pytest.fixture
def convolutions() -> TableMaker:
    """Random convolutions with base columns alone; 1 ms and 1 W unless columns say otherwise."""

    def make(rows: int, seed: int = 0) -> pl.DataFrame:
        random = np.random.default_rng(seed)
        kernel = random.integers(1, 6, rows)
        output = random.integers(4, 60, rows)
        columns = {name: np.ones(rows, dtype=np.int64) for name in BASE_FEATURES[LayerKind.CONVOLUTIONAL]}
        columns |= {
            "input_size_0": random.integers(3, 200, rows),
            "input_size_1": output + kernel - 1,
            "input_size_2": output + kernel - 1,
            "output_size_0": random.integers(3, 200, rows),
            "output_size_1": output,
            "output_size_2": output,
            "kernel_0": kernel,
            "kernel_1": kernel,
            "padding_0": np.zeros(rows, dtype=np.int64),
            "padding_1": np.zeros(rows, dtype=np.int64),
        }
        return pl.DataFrame(columns).with_columns(
            pl.lit(1e6).alias("power"),
            pl.lit(1.0).alias("runtime"),
            pl.Series("layer_name", [f"conv, {index}" for index in range(rows)]),
        )

    return make


@pytest.fixture
def dense_layers() -> TableMaker:
    """Random dense layers with base columns alone."""

    def make(rows: int, seed: int = 0) -> pl.DataFrame:
        random = np.random.default_rng(seed)
        return pl.DataFrame(
            {
                "batch_size": np.ones(rows, dtype=np.int64),
                "input_size": random.integers(10, 4000, rows),
                "output_size": random.integers(10, 1000, rows),
                "power": random.uniform(1e6, 4e6, rows),
                "runtime": random.uniform(0.01, 2.0, rows),
                "layer_name": [f"fc{index}" for index in range(rows)],
            }
        )

    return make


@pytest.fixture
def training_dir(tmp_path: Path, convolutions: TableMaker, dense_layers: TableMaker) -> Path:
    """Six networks a to f of 12 convolutions, three of them with two dense layers each.

    A convolution takes 0.01 ms and 1e-7 ms an operation, and draws 2 W and 0.01 W for every output channel.
    """
    folder = tmp_path / "training_data"
    for index, name in enumerate("abcdef"):
        table = convolutions(12, seed=index)
        operations = (
            pl.col("output_size_0") * pl.col("output_size_1") * pl.col("output_size_2") * pl.col("input_size_0")
        ) * (pl.col("kernel_0") * pl.col("kernel_1"))
        table = table.with_columns(
            runtime=0.01 + 1e-7 * operations,
            power=2e6 + 1e4 * pl.col("output_size_0"),
        )
        write_csv(table_path(folder / name, LayerKind.CONVOLUTIONAL), table)
        if index < 3:
            write_csv(table_path(folder / name, LayerKind.DENSE), dense_layers(2, seed=index))
    return folder


@pytest.fixture
def quick_polynomials(monkeypatch: pytest.MonkeyPatch) -> None:
    """NeuralPower's polynomials of degree 1, which are fitted in a tenth of the time."""
    monkeypatch.setattr(registry, "NEURALPOWER_SETTINGS", {target: {"degree": 1} for target in Target})
