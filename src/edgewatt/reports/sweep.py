"""A sweep: how long it takes, what it measured, and what its repeats differ by."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from rich.table import Table

from edgewatt.isolation.rows import NOT_YET
from edgewatt.networks.layer import LayerKind
from edgewatt.reports.repeats import repeat_line
from edgewatt.reports.tables import NOT_KNOWN, kind_cell, new_table, percent
from edgewatt.sweep.planning import as_single
from edgewatt.sweep.record import Outlook, SweepRun
from edgewatt.wording import counted

_MOST_LINES = 12


def outlook_line(outlook: Outlook) -> str:
    """How long a sweep takes."""
    minutes = outlook.seconds / 60
    long = f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
    line = f"This takes about {max(outlook.seconds, 0):.0f} s" if minutes < 2 else f"This takes about {long}"
    if outlook.simulated:
        line += " of the simulated board's time, which passes faster"
    if outlook.done:
        line += f"; {counted(outlook.done, 'measurement', ('is', 'are'))} there already"
    return f"{line}. No layer takes more than {outlook.limits.layer_bytes / 1e6:,.0f} MB of memory."


def sweep_json(run: SweepRun) -> dict[str, Any]:
    """A sweep for machines."""
    return {
        "model": run.name,
        "folder": str(run.folder),
        "layers": sum(layer.repeat_of is None for layer in run.layers),
        "repeats": sum(layer.repeat_of is not None for layer in run.layers),
        "measured": run.measured,
        "left_out": run.left_out,
        "repeat_error": {target: None if one is None else asdict(one) for target, one in run.repeats.items()},
        "predictors_error": run.error,
        "idle_power_w": run.run.result.idle_power_w,
        "verdict": list(run.run.verdict),
        "interrupted": run.interrupted,
    }


def sweep_table(run: SweepRun) -> Table:
    """What was measured, by kind."""
    title = f"Layers of {run.name}: of shipped architectures, designed, picked, measured again; range of results"
    table = new_table(title, ["layers"], ["unique", "shipped", "designed", "picked", "again", "ms", "W"])
    rows = {row.layer_name: row for row in run.run.layers}
    for kind in LayerKind:
        chosen = [layer for layer in run.layers if as_single(layer).kind is kind and layer.name in rows]
        if not chosen:
            continue
        origins = Counter("again" if layer.repeat_of else layer.origin for layer in chosen)
        found = [rows[layer.name] for layer in chosen]
        power = [row.power_w for row in found if row.power_w is not None]
        table.add_row(
            kind_cell(kind),
            str(len(chosen) - origins["again"]),
            *(str(origins[name]) for name in ("architecture", "design", "adaptive", "again")),
            _range([row.runtime_ms for row in found]),
            _range(power),
        )
    return table


def sweep_lines(run: SweepRun) -> list[str]:
    """What its repeats say, and what was not measured."""
    lines = [repeat_line(run.repeats)] if any(run.repeats.values()) else []
    if run.error is not None:
        lines.append(f"Predictors trained on it are off by {percent(run.error, 1)} on layers that they have not seen")
    failed = [f"{name} was not measured: {why}" for name, why in run.left_out.items() if why != NOT_YET]
    lines += failed[:_MOST_LINES]
    if len(failed) > _MOST_LINES:
        lines.append(f"and {len(failed) - _MOST_LINES} more, see {run.folder / 'isolated.json'}")
    if run.interrupted:
        waiting = sum(why == NOT_YET for why in run.left_out.values())
        chosen = f": {counted(waiting, 'layer', ('is', 'are'))} chosen and not measured yet" if waiting else ""
        lines.append(f"Interrupted{chosen}. The same command goes on")
    return lines


def _range(values: list[float]) -> str:
    if not values:
        return NOT_KNOWN
    ends = dict.fromkeys(f"{end:.3g}" for end in (min(values), max(values)))
    return "–".join(ends)
