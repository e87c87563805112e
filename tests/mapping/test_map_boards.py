"""Recordings of several boards, from raw data to training tables and reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgewatt.dataset.run import build_dataset
from edgewatt.errors import EdgewattError
from edgewatt.formats.conditions import RunChoice
from edgewatt.formats.layer_power import read_layer_power
from edgewatt.formats.network_info import read_network_info
from edgewatt.formats.recording import find_recordings
from edgewatt.mapping.one import map_power
from edgewatt.mapping.run import map_recordings
from edgewatt.results.collect import collect, find_results
from edgewatt.simulation.simulate import simulate
from edgewatt.versioning.contents import data_set
from recording_builder import RecordingBuilder


def _record(folder: Path, model: str, board: str, power_mode: str = "15W", idle_w: float | None = None) -> None:
    made = RecordingBuilder(folder, model)
    made.idle = None if idle_w is None else {"timestamp": "20241121-051743", "avg_idle_power": idle_w * 1e6}
    made.write()
    run = {
        "schema_version": 1,
        "model": model,
        "board": board,
        "power_mode": power_mode,
        "backend": "trt",
        "sensor": {"name": "a"},
    }
    (made.folder / "run.json").write_text(json.dumps(run))


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Two boards, of which one has an idle power of its own."""
    raw = tmp_path / "raw"
    _record(raw / "agx", "net", "agx-orin", "MAXN", idle_w=5.0)
    _record(raw / "nano", "net", "orin-nano")
    _record(raw / "nano", "other", "orin-nano")
    (raw / "idling_power.json").write_text(json.dumps({"timestamp": "20241121-051743", "avg_idle_power": 4e6}))
    return raw


def test_boards_stay_in_their_folders(fleet: Path, tmp_path: Path) -> None:
    mapped = map_recordings(fleet, tmp_path / "pre", method="window")
    assert [network.model for network in mapped.done] == ["agx/net", "nano/net", "nano/other"]
    assert not mapped.failed
    # Both recordings show 6.25 W in the first layer; each has the idle power that counts for it.
    above = [read_layer_power(network.folder / "layer_power.csv")[0].power_above_idle_w for network in mapped.done]
    assert above == [1.25, 2.25, 2.25]
    built = build_dataset(tmp_path / "pre", tmp_path / "training", min_samples=1)
    assert [tables.model for tables in built.done] == ["agx/net", "nano/net", "nano/other"]
    info = read_network_info(tmp_path / "training" / "agx" / "net" / "network.json")
    assert (info.model, info.run["board"], info.run["power_mode"]) == ("net", "agx-orin", "MAXN")
    again = build_dataset(tmp_path / "pre", tmp_path / "training", min_samples=1)
    assert again.already == ["agx/net", "nano/net", "nano/other"]
    assert [tables.model for tables in again.done] == again.already


def test_names_choose_on_all_boards_or_on_one(fleet: Path, tmp_path: Path) -> None:
    both = map_recordings(fleet, tmp_path / "pre", models=["net"], method="window")
    assert [network.model for network in both.done] == ["agx/net", "nano/net"]
    one = map_recordings(fleet, tmp_path / "pre", models=["nano/other"], method="window")
    assert [network.model for network in one.done] == ["nano/other"]
    built = build_dataset(tmp_path / "pre", tmp_path / "training", min_samples=1, models=["agx/net"])
    assert [tables.model for tables in built.done] == ["agx/net"]


def test_one_recording_takes_the_idle_power_above_its_board(fleet: Path) -> None:
    assert map_power(fleet / "nano" / "net", method="window").info.idle_power_w == 4.0
    assert map_power(fleet / "agx" / "net", method="window").info.idle_power_w == 5.0


def test_dataset_chooses_boards_and_power_modes(fleet: Path, tmp_path: Path) -> None:
    map_recordings(fleet, tmp_path / "pre", method="window")
    for choice, names in (
        (RunChoice(board="nano"), ["nano/net", "nano/other"]),
        (RunChoice(power_mode="maxn"), ["agx/net"]),
    ):
        built = build_dataset(tmp_path / "pre", tmp_path / "training", min_samples=1, choice=choice)
        assert [tables.model for tables in built.done] == names


def test_a_flat_folder_of_several_boards_is_refused(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    _record(raw, "net", "orin-nano", idle_w=4.0)
    _record(raw, "net@7W", "orin-nano", "7W", idle_w=4.0)
    map_recordings(raw, tmp_path / "pre", method="window")
    with pytest.raises(EdgewattError, match=r"orin-nano, 15W \(1 network\); orin-nano, 7W \(1 network\).*--mix"):
        build_dataset(tmp_path / "pre", tmp_path / "training", min_samples=1)
    assert not (tmp_path / "training").exists()
    mixed = build_dataset(tmp_path / "pre", tmp_path / "training", min_samples=1, choice=RunChoice(mix=True))
    assert [tables.model for tables in mixed.done] == ["net", "net@7W"]


def test_a_broken_description_is_told_of_its_network_alone(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    for model in ("good", "net"):
        _record(raw, model, "orin-nano", idle_w=4.0)
    map_recordings(raw, tmp_path / "pre", method="window")
    (tmp_path / "pre" / "net" / "mapping.json").write_text("{")
    built = build_dataset(tmp_path / "pre", tmp_path / "training", min_samples=1)
    assert [tables.model for tables in built.done] == ["good"]
    assert list(built.failed) == ["net"]


def test_results_of_all_boards(fleet: Path, tmp_path: Path) -> None:
    map_recordings(fleet, tmp_path / "pre", method="window")
    assert [path.relative_to(fleet).as_posix() for path in find_results(fleet)] == [
        "agx/net",
        "nano/net",
        "nano/other",
    ]
    found = collect([fleet, tmp_path / "pre"])
    assert [(result.name, result.idle_power_w) for result in found.done] == [
        ("agx/net", 5.0),
        ("nano/net", 4.0),
        ("nano/other", 4.0),
    ]
    contents = data_set(tmp_path / "pre")
    assert (contents.stage, contents.networks) == ("preprocessed", ("agx/net", "nano/net", "nano/other"))
    assert contents.others == ()


def test_results_never_take_the_place_of_recordings(tmp_path: Path) -> None:
    simulate(tmp_path / "raw", ["lenet"], cycles=30)
    before = sorted(path for path in (tmp_path / "raw").rglob("*"))
    (tmp_path / "link").symlink_to(tmp_path / "raw")
    for same in (tmp_path / "raw", tmp_path / "link"):
        with pytest.raises(EdgewattError, match="take the place of what they are made from"):
            map_recordings(tmp_path / "raw", same)
        with pytest.raises(EdgewattError, match="take the place of what they are made from"):
            build_dataset(tmp_path / "raw", same)
    assert sorted(path for path in (tmp_path / "raw").rglob("*")) == before


def test_a_link_to_the_folder_itself_shows_nothing_twice(tmp_path: Path) -> None:
    simulate(tmp_path / "raw", ["lenet"], cycles=30)
    (tmp_path / "raw" / "loop").symlink_to(".")
    assert [paths.name for paths in find_recordings(tmp_path / "raw")] == ["lenet"]
