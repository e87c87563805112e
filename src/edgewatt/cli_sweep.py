"""`edgewatt sweep`: single layers that cover what real networks use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgewatt.cli_output import Json, show, split
from edgewatt.errors import EdgewattError

if TYPE_CHECKING:
    from edgewatt.backends.base import Backend


def sweep(
    raw_dir: Annotated[Path, typer.Argument(help="Folder to write the recording to, as sweep@seedSEED.")],
    kinds: Annotated[
        list[str] | None, typer.Option(help="Kinds of layers: convolutional,pooling,dense (the default).")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Different layers; some are measured again on top.")] = 500,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Draws layers, weights and the order.")] = 0,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Pick each next batch where predictors know least.")
    ] = False,
    target_error: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT", min=0.0, help="With --adaptive: end once predictors are off by no more than this."
        ),
    ] = None,
    networks: Annotated[
        list[str] | None,
        typer.Option(help="With --adaptive: aim at these, too: architectures, ONNX files or engines, by commas."),
    ] = None,
    backend: Annotated[str | None, typer.Option(help="What runs them, as for `record`.")] = None,
    board: Annotated[str | None, typer.Option(help="With the simulated backend: the board.")] = None,
    sensor: Annotated[str | None, typer.Option(help="What to log, as for `record`; none for runtimes alone.")] = None,
    dtype: Annotated[str, typer.Option(help="Type to compute in, where the backend can choose.")] = "float16",
    rounds: Annotated[int, typer.Option(min=1, help="Loops of each layer, in random order.")] = 2,
    seconds: Annotated[float, typer.Option(min=0.01, max=600, help="Settled time of each loop, at least.")] = 1.0,
    replace: Annotated[bool, typer.Option("--replace", help="Begin anew where there is a sweep of that seed.")] = False,
    root: Annotated[Path, typer.Option(help="Read /sys, /proc and /etc below this folder.")] = Path("/"),
    json: Json = False,
) -> None:
    """Measure single layers that cover what networks use, as training data; an interrupted sweep is gone on with."""
    from edgewatt.reports.progress import steps_bar
    from edgewatt.reports.sweep import outlook_line, sweep_json, sweep_lines, sweep_table
    from edgewatt.sweep.options import SweepOptions, layer_kinds
    from edgewatt.sweep.record import record_sweep

    options = SweepOptions(
        kinds=layer_kinds(split(kinds)),
        count=count,
        seed=seed,
        adaptive=adaptive,
        target_error=None if target_error is None else target_error / 100,
        networks=tuple(split(networks)),
        rounds=rounds,
        seconds=seconds,
        precision=dtype,
    )
    with steps_bar("Sweep") as progress:
        run = record_sweep(
            raw_dir,
            backend=_backend(backend, board),
            sensor=sensor,
            options=options,
            replace_existing=replace,
            root=root,
            progress=progress,
            before=lambda outlook: print(outlook_line(outlook), file=sys.stderr),
        )
    show(json, sweep_json(run), sweep_table(run), *sweep_lines(run), f"Recording: {run.folder}")
    raise typer.Exit(1 if run.interrupted else 0)


def _backend(name: str | None, board: str | None) -> str | Backend | None:
    """The backend of a name; the simulated one of a board."""
    if board is None:
        return name
    from edgewatt.backends.simulated import SimulatedBackend
    from edgewatt.simulation.board import find_board

    if name not in (None, SimulatedBackend.name):
        raise EdgewattError(f"--board is of the simulated backend, not of {name}", fix="Leave one of the two away")
    return SimulatedBackend(find_board(board))
