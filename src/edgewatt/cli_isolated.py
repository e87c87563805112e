"""`edgewatt record --isolate`: what is shown of layers that are measured by themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from edgewatt.cli_output import show
from edgewatt.errors import EdgewattError, printable

if TYPE_CHECKING:
    from edgewatt.results.network_result import NetworkResult


def isolate(
    network: str | None,
    raw_dir: Path | None,
    *,
    backend: str | None,
    sensor: str | None,
    rounds: int,
    seconds: float,
    cold: bool,
    share: bool,
    dtype: str,
    input_shape: tuple[int, ...] | None,
    name: str | None,
    replace: bool,
    seed: int,
    root: Path,
    json: bool,
) -> None:
    """Measure every layer of a network by itself; arguments are the options of `edgewatt record`."""
    from edgewatt.backends.network import find_network
    from edgewatt.isolation.isolated_run import read_isolated
    from edgewatt.isolation.record import IsolationOptions, record_isolated
    from edgewatt.isolation.session import AlreadyMeasuredError
    from edgewatt.reports.isolated import isolated_json, isolated_lines, isolated_table
    from edgewatt.reports.progress import steps_bar

    if network is None or raw_dir is None:
        raise EdgewattError(
            "--isolate takes NETWORK and RAW_DIR, one network at a time",
            fix="edgewatt record resnet18 raw_data --isolate",
        )
    options = IsolationOptions(
        rounds=rounds, seconds=seconds, cold=cold, share=share, precision=dtype, input_shape=input_shape, seed=seed
    )
    try:
        with steps_bar("Layers") as progress:
            run = record_isolated(
                network,
                raw_dir,
                backend=backend,
                sensor=sensor,
                options=options,
                name=name,
                replace_existing=replace,
                root=root,
                progress=progress,
            )
    except AlreadyMeasuredError as error:
        run = read_isolated(Path(str(error.where)))
        print(f"{printable(run.name)} was measured already (--replace measures it anew)", file=sys.stderr)
    in_place = _in_place(raw_dir / (name or find_network(network).name), str(run.plan.settings.get("backend")))
    show(
        json,
        isolated_json(run, in_place),
        isolated_table(run, in_place),
        *isolated_lines(run, in_place),
        f"Recording: {run.folder}",
    )
    raise typer.Exit(1 if run.interrupted else 0)


def _in_place(folder: Path, backend: str) -> NetworkResult | None:
    """The same network recorded in place, its power mapped to layers; None where there is no usable recording."""
    from edgewatt.errors import warn
    from edgewatt.results.collect import read_result
    from edgewatt.results.recording import is_recording

    if not folder.is_dir() or not is_recording(folder):
        return None
    try:
        found = read_result(folder)
    except EdgewattError as error:
        warn(f"the recording in place cannot be compared with: {error}")
        return None
    if found.environment.backend not in ("", backend):
        warn(f"the recording in place was made with {found.environment.backend}: its layers are others", where=folder)
        return None
    return found
