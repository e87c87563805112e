"""What a few networks of another board or power mode bought."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from edgewatt.predictors.transfer_note import TransferNote
from edgewatt.reports.tables import new_table, percent
from edgewatt.wording import counted


def transfer_json(note: TransferNote) -> dict[str, Any]:
    """The comparison for machines."""
    return {"transfer": note.entry}


def transfer_table(note: TransferNote) -> Table:
    """Errors of whole networks that had not been seen on the target, by what predicts them."""
    table = new_table(
        f"From {note.source} to {note.target} with {counted(len(note.networks), 'network')}: mean errors of "
        f"networks that were {note.scored_on}",
        ["predictors"],
        ["nets", "runtime", "energy", "worst", "power"],
    )
    for name, score in note.ways.items():
        errors = (score.runtime, score.energy, score.worst_energy, score.power)
        table.add_row(name, str(score.networks), *map(percent, errors))
    return table


def transfer_lines(note: TransferNote) -> list[str]:
    """What the errors are of, in words."""
    known = len(note.known_to_source)
    lines = [f"The source had been trained on {known} of these networks, on its own board"] if known else []
    scales = [name for name, strength in note.strengths.items() if strength is None]
    return [*lines, *([f"Moved by a plain scale: {', '.join(scales)}"] if scales else [])]
