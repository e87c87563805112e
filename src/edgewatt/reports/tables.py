"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from edgewatt.batch import Batch
from edgewatt.dataset.tables import NetworkTables
from edgewatt.errors import EdgewattError, printable
from edgewatt.mapping.run import MappedNetwork
from edgewatt.networks.layer import Layer, LayerKind

NOT_KNOWN = "–"


def number(value: float | None, digits: int = 2) -> str:
    """A number with fixed decimals, or a dash where it is not known."""
    return NOT_KNOWN if value is None else f"{value:,.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a percentage."""
    return NOT_KNOWN if share is None else f"{100 * share:.{digits}f} %"


def new_table(title: str, text_columns: Sequence[str], number_columns: Sequence[str]) -> Table:
    """A table with its text columns to the left and its number columns to the right."""
    table = Table(title=title, title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for index, name in enumerate(text_columns):
        table.add_column(name, overflow="ellipsis", no_wrap=True, ratio=1 if index == 0 else None)
    for name in number_columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def name_cell(name: str) -> Text:
    """A layer's name as a cell: control characters shown, brackets not taken for markup."""
    return Text(printable(name))


def mapping_table(networks: Iterable[MappedNetwork]) -> Table:
    """What `map` did."""
    table = new_table(
        "Power mapped to layers",
        ["network", "method"],
        ["layers", "with power", "cycles", "layers ms", "mean power W", "closure"],
    )
    for network in networks:
        powers = [layer for layer in network.layers if layer.power_w is not None]
        runtime_ms = sum(layer.runtime_ms for layer in network.layers)
        known_ms = sum(layer.runtime_ms for layer in powers)
        energy_mj = sum(layer.energy_mj or 0.0 for layer in powers)
        table.add_row(
            name_cell(network.model),
            network.info.method,
            str(len(network.layers)),
            str(len(powers)),
            f"{network.info.cycles:,}",
            number(runtime_ms, 3),
            number(energy_mj / known_ms if known_ms else None),
            percent(network.info.energy_closure),
        )
    return table


def dataset_table(networks: Iterable[NetworkTables]) -> Table:
    """How many layers each training table holds, and how much of the network's time they take."""
    kinds = list(LayerKind)
    table = new_table("Layers and share of network time", ["network"], [*map(str, kinds), "left out"])
    for network in networks:
        cells = [f"{network.tables[kind].height:>3} {percent(network.time_share[kind], 0):>5}" for kind in kinds]
        table.add_row(name_cell(network.model), *cells, str(len(network.left_out)))
    return table


def left_out_lines(networks: Iterable[NetworkTables]) -> list[Text]:
    """One line for each layer that is in no table."""
    return [
        Text(f"left out: {network.model}: {printable(layer.layer_name)}: {layer.reason}")
        for network in networks
        for layer in network.left_out
    ]


def layers_table(title: str, layers: Sequence[Layer]) -> Table:
    """A network's layers."""
    table = new_table(title, ["layer", "kind"], ["input", "output", "kernel", "stride", "groups", "MMACs", "kB"])
    for layer in layers:
        table.add_row(
            name_cell(layer.name),
            layer.kind.value if layer.kind is not LayerKind.OTHER else layer.operation,
            _shape(layer.input_shape),
            _shape(layer.output_shape),
            _shape(layer.kernel) if layer.kernel else "",
            _shape(layer.stride) if layer.kernel else "",
            str(layer.groups) if layer.kind is LayerKind.CONVOLUTIONAL else "",
            number(layer.macs / 1e6),
            number(layer.total_bytes / 1e3, 0),
        )
    table.add_section()
    table.add_row(
        f"{len(layers)} layers",
        *[""] * 6,
        number(sum(layer.macs for layer in layers) / 1e6),
        number(sum(layer.total_bytes for layer in layers) / 1e3, 0),
    )
    return table


def failure_lines(failed: Mapping[str, EdgewattError]) -> list[Text]:
    """One line for each network that failed."""
    return [Text(f"failed: {name}: {error}") for name, error in failed.items()]


def batch_json(batch: Batch[object], key: str, entries: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """A batch for machines: the entries, and what failed."""
    return {
        key: list(entries),
        "failed": [{"model": name, "error": str(error)} for name, error in batch.failed.items()],
    }


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
