"""The layers of a mapped network in the terminal, those that take most energy first."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from edgewatt.mapping.run import MappedNetwork
from edgewatt.reports.cells import LayerName, ShareBar
from edgewatt.reports.tables import NOT_KNOWN, new_table, number, percent

_MOST_ROWS = 15


def mapped_layers_table(network: MappedNetwork) -> Table:
    """The layers of one network that take most energy, idle power included."""
    known = [layer for layer in network.layers if layer.energy_mj is not None]
    ranked = sorted(known, key=lambda layer: -(layer.energy_mj or 0.0))
    total = sum(max(0.0, layer.energy_mj or 0.0) for layer in known)
    shares = [max(0.0, layer.energy_mj or 0.0) / total if total else None for layer in ranked]
    rest = len(network.layers) - min(len(ranked), _MOST_ROWS)
    table = new_table(
        f"Layers of {network.model} that take most energy (idle included, ± 90% interval; * not told apart)",
        ["layer"],
        ["ms", "W", "±", "mJ", "energy"],
        optional=[[2, 3], [1], [4]],
    )
    for layer, share in list(zip(ranked, shares, strict=True))[:_MOST_ROWS]:
        ends = (layer.power_low_w, layer.power_high_w)
        half = None if ends[0] is None or ends[1] is None else (ends[1] - ends[0]) / 2
        table.add_row(
            LayerName(layer.layer_name, "* " if layer.identifiable is False else ""),
            number(layer.runtime_ms, 4),
            number(layer.power_w),
            NOT_KNOWN if half is None else number(half),
            number(layer.energy_mj, 4),
            ShareBar(share, shares[0] or 0.0),
        )
    if rest:
        table.add_section()
        left = sum(share or 0.0 for share in shares[_MOST_ROWS:])
        table.add_row(Text(f"{rest} more layers"), "", "", "", "", percent(left))
    return table
