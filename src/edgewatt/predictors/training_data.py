"""The training tables of all networks, together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from edgewatt.errors import EdgewattError
from edgewatt.formats.conditions import Condition, KnownRun
from edgewatt.formats.network_info import FILE_NAME as NETWORK_FILE
from edgewatt.formats.network_info import NetworkInfo, read_network_info
from edgewatt.formats.run_folders import run_folders
from edgewatt.formats.training_tables import read_table, table_path
from edgewatt.networks.layer import FREE_OPERATIONS, LayerKind
from edgewatt.predictors.board_features import BoardRates
from edgewatt.predictors.folder import PREDICTED_KINDS

#: The column that says which network a row is from.
NETWORK = "network"


@dataclass(frozen=True)
class TrainingData:
    """Tables of several networks.

    Attributes:
        tables: One table a kind, with the networks' names in the column `network`; kinds without rows are absent.
        networks: Names of the networks, `model` or `board/model`, sorted, also of those whose tables are empty.
        measured: What whole networks took, where it is known.
        boards: The boards whose figures the tables hold; none where boards are no features.
    """

    tables: Mapping[LayerKind, pl.DataFrame]
    networks: tuple[str, ...]
    measured: Mapping[str, NetworkInfo] = field(default_factory=dict)
    boards: tuple[BoardRates, ...] = ()

    def of(self, networks: Sequence[str]) -> TrainingData:
        """The tables of some of the networks."""
        chosen = {kind: table.filter(pl.col(NETWORK).is_in(list(networks))) for kind, table in self.tables.items()}
        measured = {name: info for name, info in self.measured.items() if name in networks}
        kept = {kind: table for kind, table in chosen.items() if table.height > 0}
        return TrainingData(kept, tuple(networks), measured, self.boards)

    def condition(self, network: str) -> Condition:
        """What a network was recorded on."""
        info = self.measured.get(network)
        return Condition() if info is None else Condition.of(info.run)

    def known_runs(self) -> list[KnownRun]:
        """The networks with what they were recorded on."""
        return [KnownRun(name, self.condition(name)) for name in self.networks]

    def runs(self) -> dict[str, tuple[str, ...]]:
        """What is known of the recordings: the distinct values of each key, as text, sorted."""
        values: dict[str, set[str]] = {}
        for info in self.measured.values():
            for key, value in info.run.items():
                if isinstance(value, dict):
                    texts = {f"{name} {part}" for name, part in value.items() if part not in (None, "")}
                else:
                    texts = set() if value in (None, "") else {str(value)}
                values.setdefault(key, set()).update(texts)
        return {key: tuple(sorted(texts)) for key, texts in sorted(values.items()) if texts}

    def distinct(self, column: str) -> tuple[str, ...]:
        """The values that a text column has in any table, sorted."""
        values: set[str] = set()
        for table in self.tables.values():
            if column in table.columns:
                values.update(table[column].drop_nulls().unique().to_list())
        return tuple(sorted(values))

    def idle_power_w(self) -> float | None:
        """Mean idle power, each network counted once; None where no table tells."""
        parts = [
            table.select(NETWORK, pl.col("idle_power_w")).drop_nulls()
            for table in self.tables.values()
            if "idle_power_w" in table.columns
        ]
        if not parts:
            return None
        by_network = pl.concat(parts).group_by(NETWORK, maintain_order=True).agg(pl.col("idle_power_w").mean())
        return float(by_network["idle_power_w"].to_numpy().mean()) if by_network.height else None


def read_training_data(training_dir: Path) -> TrainingData:
    """Read the tables of every network in a folder; a network may lack a kind, and a table may be empty.

    Args:
        training_dir: One folder a network, or a folder a board with those of its networks.

    Raises:
        EdgewattError: The folder is missing or holds no table, or a table is broken.
    """
    parts: dict[LayerKind, list[pl.DataFrame]] = {kind: [] for kind in LayerKind}
    networks = []
    measured = {}
    for run in run_folders(training_dir, "dataset", lambda folder: bool(_kinds(folder))):
        folder, name = run.path, run.name
        for kind in _kinds(folder):
            table = read_table(table_path(folder, kind), kind)
            parts[kind].append(table.with_columns(pl.lit(name).alias(NETWORK)))
        networks.append(name)
        if table_path(folder, LayerKind.OTHER).exists():
            other = read_table(table_path(folder, LayerKind.OTHER), LayerKind.OTHER)
            parts[LayerKind.OTHER].append(_executed(other).with_columns(pl.lit(name).alias(NETWORK)))
        if (folder / NETWORK_FILE).exists():
            measured[name] = read_network_info(folder / NETWORK_FILE)
    if not networks:
        raise EdgewattError(
            "the folder holds no training tables",
            where=training_dir,
            fix="It must hold a folder for each network with convolutional.csv, pooling.csv or dense.csv in it",
        )
    joined = {kind: pl.concat(tables, how="diagonal") for kind, tables in parts.items() if tables}
    with_rows = {kind: table for kind, table in joined.items() if table.height > 0}
    return TrainingData(with_rows, tuple(networks), measured)


def _kinds(folder: Path) -> list[LayerKind]:
    return [kind for kind in PREDICTED_KINDS if table_path(folder, kind).exists()]


def _executed(table: pl.DataFrame) -> pl.DataFrame:
    """Layers that take time; a backend lists others."""
    kept = table.filter(pl.col("runtime") > 0.0)
    if "operation" not in kept.columns:
        return kept
    return kept.filter(~pl.col("operation").is_in(list(FREE_OPERATIONS)).fill_null(False))
