"""What was recorded: idle power and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from edgewatt.recording.batch import RecordedBatch
from edgewatt.recording.idle import IdleMeasurement
from edgewatt.recording.record import RecordedRun
from edgewatt.reports.tables import name_cell, new_table, number
from edgewatt.wording import counted


def idle_json(idle: IdleMeasurement) -> dict[str, Any]:
    """A measurement of idle power for machines."""
    return {
        "path": str(idle.path),
        "board": idle.board,
        "sensor": idle.sensor,
        "rails": list(idle.rails),
        "mean_w": idle.power.mean_w,
        "spread_w": idle.power.spread_w,
        "readings": idle.power.readings,
        "fresh_readings": idle.power.fresh,
        "duration_s": idle.power.duration_s,
        "doubts": list(idle.doubts),
    }


def idle_lines(idle: IdleMeasurement) -> list[Text]:
    """A measurement of idle power in words."""
    power = idle.power
    return [
        Text(
            f"Idle power {power.mean_w:.3f} W, spread {power.spread_w * 1e3:.0f} mW, over {power.duration_s:.1f} s on "
            f"{'+'.join(idle.rails)} of {idle.board}"
        ),
        Text(f"{counted(power.readings, 'reading')}, at least {power.fresh:,} of them fresh"),
        Text(f"Written to {idle.path}"),
    ]


def runs_json(runs: Sequence[RecordedRun]) -> list[dict[str, Any]]:
    """Recorded runs for machines."""
    return [
        {
            "model": run.name,
            "folder": str(run.folder),
            "backend": run.backend,
            "cycles": run.cycles,
            "layers": run.layers,
            "cycle_ms": run.cycle_s * 1e3,
            "cycle_without_profiler_ms": None if run.plain_cycle_s is None else run.plain_cycle_s * 1e3,
            "sum_of_layers_ms": None if run.sum_of_layers_s is None else run.sum_of_layers_s * 1e3,
            "mean_power_w": None if run.power is None else run.power.mean_w,
            "energy_mj": None if run.energy_j is None else run.energy_j * 1e3,
            "fresh_readings": None if run.power is None else run.power.fresh,
            "verdict": list(run.verdict),
            "interrupted": run.interrupted,
        }
        for run in runs
    ]


def batch_json(batch: RecordedBatch) -> dict[str, Any]:
    """A list of networks for machines."""
    return {
        "recordings": runs_json(batch.recorded.done),
        "skipped": list(batch.skipped),
        "failed": [{"model": name, "error": str(error)} for name, error in batch.recorded.failed.items()],
    }


def runs_table(runs: Sequence[RecordedRun]) -> Table:
    """Recorded runs: a cycle's time with and without the profiler, the sum of its layers, mean power and energy."""
    backends = ", ".join(dict.fromkeys(run.backend for run in runs))
    table = new_table(
        f"Recorded with {backends} (ms a cycle with the profiler, without it, and the sum of the layers; power and "
        "energy with idle)",
        ["network"],
        ["cycles", "layers", "ms", "plain", "sum", "W", "mJ"],
        optional=[[4, 5], [2], [1], [3]],
    )
    for run in runs:
        table.add_row(
            name_cell(run.name),
            f"{run.cycles:,}",
            str(run.layers),
            number(run.cycle_s * 1e3, 3),
            number(None if run.plain_cycle_s is None else run.plain_cycle_s * 1e3, 3),
            number(None if run.sum_of_layers_s is None else run.sum_of_layers_s * 1e3, 3),
            number(None if run.power is None else run.power.mean_w),
            number(None if run.energy_j is None else run.energy_j * 1e3),
        )
    return table


def verdict_lines(runs: Sequence[RecordedRun]) -> list[Text]:
    """What stands against trusting each run, a line each."""
    lines = []
    for run in runs:
        if run.interrupted:
            lines.append(Text(f"{run.name}: interrupted ({run.interrupted}); {run.cycles} complete cycles are kept"))
        lines += [Text(f"{run.name}: {doubt}") for doubt in run.verdict]
    return lines
