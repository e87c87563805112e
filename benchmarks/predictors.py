"""How good the predictors are: on really measured convolutions, and on networks of the simulated board.

    python benchmarks/predictors.py conv2d.txt [--seeds 3] [--training-dir training_data/]

The measurements are NeurstrucEnergy's, see `real_layers.py`. The first table is ten-fold cross-validation over single
rows. The second leaves out layers as a new design would bring them and predicts them from the rest, see `left_out.py`:
corners of the design space, such as strides or large inputs, and those most like the layers of well-known networks.
Settings were chosen on the sets that say so. `3c` is a x MACs + b x bytes + c, `NP` NeuralPower's. The third says how
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
from edgewatt.predictors.intervals import LEVEL, fold_coverage, log_errors
from edgewatt.predictors.metrics import Scores, scores
from edgewatt.predictors.network_calibration import relative_non_negative
from edgewatt.predictors.physics import layer_amounts
from edgewatt.predictors.registry import new_predictor
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array
from edgewatt.reports.evaluation import evaluation_tables
from edgewatt.reports.tables import new_table, number, percent
from left_out import CHOSEN_ON, left_out_sets
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


def left_out_table(tables: Mapping[str, pl.DataFrame]) -> Table:
    """MAPE on layers that were left out when predictors are trained on all others; of most sets the mean alone."""
    headings = [f"{name} {short}" for short in ("total", "above", "ms") for name in ("ours", "NP", "3c")]
    result = new_table("MAPE on layers that were left out", ["left out"], ["rows", *headings])
    for name, ways in left_out_sets(tables["total"]).items():
        errors = {way: _left_out_errors(tables, inside) for way, inside in ways.items()}
        if name == "corners":
            for way, inside in ways.items():
                result.add_row(way, str(int(inside.sum())), *(percent(error) for error in errors[way]))
        counts = "" if len(ways) > 1 else str(int(next(iter(ways.values())).sum()))
        chosen = ", chosen on" if name in CHOSEN_ON else ""
        means = np.mean(list(errors.values()), axis=0)
        result.add_row(f"mean of {len(ways)} {name}{chosen}", counts, *(percent(error) for error in means))
    return result


def _left_out_errors(tables: Mapping[str, pl.DataFrame], inside: NDArray[np.bool_]) -> list[float]:
    """For each quantity the errors of ours, of NeuralPower's, and of three coefficients."""
    errors = []
    for target, power in QUANTITIES.values():
        table = tables[power]
        rest, new = table.filter(pl.Series(~inside)), table.filter(pl.Series(inside))
        y = target_values(table, target)
        for name in ("physics", "neuralpower"):
            predictor = new_predictor(name, CONV, target)
            predictor.fit(rest, y[~inside], rest["network"].to_numpy())
            errors.append(float(np.abs(predictor.predict(new) / y[inside] - 1.0).mean()))
        errors.append(float(np.abs(three_coefficients(rest, new, target) / y[inside] - 1.0).mean()))
    return errors


def three_coefficients(training: pl.DataFrame, new: pl.DataFrame, target: Target) -> Array:
    """Runtimes of a x MACs + b x bytes + c, or powers as such an energy over such a runtime, shape (rows,)."""
    runtime = target_values(training, Target.RUNTIME)
    predicted = _linear(training, new, runtime)
    if target is Target.RUNTIME:
        return predicted
    return _linear(training, new, target_values(training, target) * runtime) / predicted


def _linear(training: pl.DataFrame, new: pl.DataFrame, y: Array) -> Array:
    def terms(table: pl.DataFrame) -> list[Array]:
        amounts = layer_amounts(CONV, table, detailed=True)
        return [amounts["macs"], amounts.total_bytes, np.ones(table.height)]

    predicted: Array = np.column_stack(terms(new)) @ np.array(relative_non_negative(terms(training), y))
    return predicted


def coverage_table(tables: Mapping[str, pl.DataFrame], seeds: Sequence[int]) -> Table:
    """How often 90 % intervals hold layers that were left out, by fold, beside what chance alone would do."""
    headings = ["all", "worst fold", "best fold", "sd of folds", "85-95%", "sd by chance"]
    title = f"90% intervals: share of left-out layers that they hold, {len(seeds)} x {FOLDS} folds"
    result = new_table(title, ["target"], headings)
    for quantity, (target, power) in QUANTITIES.items():
        table = tables[power]
        shares = np.array([_fold_shares(table, target, seed) for seed in seeds])
        chance = (LEVEL * (1.0 - LEVEL) * FOLDS / table.height) ** 0.5
        kept = ((shares >= 0.85) & (shares <= 0.95)).mean()
        values = (shares.mean(), shares.min(axis=1).mean(), shares.max(axis=1).mean(), shares.std(), kept, chance)
        result.add_row(quantity, *(percent(float(value), 1) for value in values))
    return result


def _fold_shares(table: pl.DataFrame, target: Target, seed: int) -> list[float]:
    folds = row_folds({CONV: table}, FOLDS, seed)
    estimate = predicted_without(table, folds, "physics").estimates[CONV, target]
    found = np.abs(log_errors(target_values(table, target), estimate)) / estimate.spread
    return list(fold_coverage(found, folds.numbers[CONV]).values())


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
        for table in (row_table(tables, seeds), left_out_table(tables), coverage_table(tables, seeds)):
            console.print(table)
        if arguments.training_dir is not None:
            for table in evaluation_tables(evaluate(arguments.training_dir)):
                console.print(table)
    except EdgewattError as error:
        parser.exit(error.exit_status, f"error: {error}\n")


if __name__ == "__main__":
    main()
