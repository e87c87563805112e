"""Commands that need no board: the demo, and recordings of the simulated board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgewatt.cli_output import Json, Networks, show, split
from edgewatt.cli_states import Batches, LatencyMs, Modes, Precisions, batches_of, refuse_latency, simulate_sweep
from edgewatt.wording import counted


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    cycles: Annotated[int, typer.Option(min=1, help="Cycles of each simulated recording.")] = 3000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the simulation.")] = 0,
    json: Json = False,
) -> None:
    """Run the whole flow on the simulated board and compare its predictions with the known truth."""
    from edgewatt.demo import run_demo
    from edgewatt.reports.demo import demo_json, demo_parts, write_demo_report
    from edgewatt.reports.progress import progress_bar

    with progress_bar("Demo:") as step:
        result = run_demo(out, cycles=cycles, seed=seed, progress=step)
        step("report")
        path = write_demo_report(result)
    show(json, {**demo_json(result), "report": str(path)}, *demo_parts(result), f"Report: {path}")


def simulate(
    raw_dir: Annotated[Path, typer.Argument(help="Folder to write recordings to.")],
    networks: Networks = None,
    board: Annotated[str, typer.Option(help="The simulated board.")] = "orin-nano",
    cycles: Annotated[int, typer.Option(min=1, help="Cycles of each recording.")] = 3000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the simulation.")] = 0,
    dtype: Precisions = None,
    batch: Batches = None,
    power_mode: Modes = None,
    latency_ms: LatencyMs = None,
    json: Json = False,
) -> None:
    """Write recordings of the simulated board, and the true power of each layer in truth/."""
    from edgewatt.networks.architectures import architecture_names
    from edgewatt.reports.progress import progress_bar
    from edgewatt.simulation.simulate import simulate as simulate_networks

    names = split(networks) or list(architecture_names())
    batches, precisions, modes = batches_of(batch), split(dtype) or ["float16"], split(power_mode)
    if modes or len(batches) > 1 or len(precisions) > 1:
        simulate_sweep(
            raw_dir,
            names,
            batches=batches,
            precisions=precisions,
            power_modes=modes,
            latency_ms=latency_ms,
            json=json,
            board=board,
            cycles=cycles,
            seed=seed,
        )
        return
    refuse_latency(latency_ms)
    with progress_bar("Simulating", len(names)) as step:
        folders = simulate_networks(
            raw_dir,
            names,
            board=board,
            cycles=cycles,
            seed=seed,
            precision=precisions[0],
            batch=batches[0],
            progress=step,
        )
    value = {"raw_dir": str(raw_dir), "recordings": [str(folder) for folder in folders]}
    show(json, value, f"{counted(len(folders), 'simulated recording')} in {raw_dir}, the truth in {raw_dir / 'truth'}")
