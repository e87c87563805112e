"""What a run was recorded on, and choosing runs by it: those of one board and power mode are like, others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewatt.errors import EdgewattError

#: What a simulated board's name begins with in `run.json`.
_SIMULATED = "simulated "


@dataclass(frozen=True, order=True)
class Condition:
    """What decides whether runs may be compared.

    Attributes:
        board: What the board calls itself; empty where it is not known.
        power_mode: Name of its power mode; empty where it is not known.
    """

    board: str = ""
    power_mode: str = ""

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> Condition:
        """The condition that the facts of a run tell, as `run.json` and `network.json` have them."""
        return cls(str(run.get("board") or ""), str(run.get("power_mode") or ""))

    def __str__(self) -> str:
        board = self.board or "unknown board"
        return f"{board}, {self.power_mode}" if self.power_mode else board


@dataclass(frozen=True)
class KnownRun:
    """A run and its condition.

    Attributes:
        name: `model` or `board/model`.
        condition: What it was recorded on.
    """

    name: str
    condition: Condition

    @property
    def folder(self) -> str:
        """The board's folder that it lies in; empty where it lies in none."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True)
class RunChoice:
    """Which runs are meant.

    Attributes:
        board: Only those of this board: its recorded name, a part of it, or the name of its folder.
        power_mode: Only those in this power mode: its recorded name or a part of it.
        mix: Whether several boards or power modes may stand together.
    """

    board: str | None = None
    power_mode: str | None = None
    mix: bool = False


def chosen(runs: Sequence[KnownRun], choice: RunChoice, where: Path) -> list[KnownRun]:
    """The runs that are meant.

    A name that is exactly a board's wins over boards that it is a part of: `orin-nano` does not mean `orin-nano-super`
    where there are both.

    Args:
        runs: Runs to choose from.
        choice: What is meant.
        where: Where they lie, for the error.

    Raises:
        EdgewattError: No run is meant.
    """
    kept = list(runs)
    if choice.board is not None:
        board = choice.board
        exact = [run for run in kept if is_exactly(board, run.condition.board) or is_exactly(board, run.folder)]
        kept = exact or [run for run in kept if is_named(board, run.condition.board)]
    if choice.power_mode is not None:
        mode = choice.power_mode
        exact = [run for run in kept if is_exactly(mode, run.condition.power_mode)]
        kept = exact or [run for run in kept if is_named(mode, run.condition.power_mode)]
    if not kept:
        meant = " ".join(name for name in (choice.board, choice.power_mode) if name is not None)
        raise EdgewattError(f"no network was recorded on {meant}", where=where, fix=f"There are: {listed(runs)}")
    return kept


def refuse_mixture(runs: Sequence[KnownRun], choice: RunChoice, where: Path) -> None:
    """Refuse runs of several boards or power modes, unless mixing them is what is meant.

    Args:
        runs: The runs that would stand together.
        choice: What is meant.
        where: Where they lie, for the error.

    Raises:
        EdgewattError: They are of several conditions.
    """
    if choice.mix or len({run.condition for run in runs}) < 2:
        return
    raise EdgewattError(
        f"the networks were recorded on different boards or in different power modes: {listed(runs)}",
        where=where,
        fix="Choose with --board and --power-mode, or mix them knowingly with --mix",
    )


def listed(runs: Sequence[KnownRun]) -> str:
    """The conditions of runs, with their numbers of networks."""
    counts = sorted(Counter(run.condition for run in runs).items())
    return "; ".join(f"{condition} ({count} network{'s' * (count > 1)})" for condition, count in counts)


def is_named(short: str, recorded: str) -> bool:
    """Whether a short name is part of the recorded one: `orin-nano` of `NVIDIA Jetson Orin Nano`."""
    return bool(plain(short)) and plain(short) in plain(recorded)


def is_exactly(short: str, recorded: str) -> bool:
    """Whether two names are the same but for how they are written; that a board is simulated need not be said."""
    return bool(recorded) and plain(short) in (plain(recorded), plain(recorded.removeprefix(_SIMULATED)))


def plain(name: str) -> str:
    """A name's letters and digits, which are what names are compared by."""
    return "".join(character for character in name.lower() if character.isalnum())
