from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jetson_tree import JetsonTree

from edgewatt.recording.environment import Clock, Environment, read_environment
from edgewatt.recording.stability import RunFacts, verdict


@pytest.fixture
def calm(tmp_path: Path) -> Environment:
    tree = JetsonTree(tmp_path)
    tree.lock_clocks()
    return read_environment(tmp_path)


def _run(before: Environment, after: Environment | None = None, **changes: Any) -> RunFacts:
    facts = RunFacts(before, after or before, 30000, 10e-3, 24, 12000, 6.6e-3, processors=6)
    return replace(facts, **changes)


def test_nothing_stands_against_a_calm_run(calm: Environment) -> None:
    assert verdict(_run(calm)) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"interrupted": "stopped by SIGINT"}, "interrupted: stopped by SIGINT"),
        ({"failed_readings": 3}, "3 power readings failed"),
        ({"cycle_s": 3.1e-3}, "the sensor is slower than the network: a new value comes every 6.60 ms"),
        (
            {"fresh_values": 48},
            "too few cycles to tell layers apart: 48 fresh power values for 24 layers; record about 10 times as many",
        ),
        (
            {"fresh_values": 0},
            "too few cycles to tell layers apart: 0 fresh power values for 24 layers; record about 480 times as many",
        ),
        (
            {"fresh_values": 300},
            "too few cycles to tell layers apart: 300 fresh power values for 24 layers; record about 1.6 times as many",
        ),
        ({"fresh_values": None}, "no power was recorded: runtimes alone"),
        ({"averaging_s": 0.43}, "the sensor averages over 430 ms"),
        ({"cycles": 20}, "too few cycles for a spread: 20"),
    ],
)
def test_each_doubt_is_a_sentence(calm: Environment, changes: dict[str, Any], sentence: str) -> None:
    (found,) = verdict(_run(calm, **changes))
    assert found.startswith(sentence)


def test_clocks_that_move_are_named(tmp_path: Path, calm: Environment) -> None:
    JetsonTree(tmp_path)
    (found,) = verdict(_run(read_environment(tmp_path), calm))
    assert found.startswith("clocks were not locked (17000000.gpu, cpu0, cpu1)")
    assert "jetson_clocks" in found


def test_throttling_is_told_by_counters_that_grew(calm: Environment) -> None:
    after = replace(calm, throttling={**calm.throttling, "soctherm_oc oc1_event_cnt": 5})
    assert verdict(_run(calm, after)) == ["the board was throttled (soctherm_oc oc1_event_cnt from 3 to 5)"]


def test_warming_and_a_changed_mode_are_told(calm: Environment) -> None:
    after = replace(calm, temperatures={"cpu-thermal": 60.25}, power_mode="15W")
    mode, warming = verdict(_run(calm, after))
    assert mode == "the power mode changed from MAXN_SUPER to 15W meanwhile"
    assert warming.startswith("cpu-thermal warmed by 15 degrees")


def test_others_on_the_machine_are_told(calm: Environment) -> None:
    gpu, host = verdict(_run(replace(calm, gpu_load=0.4, load=4.0)))
    assert gpu.startswith("another process was on the GPU")
    assert "40%" in gpu
    assert host.startswith("the machine was busy before the run: a load of 4 on 6 processors")


def test_every_sentence_is_explained_in_the_documentation(calm: Environment) -> None:
    page = (Path(__file__).parents[2] / "docs" / "recording.md").read_text()
    table = page.partition("| sentence |")[2].partition("\n\n")[0]
    explained = [
        re.compile(re.escape(text).replace(r"\.\.\.", ".*")) for text in re.findall(r"^\| `(.*?)` \|", table, re.M)
    ]
    moving = {"cpu0": Clock(1e5, 1e6)}
    before = replace(calm, cpu_clocks=moving, gpu_load=0.9, load=9.0)
    after = replace(calm, power_mode="7W", throttling={"oc1": 5.0}, temperatures=dict.fromkeys(calm.temperatures, 99.0))
    worst = _run(
        before, after, interrupted="x", failed_readings=3, fresh_values=1, cycle_s=1e-3, averaging_s=1, cycles=5
    )
    sentences = verdict(worst) + verdict(replace(worst, fresh_values=None))
    assert len(set(sentences)) == len(explained) == 13
    assert [s for s in sentences if not any(pattern.match(s) for pattern in explained)] == []
