"""Choosing runs by board and power mode, and refusing to mix them."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.formats.conditions import Condition, KnownRun, RunChoice, chosen, refuse_mixture

NANO, SUPER = "NVIDIA Jetson Orin Nano", "NVIDIA Jetson Orin Nano Super"
RUNS = [
    KnownRun("desk/lenet", Condition(NANO, "15W")),
    KnownRun("desk/vgg", Condition(NANO, "7W")),
    KnownRun("rack/lenet", Condition(SUPER, "MODE_25W")),
    KnownRun("old", Condition()),
]


@pytest.mark.parametrize(
    ("board", "power_mode", "names"),
    [
        (None, None, ["desk/lenet", "desk/vgg", "rack/lenet", "old"]),
        ("orin-nano", None, ["desk/lenet", "desk/vgg", "rack/lenet"]),
        ("nvidia jetson orin nano", None, ["desk/lenet", "desk/vgg"]),
        ("Super", None, ["rack/lenet"]),
        ("rack", None, ["rack/lenet"]),
        ("desk", "7W", ["desk/vgg"]),
        (None, "25w", ["rack/lenet"]),
    ],
)
def test_names_of_boards_and_modes(board: str | None, power_mode: str | None, names: list[str]) -> None:
    found = chosen(RUNS, RunChoice(board, power_mode), Path("data"))
    assert [run.name for run in found] == names


def test_an_exact_name_of_a_simulated_board_wins() -> None:
    runs = [KnownRun(name, Condition(f"simulated {name}")) for name in ("orin-nano", "orin-nano-super")]
    assert chosen(runs, RunChoice("orin-nano"), Path()) == runs[:1]


def test_nothing_is_meant() -> None:
    with pytest.raises(EdgewattError, match=r"no network was recorded on xavier 7W.*unknown board \(1 network\)"):
        chosen(RUNS, RunChoice("xavier", "7W"), Path("data"))


def test_mixtures_are_refused_with_what_there_is() -> None:
    with pytest.raises(EdgewattError) as raised:
        refuse_mixture([*RUNS, KnownRun("older", Condition())], RunChoice(), Path("data"))
    told = str(raised.value)
    for part in ("unknown board (2 networks)", f"{NANO}, 15W (1 network)", f"{NANO}, 7W (1 network)", "--mix"):
        assert part in told
    refuse_mixture(RUNS, RunChoice(mix=True), Path("data"))
    refuse_mixture([RUNS[3], KnownRun("older", Condition())], RunChoice(), Path("data"))
