"""What a board can do at most, where that is published: the roofs above its layers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from edgewatt.predictors.recorded_boards import recorded_figures
from edgewatt.results.network_result import NetworkResult
from edgewatt.simulation.board import SimulatedBoard


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
    figures = recorded_figures(result.environment.board, result.environment.power_mode)
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


def _usual_precision(result: NetworkResult) -> str:
    counted = Counter(layer.layer.precision for layer in result.layers if layer.layer is not None)
    return counted.most_common(1)[0][0] if counted else ""
