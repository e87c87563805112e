"""Really measured convolutions as a training table, and how well the default predictor does on them.

The measurements are NeurstrucEnergy's (github.com/NEUSoftGreenAI/NeurstrucEnergy, MIT licence): 999 single Conv2d
layers in PyTorch, fp32, batch 1, on a small CUDA board with an external power meter. The script reads its
`data/dataset/conv2d.txt`, writes a folder that `edgewatt train` takes, and prints the errors of ten-fold
cross-validation over single rows beside those of the mean.

    python benchmarks/real_layers.py conv2d.txt training_data/
    edgewatt train training_data/ predictors/
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.table import Table

from edgewatt.dataset.features import feature_frame
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.training_tables import columns, write_tables
from edgewatt.networks.layer import Layer, LayerKind, convolution_macs
from edgewatt.predictors.evaluation import cross_validate
from edgewatt.predictors.neuralpower import MINIMUM_ROWS
from edgewatt.predictors.registry import new_predictor
from edgewatt.predictors.targets import Target, target_values
from edgewatt.reports.tables import new_table, number, percent

NETWORK = "neurstrucenergy"
_HEADER = ["data", "mean_power", "time", "forward_num", "energy", "silence_energy", "all_energy"]
_BYTES = 4  # fp32


@dataclass(frozen=True)
class Measurements:
    """The file's measurements.

    Attributes:
        table: A training table.
        void_rows: Rows without data, which were skipped.
    """

    table: pl.DataFrame
    void_rows: int


def read_measurements(path: Path) -> Measurements:
    """Read conv2d.txt.

    Raises:
        FormatError: The file is missing or does not hold what it must.
    """
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", where=path, fix="Name conv2d.txt") from error
    if not lines or lines[0].split() != _HEADER:
        raise FormatError(f"the header is not {' '.join(_HEADER)}", where=f"{path}, line 1", fix="Name conv2d.txt")
    layers: list[Layer] = []
    measured: list[tuple[float, float, float]] = []
    void_rows = 0
    for line_number, line in enumerate(lines[1:], start=2):
        fields = line.split()
        if fields[:1] == ["0"]:
            void_rows += 1
            continue
        try:
            layers.append(_layer(fields[0], f"conv2d line {line_number}"))
            measured.append(_measured(*map(float, fields[2:6])))
        except (ValueError, IndexError, TypeError, ZeroDivisionError) as error:
            raise FormatError(f"not a measurement: {error}", where=f"{path}, line {line_number}") from error
    if len(layers) < MINIMUM_ROWS:
        raise FormatError(f"{len(layers)} measurements are too few", where=path, fix="Name the whole conv2d.txt")
    power, runtime, idle = zip(*measured, strict=True)
    table = feature_frame(LayerKind.CONVOLUTIONAL, layers).with_columns(
        pl.Series("power", power, pl.Float64),
        pl.Series("runtime", runtime, pl.Float64),
        pl.Series("idle_power_w", idle, pl.Float64),
        pl.lit(None, pl.Int64).alias("samples"),
        pl.lit("external meter").alias("method"),
    )
    return Measurements(table.select(columns(LayerKind.CONVOLUTIONAL)), void_rows)


def _layer(data: str, name: str) -> Layer:
    """The layer that the 19 numbers of a row describe; they give the padding of one side."""
    numbers = [int(float(text)) for text in data.split(",")]
    input_shape, output_shape = tuple(numbers[0:4]), tuple(numbers[4:8])
    kernel, stride, padding, dilation = ((numbers[i], numbers[i + 1]) for i in (10, 12, 14, 16))
    groups = numbers[18]
    weights = output_shape[1] * (input_shape[1] // groups) * kernel[0] * kernel[1]
    return Layer(
        name=name,
        kind=LayerKind.CONVOLUTIONAL,
        operation="depthwise" if 1 < groups == input_shape[1] else "convolution",
        input_shape=input_shape,
        output_shape=output_shape,
        kernel=kernel,
        stride=stride,
        pre_padding=padding,
        post_padding=padding,
        dilation=dilation,
        groups=groups,
        macs=convolution_macs(input_shape, output_shape, kernel, groups, transposed=False),
        weight_bytes=_BYTES * weights,
        input_bytes=_BYTES * _product(input_shape),
        output_bytes=_BYTES * _product(output_shape),
        parameters=weights,
    )


def _product(shape: tuple[int, ...]) -> int:
    batch, channels, height, width = shape
    return batch * channels * height * width


def _measured(seconds: float, passes: float, energy_j: float, idle_energy_j: float) -> tuple[float, float, float]:
    """Power above idle in uW, runtime in ms, and idle power in W; energies are of one pass."""
    runtime_s = seconds / passes
    return energy_j / runtime_s * 1e6, runtime_s * 1e3, idle_energy_j / runtime_s


def score_table(table: pl.DataFrame) -> Table:
    """Errors of the default predictor and of the mean, by ten-fold cross-validation over single rows."""
    title = "Ten-fold cross-validation over single rows"
    result = new_table(title, ["target", "predictor"], ["rows", "MAPE", "RMSPE", "R2", "s"])
    networks = [NETWORK] * table.height
    for target in Target:
        for name in ("neuralpower", "mean"):
            begun = time.perf_counter()
            found = cross_validate(
                partial(new_predictor, name, LayerKind.CONVOLUTIONAL, target),
                table,
                target_values(table, target),
                networks,
            ).scores
            seconds = number(time.perf_counter() - begun, 1)
            errors = (percent(found.mape), percent(found.rmspe), number(found.r2, 3))
            result.add_row(f"{target} ({target.unit})", name, str(found.rows), *errors, seconds)
    return result


def main() -> None:
    """Turn the file into a training table and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=Path, help="NeurstrucEnergy's conv2d.txt")
    parser.add_argument("training_dir", type=Path, help=f"folder of training tables; {NETWORK}/ is written in it")
    arguments = parser.parse_args()
    try:
        read = read_measurements(arguments.measurements)
        write_tables(arguments.training_dir / NETWORK, {LayerKind.CONVOLUTIONAL: read.table})
    except EdgewattError as error:
        parser.exit(error.exit_status, f"error: {error}\n")
    console = Console()
    console.print(f"{read.table.height} convolutions written, {read.void_rows} void row(s) skipped")
    console.print(score_table(read.table))


if __name__ == "__main__":
    main()
