"""Runs side by side, flat and in folders of boards."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.formats.fingerprint import data_fingerprint
from edgewatt.formats.run_folders import chosen_runs, idle_power_file, network_of, run_folders


def _runs(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).mkdir(parents=True)
        (root / name / "here").write_text("")
    return root


def _names(root: Path) -> list[str]:
    return [run.name for run in run_folders(root, "record", lambda folder: (folder / "here").exists())]


def test_boards_are_one_level_deep(tmp_path: Path) -> None:
    _runs(tmp_path, "lenet", "nano/alexnet", "nano/lenet", "lab/bench/lenet", "agx/lenet@b4", "lenet/inner")
    (tmp_path / "truth").mkdir()
    assert _names(tmp_path) == ["agx/lenet@b4", "lenet", "nano/alexnet", "nano/lenet"]


def test_choice_by_model_and_by_board(tmp_path: Path) -> None:
    found = {name: name for name in ("agx/lenet", "lenet", "nano/alexnet", "nano/lenet")}
    assert chosen_runs(found, [], "run", tmp_path) == list(found)
    assert chosen_runs(found, ["lenet"], "run", tmp_path) == ["agx/lenet", "lenet", "nano/lenet"]
    assert chosen_runs(found, ["nano/lenet", "alexnet"], "run", tmp_path) == ["nano/lenet", "nano/alexnet"]
    with pytest.raises(EdgewattError, match=r"no recording of agx/alexnet, vgg.*There are: agx/lenet, lenet"):
        chosen_runs(found, ["agx/alexnet", "vgg", "lenet"], "recording of", tmp_path)


def test_a_network_without_a_run_of_just_its_name_means_its_states(tmp_path: Path) -> None:
    found = {name: name for name in ("lenet", "lenet@b4", "vgg11@b1", "vgg11@b4", "sweep@seed0")}
    assert chosen_runs(found, ["vgg11"], "run", tmp_path) == ["vgg11@b1", "vgg11@b4"]
    assert chosen_runs(found, ["lenet"], "run", tmp_path) == ["lenet"]


@pytest.mark.parametrize("name", ["resnet18", "nano/resnet18", "resnet18@b4-int8", "nano/resnet18@7W"])
def test_network_of_a_run(name: str) -> None:
    assert network_of(name) == "resnet18"


def test_a_name_that_is_a_state_alone_stays() -> None:
    assert network_of("nano/@b4") == "@b4"


def test_idle_power_of_the_board_comes_first(tmp_path: Path) -> None:
    run = _runs(tmp_path, "nano/lenet") / "nano" / "lenet"
    beside, above = tmp_path / "nano" / "idling_power.json", tmp_path / "idling_power.json"
    assert idle_power_file(run) == beside
    above.write_text("{}")
    assert idle_power_file(run) == above
    beside.write_text("{}")
    assert idle_power_file(run) == beside


def test_fingerprint_of_some_networks_of_boards(tmp_path: Path) -> None:
    _runs(tmp_path, "nano/lenet", "agx/lenet", "vgg")
    both = data_fingerprint(tmp_path, ["nano/lenet", "vgg"])
    (tmp_path / "agx" / "lenet" / "here").write_text("changed")
    assert data_fingerprint(tmp_path, ["nano/lenet", "vgg"]) == both
    (tmp_path / "nano" / "lenet" / "here").write_text("changed")
    assert data_fingerprint(tmp_path, ["nano/lenet", "vgg"]) != both
