"""What keeps a command from going on with a recording that is there: options that were others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgewatt.errors import EdgewattError

#: What the settings of recordings are called on the command line, where that is another name.
_OPTIONS = {
    "backend": "--backend",
    "sensor": "--sensor",
    "precision": "--dtype",
    "input_shape": "--input-shape",
    "seconds": "--seconds",
    "share": "--share",
    "seed": "--seed",
    "kinds": "--kinds",
    "adaptive": "--adaptive",
    "pause_s": "a pause of",
    "memory_bytes": "a board's memory of",
    "board": "the board",
}


def refuse_other_settings(before: Mapping[str, Any], now: Mapping[str, Any], what: str, folder: Path) -> None:
    """Refuse to go on where a setting differs, naming what it was.

    Args:
        before: Settings of the recording that is there.
        now: What they would be.
        what: `sweep`, or another word for what is there.
        folder: Where it lies.

    Raises:
        EdgewattError: One differs.
    """
    # A recording of an older version does not tell all of them.
    other = [_told(name, before[name], value) for name, value in now.items() if before.get(name, value) != value]
    if other:
        raise EdgewattError(
            f"the {what} that is there was made with {'; '.join(other)}",
            where=folder,
            fix="Go on with the same options, use another folder, or replace it (--replace)",
        )


def _told(name: str, before: Any, now: Any) -> str:
    if name == "network":
        return "another network, or one of other weights"
    if name == "sensor":
        return f"--sensor {before or 'left away'}, not {now or 'left away'}"
    if name == "caches":
        return f"--{before}, not --{now}"
    return f"{_OPTIONS.get(name, name)} {_shown(before)}, not {_shown(now)}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return str(value) if value not in (None, "") else "none"
