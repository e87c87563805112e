"""Simulated recordings that take a moment to map each, and what folders hold byte for byte."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from edgewatt.simulation.simulate import simulate


def simulated_copies(raw_dir: Path, names: str, cycles: int) -> Path:
    """One simulated recording under several names, each of them a letter."""
    simulate(raw_dir, ["lenet"], cycles=cycles)
    for name in names:
        shutil.copytree(raw_dir / "lenet", raw_dir / name)
        for path in (raw_dir / name).glob("lenet*"):
            path.rename(path.with_name(path.name.replace("lenet", name)))
    shutil.rmtree(raw_dir / "lenet")
    return raw_dir


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds; fails when it does not come to hold."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)
