"""Tables of others that were imported."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from edgewatt.dataset.foreign import ForeignTables
from edgewatt.networks.layer import LayerKind
from edgewatt.reports.tables import name_cell, new_table
from edgewatt.wording import counted


def import_json(found: ForeignTables) -> dict[str, Any]:
    """What was imported, for machines."""
    return {
        "networks": [
            {"network": network.name, "rows": {kind.value: table.height for kind, table in network.tables.items()}}
            for network in found.networks
        ],
        "skipped_rows": found.skipped,
    }


def import_table_of(found: ForeignTables) -> Table:
    """Rows of each network and kind."""
    title = f"Imported layers; {counted(found.skipped, 'row')} skipped" if found.skipped else "Imported layers"
    result = new_table(title, ["network"], [kind.value for kind in LayerKind])
    for network in found.networks:
        counts = [network.tables[kind].height if kind in network.tables else 0 for kind in LayerKind]
        result.add_row(name_cell(network.name), *map(str, counts))
    return result
