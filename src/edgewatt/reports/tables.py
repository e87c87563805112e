"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from edgewatt.batch import Batch
from edgewatt.dataset.tables import NetworkTables
from edgewatt.errors import EdgewattError, printable
from edgewatt.mapping.run import MappedNetwork
from edgewatt.networks.layer import LayerKind
from edgewatt.reports.fitting_table import FittingTable

NOT_KNOWN = "–"
_SHORT = {LayerKind.CONVOLUTIONAL: "conv", LayerKind.POOLING: "pool", LayerKind.DENSE: "dense"}


def number(value: float | None, digits: int = 2) -> str:
    """A number with fixed decimals, or a dash where it is not known."""
    return NOT_KNOWN if value is None else f"{value:,.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a percentage."""
    return NOT_KNOWN if share is None else f"{100 * share:.{digits}f}%"


def new_table(
    title: str, text_columns: Sequence[str], number_columns: Sequence[str], optional: Sequence[Iterable[int]] = ()
) -> Table:
    """A table with its text columns to the left and its number columns to the right.

    Where the terminal is narrow the first column gives way, then columns are left out: numbers are never cut.

    Args:
        title: Its title.
        text_columns: Headings of text.
        number_columns: Headings of numbers.
        optional: Groups of columns, by index, that may be left out, the first to go first.
    """
    table = FittingTable(
        optional=optional,
        # A name in it may look like markup.
        title=Text(printable(title), style="table.title"),
        title_justify="left",
        header_style="bold",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for index, name in enumerate(text_columns):
        table.add_column(name, no_wrap=index > 0, max_width=None if index == 0 else 12, overflow="ellipsis")
    for name in number_columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def kind_cell(kind: LayerKind, operation: str = "") -> str:
    """A kind in few letters; of another kind, what the layer does."""
    return printable(operation) or "other" if kind is LayerKind.OTHER else _SHORT[kind]


def name_cell(name: str) -> Text:
    """A layer's name as a cell: control characters shown, brackets not taken for markup, cut where it is too long."""
    return Text(printable(name), no_wrap=True, overflow="ellipsis")


def mapping_table(networks: Iterable[MappedNetwork]) -> Table:
    """What `map` did."""
    table = new_table(
        "Power mapped to layers (layers with power / all; sum of runtimes; mean power with idle; energy closure)",
        ["network", "method"],
        ["layers", "cycles", "ms", "W", "closure"],
        optional=[[3], [1], [2]],
    )
    for network in networks:
        powers = [layer for layer in network.layers if layer.power_w is not None]
        runtime_ms = sum(layer.runtime_ms for layer in network.layers)
        known_ms = sum(layer.runtime_ms for layer in powers)
        energy_mj = sum(layer.energy_mj or 0.0 for layer in powers)
        table.add_row(
            name_cell(network.model),
            network.info.method,
            f"{len(powers)}/{len(network.layers)}",
            f"{network.info.cycles:,}",
            number(runtime_ms, 3),
            number(energy_mj / known_ms if known_ms else None),
            percent(network.info.energy_closure),
        )
    return table


def dataset_table(networks: Iterable[NetworkTables]) -> Table:
    """How many layers each training table holds, and how much of the network's time they take."""
    kinds = list(LayerKind)
    table = new_table("Layers and share of network time", ["network"], [*map(kind_cell, kinds), "left out"])
    for network in networks:
        cells = [f"{network.tables[kind].height} {percent(network.time_share[kind], 0):>4}" for kind in kinds]
        table.add_row(name_cell(network.model), *cells, str(len(network.left_out)))
    return table


def left_out_lines(networks: Iterable[NetworkTables]) -> list[Text]:
    """One line for each layer that is in no table."""
    return [
        Text(printable(f"left out: {network.model}: {layer.layer_name}: {layer.reason}"))
        for network in networks
        for layer in network.left_out
    ]


def failure_lines(failed: Mapping[str, EdgewattError]) -> list[Text]:
    """One line for each network that failed."""
    return [Text(printable(f"failed: {name}: {error}")) for name, error in failed.items()]


def batch_json(batch: Batch[Any], key: str, entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A batch for machines: the entries, which of them were made already, and what failed."""
    return {
        key: list(entries),
        "skipped": batch.already,
        "failed": [{"model": name, "error": str(error)} for name, error in batch.failed.items()],
    }


def mapping_json(network: MappedNetwork) -> dict[str, Any]:
    """A mapped network for machines."""
    return {
        "model": network.model,
        "folder": str(network.folder),
        **network.info.model_dump(mode="json", exclude={"model", "layers"}),
        "layers": [asdict(layer) for layer in network.layers],
    }


def dataset_json(network: NetworkTables) -> dict[str, Any]:
    """A network's tables for machines."""
    return {
        "model": network.model,
        "rows": {kind.value: table.height for kind, table in network.tables.items()},
        "time_share": {kind.value: share for kind, share in network.time_share.items()},
        "left_out": [asdict(layer) for layer in network.left_out],
    }
