from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgewatt.cli import app
from edgewatt.errors import EdgewattError
from edgewatt.simulation.simulate import simulate

RUNNER = CliRunner()
QUICK = ["--isolate", "--backend", "simulated", "--rounds", "2", "--seconds", "0.2"]


def test_layers_are_shown_beside_those_in_place(tmp_path: Path) -> None:
    simulate(tmp_path, ["lenet"], cycles=1000)
    first = RUNNER.invoke(app, ["record", "lenet", str(tmp_path), *QUICK, "--json"])
    assert first.exit_code == 0, first.output
    value = json.loads(first.stdout)
    assert value["model"] == "lenet@isolated"
    assert value["in_place"] == str(tmp_path / "lenet")
    layers = value["layers"]
    assert len(layers) == 7
    # The simulated board runs layers alike in both: 3 % from cycle to cycle, and means of a thousand cycles.
    for layer in layers:
        assert layer["runtime_ms"] == pytest.approx(layer["in_place"]["runtime_ms"], rel=0.05)
    assert value["sum_of_layers_mj"] == pytest.approx(sum(layer["energy_mj"] for layer in layers))
    assert value["energy_closure"] == pytest.approx(value["sum_of_layers_mj"] / value["network_mj"] - 1)
    assert (value["left_out"], value["interrupted"]) == ({}, None)


def test_the_table_names_what_there_is_to_compare_with(tmp_path: Path) -> None:
    shown = RUNNER.invoke(app, ["record", "lenet", str(tmp_path), *QUICK, "--rounds", "1"])
    assert shown.exit_code == 0, shown.output
    assert "sum of the layers" in shown.stdout
    assert "no recording of lenet in place" in shown.stdout


def test_what_does_not_go_with_isolate_is_told(tmp_path: Path) -> None:
    for options, why in (([str(tmp_path), "--networks", "lenet"], "--networks"), (["lenet"], "RAW_DIR")):
        refused = RUNNER.invoke(app, ["record", *options, *QUICK])
        assert isinstance(refused.exception, EdgewattError)
        assert why in str(refused.exception)
