"""The published figures of a board that calls itself by some name, in some power mode."""

from __future__ import annotations

import re

from edgewatt.predictors.board_figures import BOARD_FIGURES, BoardFigures
from edgewatt.simulation.board import BOARDS, SimulatedBoard

#: Words of a board's own name, all of which must be in it; what tells a smaller variant; the figures' name. The first
#: that fits counts.
_MODELS = (
    ("orin nano super", r"\b4 ?gb", "orin-nano-super"),
    ("orin nano", r"\b4 ?gb", "orin-nano"),
    ("orin nx", r"\b8 ?gb", "orin-nx"),
    ("agx orin", r"\b32 ?gb|industrial", "agx-orin"),
    ("xavier nx", r"industrial", "xavier-nx"),
    ("agx xavier", r"\b8 ?gb|industrial", "agx-xavier"),
)
#: Power modes that only the faster variant of an Orin Nano has.
_SUPER_MODES = re.compile(r"super|\b25 ?w", re.IGNORECASE)


def recorded_figures(board: str, power_mode: str) -> BoardFigures | SimulatedBoard | None:
    """What is published of a board, or what a simulated one was given; None where the board is not known.

    Args:
        board: What the board calls itself, or its name in `board_figures`.
        power_mode: Name of its power mode; empty where it is not known.
    """
    if board.startswith("simulated "):
        simulated = BOARDS.get(board.removeprefix("simulated "))
        if simulated is None or power_mode not in simulated.power_modes:
            return simulated
        return simulated.in_mode(power_mode)
    exact = [figures for figures in BOARD_FIGURES.values() if board in (figures.name, figures.title)]
    if exact:
        return exact[0]
    words = re.sub(r"[-_()]+", " ", board.lower())
    fits = ((other, name) for model, other, name in _MODELS if set(model.split()) <= set(words.split()))
    other, found = next(fits, ("", None))
    if found is None or re.search(other, words):
        return None
    if found == "orin-nano" and _SUPER_MODES.search(power_mode):
        found = "orin-nano-super"
    return BOARD_FIGURES[found]
