"""Recordings and results never take the place of what somebody else put there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.isolation.record import IsolationOptions, record_isolated
from edgewatt.mapping.run import map_recordings
from edgewatt.recording.record import record
from edgewatt.simulation.simulate import simulate

QUICK = IsolationOptions(rounds=1, seconds=0.05)


def _record(raw: Path) -> None:
    record("lenet", raw, backend="simulated", sensor="simulated", cycles=5)


def _isolate(raw: Path) -> None:
    record_isolated("lenet", raw, backend="simulated", options=QUICK)


def _simulate(raw: Path) -> None:
    simulate(raw, ["lenet"], cycles=5)


def _map(folder: Path) -> None:
    simulate(folder.parent / "simulated", ["lenet"], cycles=30)
    batch = map_recordings(folder.parent / "simulated", folder, method="window", jobs=1)
    for error in batch.failed.values():
        raise error


@pytest.mark.parametrize(
    ("work", "name"), [(_record, "lenet"), (_isolate, "lenet@isolated"), (_simulate, "lenet"), (_map, "lenet")]
)
@pytest.mark.parametrize("is_file", [False, True])
def test_other_things_stay(work: Callable[[Path], None], name: str, is_file: bool, tmp_path: Path) -> None:
    place = tmp_path / "folder" / name
    kept = place if is_file else place / "weights.pt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    with pytest.raises(EdgewattError, match="take the place of"):
        work(tmp_path / "folder")
    assert kept.read_text() == "mine"


def test_an_empty_folder_is_free(tmp_path: Path) -> None:
    (tmp_path / "lenet").mkdir()
    _simulate(tmp_path)
    assert (tmp_path / "lenet" / "run.json").exists()


@pytest.mark.parametrize("name", ["idling_power.json", "truth", ""])
def test_names_that_something_else_has(name: str, tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match="cannot be called"):
        record("lenet", tmp_path, backend="simulated", sensor="simulated", cycles=5, name=name)
    assert list(tmp_path.iterdir()) == []
