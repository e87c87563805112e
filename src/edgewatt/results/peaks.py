"""What a board can do at most, where that is published: the roofs above its layers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from edgewatt.predictors.board_figures import BOARD_FIGURES, BoardFigures
from edgewatt.results.network_result import Environment, NetworkResult
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


@dataclass(frozen=True)
class Peaks:
    """The highest rates of a board in its fastest power mode.

    Attributes:
        board: What board they are of.
        precision: The precision that `macs_per_s` is of.
        unit: What reaches it: tensor cores or CUDA cores.
        macs_per_s: Multiply-accumulates a second.
        bytes_per_s: Bandwidth of its memory.
    """

    board: str
    precision: str
    unit: str
    macs_per_s: float
    bytes_per_s: float


def peak_rates(result: NetworkResult) -> Peaks | None:
    """The highest rates of the board that a result is of; None where board or precision is not known.

    Published figures (`edgewatt.predictors.board_figures` names their sources) or those of the simulated board.

    Args:
        result: The result; its precision is its environment's, or that of most layers.
    """
    precision = result.environment.precision or _usual_precision(result)
    figures = _figures(result.environment)
    if figures is None or not precision:
        return None
    if isinstance(figures, SimulatedBoard):
        tensor, cuda = figures.tensor_macs_per_s.get(precision), figures.cuda_macs_per_s.get(precision)
        board, bytes_per_s = f"simulated {figures.name}", figures.dram_bytes_per_s
    else:
        tensor, cuda = figures.tensor_macs_per_s(precision), figures.cuda_macs_per_s(precision)
        board, bytes_per_s = figures.title, figures.bytes_per_s
    if tensor is not None:
        return Peaks(board, precision, "tensor cores", tensor, bytes_per_s)
    return None if cuda is None else Peaks(board, precision, "CUDA cores", cuda, bytes_per_s)


def _figures(environment: Environment) -> BoardFigures | SimulatedBoard | None:
    board = environment.board
    if board.startswith("simulated "):
        return BOARDS.get(board.removeprefix("simulated "))
    exact = [figures for figures in BOARD_FIGURES.values() if board in (figures.name, figures.title)]
    if exact:
        return exact[0]
    words = re.sub(r"[-_()]+", " ", board.lower())
    fits = ((other, name) for model, other, name in _MODELS if set(model.split()) <= set(words.split()))
    other, found = next(fits, ("", None))
    if found is None or re.search(other, words):
        return None
    if found == "orin-nano" and _SUPER_MODES.search(environment.power_mode):
        found = "orin-nano-super"
    return BOARD_FIGURES[found]


def _usual_precision(result: NetworkResult) -> str:
    counted = Counter(layer.layer.precision for layer in result.layers if layer.layer is not None)
    return counted.most_common(1)[0][0] if counted else ""
