"""What a few networks, or layers, of another power mode or board buy.

    python benchmarks/transfer.py SOURCE_TABLES TARGET_TABLES [--choices 5] [--unseen] [--most 10]

Both folders are training tables of the same networks (`edgewatt dataset`), recorded on the source and on the target.
Networks are drawn at random to adapt with, and all others are scored: their runtime and energy against what was
measured on the target. Beside the adapted predictors stand those that were trained on the few alone, and the source's
as they are. The row of 50 layers has layers that were drawn from half of the networks, as a sweep of single layers
would bring them, and scores the other half. With --unseen the source is trained without the networks that are scored.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from edgewatt.formats.run_folders import network_of
from edgewatt.predictors.fit_plan import fit_all, fit_fallbacks
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.measured_networks import measured_networks
from edgewatt.predictors.network_scores import calibrate, network_sums
from edgewatt.predictors.training_data import NETWORK, TrainingData, read_training_data
from edgewatt.predictors.training_metrics import cross_predicted
from edgewatt.predictors.training_plan import TrainingPlan
from edgewatt.predictors.transfer_note import TransferNote, WayScore
from edgewatt.predictors.transfer_training import adapted
from edgewatt.reports.tables import new_table, percent

LAYERS = 50
_NOTHING = TrainingData({}, ())


def source_predictors(data: TrainingData) -> Predictors:
    """Predictors of the source, as `edgewatt train` makes them, without their scores."""
    plan = TrainingPlan(data, _NOTHING, "physics", {}, None)
    networks = measured_networks(data)
    return Predictors(
        by_purpose=fit_all(plan)[0],
        networks=data.networks,
        idle_power_w=data.idle_power_w(),
        fallback=fit_fallbacks(plan),
        calibration=calibrate(network_sums(data, cross_predicted(plan, "physics", 10), networks), networks),
        runs=data.runs(),
    )


def drawn_layers(data: TrainingData, random: np.random.Generator) -> TrainingData:
    """Single layers, drawn from all of some networks, that belong to no network any more."""
    total = sum(table.height for table in data.tables.values())
    kept = np.zeros(total, dtype=np.bool_)
    kept[random.choice(total, min(LAYERS, total), replace=False)] = True
    tables, begun = {}, 0
    for kind, table in data.tables.items():
        chosen = table.filter(pl.Series(kept[begun : begun + table.height])).with_columns(
            pl.lit("layers").alias(NETWORK)
        )
        begun += table.height
        if chosen.height:
            tables[kind] = chosen
    return TrainingData(tables, ("layers",))


def add_rows(table: Table, few: str, notes: Sequence[TransferNote]) -> None:
    """One row a way: means over the choices, and the worst choice's energy."""
    for way in notes[0].ways:
        scores: list[WayScore] = [note.ways[way] for note in notes]
        energies = [score.energy or 0.0 for score in scores]
        table.add_row(
            way,
            few,
            str(len(notes)),
            percent(float(np.mean([score.runtime or 0.0 for score in scores]))),
            percent(float(np.mean(energies))),
            percent(max(energies)),
            percent(max(score.worst_energy or 0.0 for score in scores)),
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--choices", type=int, default=5)
    parser.add_argument("--most", type=int, default=10, help="networks to adapt with, at most")
    parser.add_argument("--unseen", action="store_true")
    arguments = parser.parse_args()
    source_data, target = read_training_data(arguments.source), read_training_data(arguments.target)
    everything = source_predictors(source_data)

    def source_without(scored: Sequence[str]) -> Predictors:
        if not arguments.unseen:
            return everything
        hidden = {network_of(name) for name in scored}
        return source_predictors(source_data.of([n for n in source_data.networks if network_of(n) not in hidden]))

    table = new_table(
        f"Mean errors of networks that were not adapted with, {len(target.networks)} networks in all",
        ["predictors", "measured"],
        ["choices", "runtime", "energy", "worst choice", "worst network"],
    )
    for count in range(3, min(arguments.most, len(target.networks) - 2) + 1):
        notes = []
        for seed in range(arguments.choices):
            few = sorted(np.random.default_rng(seed).choice(target.networks, count, replace=False).tolist())
            rest = [name for name in target.networks if name not in few]
            found = adapted(source_without(rest), target.of(few), target.of(rest)).transfer
            assert found is not None
            notes.append(found)
        add_rows(table, f"{count} networks", notes)
    notes = []
    for seed in range(arguments.choices):
        random = np.random.default_rng(seed)
        half = sorted(random.choice(target.networks, len(target.networks) // 2, replace=False).tolist())
        rest = [name for name in target.networks if name not in half]
        found = adapted(source_without(rest), drawn_layers(target.of(half), random), target.of(rest)).transfer
        assert found is not None
        notes.append(found)
    add_rows(table, f"{LAYERS} layers", notes)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
