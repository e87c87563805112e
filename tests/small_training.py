"""Small training tables whose truth is known, for tests of what is built around training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from edgewatt.formats.csv_file import write_csv
from edgewatt.formats.training_tables import BASE_FEATURES, table_path
from edgewatt.networks.layer import LayerKind

CONV = LayerKind.CONVOLUTIONAL


def convolutions(rows: int, seed: int) -> pl.DataFrame:
    """Random convolutions: 0.01 ms and 1e-7 ms an operation, 2 W and 0.01 W an output channel."""
    random = np.random.default_rng(seed)
    kernel, output = random.integers(1, 6, rows), random.integers(4, 60, rows)
    channels = random.integers(3, 200, (2, rows))
    columns = {name: np.ones(rows, dtype=np.int64) for name in BASE_FEATURES[CONV]}
    columns |= {"input_size_0": channels[0], "output_size_0": channels[1], "kernel_0": kernel, "kernel_1": kernel}
    columns |= {f"input_size_{axis}": output + kernel - 1 for axis in (1, 2)}
    columns |= {f"output_size_{axis}": output for axis in (1, 2)}
    columns |= {f"padding_{axis}": np.zeros(rows, dtype=np.int64) for axis in (0, 1)}
    operations = output**2 * channels[0] * channels[1] * kernel**2
    return pl.DataFrame(columns).with_columns(
        pl.Series("power", 2e6 + 1e4 * channels[1]),
        pl.Series("runtime", 0.01 + 1e-7 * operations),
        pl.Series("layer_name", [f"conv {index}" for index in range(rows)]),
    )


def write_training_data(folder: Path, networks: str = "abcdef", rows: int = 8) -> Path:
    """Write a folder of training tables, one network a letter."""
    for name in networks:
        write_csv(table_path(folder / name, CONV), convolutions(rows, seed=ord(name)))
    return folder
