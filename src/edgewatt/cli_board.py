"""Commands that need a board: its sensors, its idle power, and recordings of networks on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgewatt.cli_output import Json, show
from edgewatt.errors import EdgewattError

Root = Annotated[Path, typer.Option(help="Read /sys, /proc and /etc below this folder.")]
Sensor = Annotated[
    str | None, typer.Option(help="RAIL, RAIL+RAIL, a chip or source, simulated or none; by default the board's input.")
]


def sensors(
    sensor: Sensor = None,
    duration: Annotated[float, typer.Option(min=0.0, help="Seconds to measure how fresh values are.")] = 1.0,
    fast: Annotated[bool, typer.Option("--fast", help="Set the sensor to its fastest (root).")] = False,
    restore: Annotated[bool, typer.Option("--restore", help="Undo --fast (root).")] = False,
    root: Root = Path("/"),
    json: Json = False,
) -> None:
    """Show the sensors and rails found, which are the board's input, and how fresh their values are."""
    from edgewatt.sensors.discovery import discover
    from edgewatt.sensors.fast import make_fast, state_file
    from edgewatt.sensors.fast import restore as restore_settings
    from edgewatt.sensors.report import change_lines, changes_json, sensors_report, sensors_tables

    if fast and restore:
        raise EdgewattError("--fast and --restore undo each other", fix="Name one of them")
    if restore:
        changes = restore_settings(state_file(root))
        show(json, changes_json(changes), *change_lines(changes))
    elif fast:
        changes = make_fast(discover(root, sensor), state_file(root))
        show(json, changes_json(changes), *change_lines(changes), "Undo it with: edgewatt sensors --restore")
    else:
        report = sensors_report(discover(root, sensor), duration)
        show(json, report, *sensors_tables(report))
