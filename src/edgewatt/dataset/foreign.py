"""Measurements of others as training tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from edgewatt.dataset.foreign_features import Features, row_features
from edgewatt.dataset.foreign_mapping import (
    ENERGY_UNITS,
    POWER_UNITS,
    TIME_UNITS,
    ForeignMapping,
    NameSource,
    Quantity,
    read_mapping,
)
from edgewatt.dataset.foreign_rows import ForeignRow, read_rows
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.training_tables import column_type, columns, table_path, write_tables
from edgewatt.networks.layer import LayerKind
from edgewatt.tabular import Tabular


@dataclass(frozen=True)
class ImportedNetwork:
    """One network's tables.

    Attributes:
        name: Its name, and that of its folder.
        tables: Its table of each kind that it has rows of.
    """

    name: str
    tables: dict[LayerKind, pl.DataFrame]


@dataclass(frozen=True)
class ForeignTables(Tabular):
    """What a foreign table was turned into.

    Attributes:
        networks: Networks, in the order in which they appear.
        skipped: Number of rows that the mapping says to skip.
    """

    networks: tuple[ImportedNetwork, ...]
    skipped: int


def import_table(table: Path, training_dir: Path, mapping_path: Path, *, replace: bool = False) -> ForeignTables:
    """Turn a foreign table into training tables.

    Args:
        table: The table.
        training_dir: Folder to write to: one folder a network is made in it.
        mapping_path: The TOML file that says what its columns are.
        replace: Write over tables of networks that are there already.

    Raises:
        FormatError: A file is missing, broken or not what the mapping says; the error names file, line and column, or
            the mapping's key.
        EdgewattError: A network of that name is there already.
    """
    found = foreign_tables(table, read_mapping(mapping_path), mapping_path)
    for network in found.networks:
        there = [kind for kind in LayerKind if table_path(training_dir / network.name, kind).exists()]
        if there and not replace:
            raise EdgewattError(
                f"there are tables of the network {network.name} already",
                where=training_dir / network.name,
                fix="Name it otherwise in [network] of the mapping, or write over them with --replace",
            )
    for network in found.networks:
        folder = training_dir / network.name
        folder.mkdir(parents=True, exist_ok=True)
        write_tables(folder, network.tables)
    return found


def foreign_tables(table: Path, mapping: ForeignMapping, mapping_path: Path) -> ForeignTables:
    """Read a foreign table; arguments and errors as for `import_table`."""
    rows, skipped = read_rows(table, mapping)
    names: dict[str, str] = {}
    by_network: dict[str, dict[LayerKind, list[Features]]] = {}
    for row in rows:
        name = _network_name(mapping.network, row, mapping_path)
        # Two names that differ in case would share a folder on file systems that do not tell case.
        first = names.setdefault(name.casefold(), name)
        kind = _kind(mapping.kind, row, mapping_path)
        of_network = by_network.setdefault(first, {})
        of_network.setdefault(kind, []).append(_table_row(kind, row, mapping, mapping_path))
    networks = tuple(
        ImportedNetwork(name, {kind: _frame(kind, found) for kind, found in kinds.items()})
        for name, kinds in by_network.items()
    )
    return ForeignTables(networks, skipped)


def _table_row(kind: LayerKind, row: ForeignRow, mapping: ForeignMapping, mapping_path: Path) -> Features:
    runtime_s = _runtime_s(mapping, row)
    idle_w = None if mapping.idle is None else _watts(mapping.idle, row, runtime_s)
    power_w = _watts(mapping.measured, row, runtime_s)
    if mapping.measured.idle == "included":
        assert idle_w is not None
        power_w -= idle_w
    return {
        **row_features(kind, row, mapping.features[kind.value]),
        "power": power_w * 1e6,
        "runtime": runtime_s * 1e3,
        "layer_name": _layer_name(mapping.layer_name, row, mapping_path),
        "idle_power_w": idle_w,
        "samples": None if mapping.samples is None else int(row.number(mapping.samples)),
        "method": mapping.method,
    }


def _runtime_s(mapping: ForeignMapping, row: ForeignRow) -> float:
    runtime_s = _of_one_call(mapping.runtime, row) * TIME_UNITS[mapping.runtime.unit]
    if runtime_s <= 0.0:
        raise row.error(mapping.runtime.column or "(runtime)", f"the runtime is {runtime_s:g} s, which it cannot be")
    return runtime_s


def _watts(quantity: Quantity, row: ForeignRow, runtime_s: float) -> float:
    """A power, or an energy of one call divided by its runtime."""
    if quantity.unit in POWER_UNITS:
        return _number(quantity, row) * POWER_UNITS[quantity.unit]
    return _of_one_call(quantity, row) * ENERGY_UNITS[quantity.unit] / runtime_s


def _of_one_call(quantity: Quantity, row: ForeignRow) -> float:
    if isinstance(quantity.calls, int):
        return _number(quantity, row) / quantity.calls
    calls = row.number(quantity.calls)
    if calls < 1:
        raise row.error(quantity.calls, f"{calls:g} calls, fewer than one")
    return _number(quantity, row) / calls


def _number(quantity: Quantity, row: ForeignRow) -> float:
    if quantity.column is not None:
        return row.number(quantity.column)
    assert quantity.value is not None
    return quantity.value


def _network_name(source: NameSource, row: ForeignRow, mapping_path: Path) -> str:
    name = _name(source, row, mapping_path, "network.values")
    if not name or name.startswith(".") or any(c in '/\\:*?"<>|' or not c.isprintable() for c in name):
        what = f"{name!r} cannot be a folder's name"
        if source.column is None:
            raise FormatError(f"network.name: {what}", where=mapping_path, fix="Name it otherwise")
        raise row.error(source.column, what)
    return name


def _kind(source: NameSource, row: ForeignRow, mapping_path: Path) -> LayerKind:
    name = _name(source, row, mapping_path, "kind.values")
    try:
        return LayerKind(name)
    except ValueError:
        what = f"{name!r} is no kind of layer; there are {', '.join(map(str, LayerKind))}"
        raise FormatError(what, where=f"{mapping_path}, [kind]", fix="Map it in kind.values") from None


def _name(source: NameSource, row: ForeignRow, mapping_path: Path, key: str) -> str:
    if source.column is None:
        return source.name or ""
    text = row.text(source.column)
    if not source.values:
        return text
    if text not in source.values:
        raise FormatError(
            f"{text!r} is not in {key} of {mapping_path}",
            where=f"{row.path}, line {row.line}, column {source.column}",
            fix="Add it there, or skip such rows with [[skip]]",
        )
    return source.values[text]


def _layer_name(template: str, row: ForeignRow, mapping_path: Path) -> str:
    try:
        return template.format_map({**row.fields, "line": row.line})
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        raise FormatError(
            f"layer_name: {template!r} names what is no column: {error}",
            where=mapping_path,
            fix="Use {line} and names of columns in braces",
        ) from error


def _frame(kind: LayerKind, rows: list[Features]) -> pl.DataFrame:
    schema = {name: column_type(name) for name in columns(kind)}
    return pl.DataFrame(rows, schema=schema).select(columns(kind))
