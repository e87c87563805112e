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
    simulate(tmp_path, ["lenet"], cycles=300)
    again = RUNNER.invoke(app, ["record", "lenet", str(tmp_path), *QUICK, "--rounds", "1"])
    assert again.exit_code == 0, again.output
    assert "lenet@isolated was measured already" in again.stderr
    assert "in place ms" in again.stdout
    numbers = next(line for line in shown.stdout.splitlines() if "sum of the layers" in line).split()[-3:]
    beside = next(line for line in again.stdout.splitlines() if "sum of the layers" in line).split()
    assert beside[4:7] == numbers
    assert len(beside) == 10


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["RAW", "--networks", "lenet", *QUICK], "--networks is not for --isolate"),
        (["lenet", *QUICK], "RAW_DIR"),
        (["lenet", "RAW", *QUICK, "--fast", "--cycles", "10"], "--cycles, --fast are not for --isolate"),
        (["lenet", "RAW", "--warm"], "--cold/--warm is for layers by themselves"),
        (["RAW", "--networks", "lenet", "--rounds", "2", "--seconds", "1"], "--rounds, --seconds are for layers"),
        (["RAW", "--networks", "lenet,alexnet", "--name", "x"], "name themselves"),
        (["lenet", "RAW", *QUICK, "--latency-ms", "3"], "--latency-ms is not for --isolate"),
        (["lenet", "RAW", "--cool-down", "3"], "--cool-down is for several networks"),
    ],
)
def test_options_without_an_effect_are_refused(tmp_path: Path, arguments: list[str], why: str) -> None:
    raw = tmp_path / "raw"
    refused = RUNNER.invoke(app, ["record", *(str(raw) if part == "RAW" else part for part in arguments)])
    assert isinstance(refused.exception, EdgewattError)
    assert why in str(refused.exception)
    assert not raw.exists()
