"""Commands on several states of a network: batches, precisions and power modes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgewatt.cli_output import Json, end_batch, show, split
from edgewatt.errors import EdgewattError, printable

if TYPE_CHECKING:
    from edgewatt.recording.batch import RecordOptions

Batches = Annotated[
    list[str] | None, typer.Option("--batch", help="Inputs of one cycle; several, by commas, are recorded one by one.")
]
Precisions = Annotated[
    list[str] | None,
    typer.Option("--dtype", help="Precision: float32, float16 or int8; several, by commas. By default float16."),
]
Modes = Annotated[
    list[str] | None,
    typer.Option("--power-mode", help="Power modes by name, one after another; the one from before is put back."),
]
LatencyMs = Annotated[
    float | None,
    typer.Option("--latency-ms", min=0.0, help="Name the most efficient state whose cycle takes no longer."),
]


def batches_of(values: Sequence[str] | None) -> list[int]:
    """The batches of an option.

    Raises:
        EdgewattError: One is no whole number from 1.
    """
    texts = split(values) or ["1"]
    if not all(text.isdecimal() and int(text) > 0 for text in texts):
        raise EdgewattError(f"{', '.join(texts)} are no batches", fix="Give whole numbers from 1: --batch 1,2,4")
    return [int(text) for text in texts]


def refuse_latency(latency_ms: float | None) -> None:
    """Refuse a latency where there is one state alone.

    Raises:
        EdgewattError: One is given.
    """
    if latency_ms is not None:
        raise EdgewattError("--latency-ms chooses between several states", fix="Add --batch, --dtype or --power-mode")


def announce(text: str) -> None:
    """Say on standard error what is done to the machine."""
    print(printable(text), file=sys.stderr, flush=True)


def show_states(raw_dir: Path, latency_ms: float | None, *, json: bool, out: Path | None = None) -> None:
    """Show the states that were recorded, the most efficient one, and a report side by side where one is wanted."""
    from edgewatt.reports.states import states_json, states_lines, states_table
    from edgewatt.reports.tables import failure_lines
    from edgewatt.results.states import read_states

    batch = read_states(raw_dir)
    value = states_json(batch.done, latency_ms)
    lines = [*states_lines(batch.done, latency_ms)]
    if out is not None:
        from edgewatt.reports.html import write_report
        from edgewatt.results.collect import read_result

        write_report(out, [read_result(state.path) for state in batch.done])
        value["report"] = str(out)
    show(json, value, states_table(batch.done), *lines, *([] if out is None else [f"Report: {out}"]))
    end_batch(failure_lines(batch.failed), batch.exit_status)


def record_sweep(
    networks: Sequence[str],
    raw_dir: Path | None,
    *,
    batches: Sequence[int],
    precisions: Sequence[str],
    power_modes: Sequence[str],
    latency_ms: float | None,
    json: bool,
    backend: str | None,
    sensor: str | None,
    cycles: int,
    root: Path,
    cool_down_s: float,
    idle_s: float,
    force_idle: bool,
    redo: bool,
    options: RecordOptions,
) -> None:
    """Record networks in several states and compare them; arguments are the options of `edgewatt record`."""
    from edgewatt.recording.states import record_states
    from edgewatt.reports.progress import progress_bar
    from edgewatt.reports.recordings import verdict_lines
    from edgewatt.reports.tables import failure_lines

    if not networks or raw_dir is None:
        raise EdgewattError("NETWORK and RAW_DIR are both needed", fix="edgewatt record resnet18 raw_data --batch 1,4")
    with progress_bar("Recording", len(networks) * len(batches) * len(precisions) * max(len(power_modes), 1)) as step:
        batch = record_states(
            networks,
            raw_dir,
            batches=batches,
            precisions=precisions,
            power_modes=power_modes,
            backend=backend,
            sensor=sensor,
            cycles=cycles,
            root=root,
            cool_down_s=cool_down_s,
            idle_s=idle_s,
            force_idle=force_idle,
            redo=redo,
            announce=announce,
            next_run=step,
            **options,
        )
    for name in batch.skipped:
        print(f"{printable(name)} was recorded already", file=sys.stderr)
    for line in verdict_lines(batch.recorded.done):
        print(line, file=sys.stderr)
    if batch.recorded.done or batch.skipped:
        show_states(raw_dir, latency_ms, json=json)
    end_batch(failure_lines(batch.recorded.failed), batch.exit_status)


def simulate_sweep(
    raw_dir: Path,
    networks: Sequence[str],
    *,
    batches: Sequence[int],
    precisions: Sequence[str],
    power_modes: Sequence[str],
    latency_ms: float | None,
    json: bool,
    board: str,
    cycles: int,
    seed: int,
) -> None:
    """Simulate networks in several states and compare them; arguments are the options of `edgewatt simulate`."""
    from edgewatt.reports.progress import progress_bar
    from edgewatt.simulation.states import simulate_states

    with progress_bar("Simulating", len(networks) * len(batches) * len(precisions) * max(len(power_modes), 1)) as step:
        simulate_states(
            raw_dir,
            networks,
            batches=batches,
            precisions=precisions,
            power_modes=power_modes,
            board=board,
            cycles=cycles,
            seed=seed,
            progress=step,
        )
    show_states(raw_dir, latency_ms, json=json)


def states(
    raw_dir: Annotated[Path, typer.Argument(help="Folder of recordings.")],
    latency_ms: LatencyMs = None,
    out: Annotated[Path | None, typer.Option(help="HTML file to write, all states side by side.")] = None,
    json: Json = False,
) -> None:
    """Compare what networks cost in the states that they were recorded in, and name the most efficient one."""
    show_states(raw_dir, latency_ms, json=json, out=out)
