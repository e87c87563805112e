"""How good the predictors are: on really measured convolutions, and on networks of the simulated board.

    python benchmarks/predictors.py conv2d.txt [--seeds 3] [--training-dir training_data/]

The measurements are NeurstrucEnergy's, see `real_layers.py`. The first table is ten-fold cross-validation over single
rows. The second leaves out a corner of the design space and predicts it from the rest: each corner is a set of layers
that a new design would bring, such as strides or large inputs where all that was measured had none. The third says how
often 90 % intervals hold. With --training-dir the networks in it are evaluated too, as `edgewatt evaluate` does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import CrossPrediction, cross_predict
from edgewatt.predictors.evaluate import evaluate
from edgewatt.predictors.folds import Folds, row_folds
from edgewatt.predictors.metrics import Scores, scores
from edgewatt.predictors.registry import new_predictor
from edgewatt.predictors.scoring import layer_interval
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.training_data import TrainingData
from edgewatt.reports.evaluation import evaluation_tables
from edgewatt.reports.tables import new_table, number, percent
from real_layers import read_measurements

CONV = LayerKind.CONVOLUTIONAL
NAMES = ("physics", "neuralpower", "mean")
FOLDS = 10

#: What is predicted, and the column of power that it is trained on.
QUANTITIES = {
    "power, board total (W)": (Target.POWER, "total"),
    "power above idle (W)": (Target.POWER, "above idle"),
    "runtime (ms)": (Target.RUNTIME, "above idle"),
}


def read_tables(path: Path) -> dict[str, pl.DataFrame]:
    """The measured convolutions twice: with power above idle, and with the board's total power.

    Raises:
        FormatError: The file is missing or does not hold what it must.
    """
    above_idle = read_measurements(path).table.with_columns(pl.lit("neurstrucenergy").alias("network"))
    fields = [line.split() for line in path.read_text().splitlines()[1:]]
    total = [float(row[1]) * 1e6 for row in fields if row[:1] != ["0"]]
    return {"above idle": above_idle, "total": above_idle.with_columns(pl.Series("power", total, pl.Float64))}


def corners(table: pl.DataFrame) -> dict[str, NDArray[np.bool_]]:
    """Layers that lie in a corner of the design space."""
    column = {name: table[name].to_numpy() for name in table.columns if table[name].dtype.is_numeric()}
    return {
        "kernel 3 and larger": column["kernel_0"] >= 3,
        "kernel 5 and larger": column["kernel_0"] >= 5,
        "stride above 1": column["stride_0"] > 1,
        "groups above 1": column["groups"] > 1,
        "input 28 and larger": column["input_size_1"] >= 28,
        "more than 400 channels": column["input_size_0"] > 400,
        "most operations (1 in 5)": column["macs"] > np.quantile(column["macs"], 0.8),
        "weights above 4 MB": column["weight_bytes"] > 4e6,
    }


def predicted_without(table: pl.DataFrame, folds: Folds, name: str) -> CrossPrediction:
    """Every layer predicted without its fold."""
    return cross_predict(
        {CONV: table}, folds, lambda kind, target: new_predictor(name, kind, target), with_fallback=False
    )


def row_table(tables: Mapping[str, pl.DataFrame], seeds: Sequence[int]) -> Table:
    """Ten-fold cross-validation over single rows, mean and range over seeds of the folds."""
    title = f"{FOLDS}-fold cross-validation over single rows, {len(seeds)} seeds: a lower bound"
    result = new_table(title, ["target", "predictor"], ["MAPE", "from", "to", "median", "RMSPE", "s"])
    for quantity, (target, power) in QUANTITIES.items():
        for name in NAMES:
            begun = time.perf_counter()
            used = seeds if name == "physics" else seeds[:1]
            found = [_row_scores(tables[power], target, name, seed) for seed in used]
            errors = [one.mape or 0.0 for one in found]
            seconds = (time.perf_counter() - begun) / len(used)
            result.add_row(
                quantity,
                name,
                *(percent(value) for value in (float(np.mean(errors)), min(errors), max(errors))),
                percent(float(np.mean([one.median or 0.0 for one in found]))),
                percent(float(np.mean([one.rmspe or 0.0 for one in found]))),
                number(seconds, 1),
            )
    return result


def _row_scores(table: pl.DataFrame, target: Target, name: str, seed: int) -> Scores:
    found = predicted_without(table, row_folds({CONV: table}, FOLDS, seed), name)
    y = target_values(table, target)
    return scores(y, found.estimates[CONV, target].value, table["network"].to_numpy())


def corner_table(tables: Mapping[str, pl.DataFrame]) -> Table:
    """MAPE on each corner when predictors are trained on all other layers."""
    headings = [f"{name} {short}" for short in ("total", "above", "ms") for name in ("ours", "NP")]
    result = new_table("MAPE on a corner that was left out whole", ["left out"], ["rows", *headings])
    means: list[list[float]] = []
    for corner, inside in corners(tables["total"]).items():
        errors = [
            _corner_error(tables[power], target, name, inside)
            for target, power in QUANTITIES.values()
            for name in ("physics", "neuralpower")
        ]
        means.append(errors)
        result.add_row(corner, str(int(inside.sum())), *(percent(error) for error in errors))
    result.add_row("mean of corners", "", *(percent(error) for error in np.mean(means, axis=0)))
    return result


def _corner_error(table: pl.DataFrame, target: Target, name: str, inside: NDArray[np.bool_]) -> float:
    y = target_values(table, target)
    predictor = new_predictor(name, CONV, target)
    rest = table.filter(pl.Series(~inside))
    predictor.fit(rest, y[~inside], rest["network"].to_numpy())
    predicted = predictor.predict(table.filter(pl.Series(inside)))
    return float(np.abs(predicted / y[inside] - 1.0).mean())


def coverage_table(tables: Mapping[str, pl.DataFrame], seeds: Sequence[int]) -> Table:
    """How often 90 % intervals hold layers that were left out, by fold."""
    result = new_table("90% intervals: share of left-out layers that they hold", ["target"], ["all", "worst", "best"])
    for quantity, (target, power) in QUANTITIES.items():
        shares = []
        for seed in seeds:
            folds = row_folds({CONV: tables[power]}, FOLDS, seed)
            cross = predicted_without(tables[power], folds, "physics")
            _, coverage = layer_interval(TrainingData({CONV: tables[power]}, ("neurstrucenergy",)), cross, CONV, target)
            if coverage is not None:
                shares.append((coverage.mean, coverage.least, coverage.greatest))
        result.add_row(quantity, *(percent(share, 1) for share in np.mean(shares, axis=0)))
    return result


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=Path, help="NeurstrucEnergy's conv2d.txt")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of the folds")
    parser.add_argument("--training-dir", type=Path, help="training tables of networks, to be evaluated too")
    arguments = parser.parse_args()
    console = Console()
    try:
        tables = read_tables(arguments.measurements)
        seeds = range(max(arguments.seeds, 1))
        for table in (row_table(tables, seeds), corner_table(tables), coverage_table(tables, seeds)):
            console.print(table)
        if arguments.training_dir is not None:
            for table in evaluation_tables(evaluate(arguments.training_dir)):
                console.print(table)
    except EdgewattError as error:
        parser.exit(error.exit_status, f"error: {error}\n")


if __name__ == "__main__":
    main()
