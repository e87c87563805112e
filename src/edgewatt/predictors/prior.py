"""The prior of a board: a prediction for those who have no measurements of it yet.

A prior knows a board by its published figures and was calibrated on published whole-network results. Predictors
trained on measurements of the board replace it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp, hypot, log
from pathlib import Path

from pydantic import FiniteFloat

from edgewatt.dataset.features import table_kind
from edgewatt.formats.checked import FileModel, read_checked, write_checked
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.board_figures import BOARD_FIGURES, BoardFigures, find_board_figures
from edgewatt.predictors.network_prediction import (
    Interval,
    LayerPrediction,
    NetworkPrediction,
    Status,
    WholeNetwork,
)
from edgewatt.predictors.prior_model import PriorParameters, energies_above_idle_j, runtimes_s

CALIBRATION_FILE = Path(__file__).parent / "prior_calibration.json"


@dataclass(frozen=True)
class PriorCalibration:
    """The calibrated parameters, and how wrong they were on published results that they were not calibrated on.

    Attributes:
        parameters: The parameters.
        runtime_factor: Factor that covers at least 90 % of the errors of runtime.
        power_factor: The same of mean power, idle included.
        calibration_results: Number of groups of results that were calibrated on.
        test_results: Number of groups of results that were not.
    """

    parameters: PriorParameters
    runtime_factor: float
    power_factor: float
    calibration_results: int
    test_results: int

    @property
    def energy_factor(self) -> float:
        """Factor of the energy: errors of runtime and of power, which come together for most networks."""
        return exp(hypot(log(self.runtime_factor), log(self.power_factor)))


class _Stored(FileModel):
    """`prior_calibration.json`."""

    parameters: dict[str, FiniteFloat]
    runtime_factor: FiniteFloat
    power_factor: FiniteFloat
    calibration_results: int
    test_results: int


def read_calibration(path: Path = CALIBRATION_FILE) -> PriorCalibration:
    """Read the calibration that ships with the package, or another.

    Raises:
        FormatError: The file is missing or broken.
    """
    stored = read_checked(path, _Stored, "Install edgewatt again")
    return PriorCalibration(
        PriorParameters(**stored.parameters),
        stored.runtime_factor,
        stored.power_factor,
        stored.calibration_results,
        stored.test_results,
    )


def write_calibration(path: Path, calibration: PriorCalibration) -> None:
    """Write a calibration, whole or not at all."""
    write_checked(
        path,
        _Stored(
            parameters=asdict(calibration.parameters),
            runtime_factor=calibration.runtime_factor,
            power_factor=calibration.power_factor,
            calibration_results=calibration.calibration_results,
            test_results=calibration.test_results,
        ),
    )


def board_names() -> tuple[str, ...]:
    """Names of the boards that have a prior."""
    return tuple(BOARD_FIGURES)


def prior_prediction(
    layers: Sequence[Layer], board: str | BoardFigures, calibration: PriorCalibration | None = None
) -> NetworkPrediction:
    """Predict a network by a board's prior, in the board's fastest power mode.

    Layers have no intervals: no published result tells of layers.

    Args:
        layers: The network's layers, in execution order.
        board: The board's name or its figures.
        calibration: The calibration; None for the one that ships with the package.

    Raises:
        EdgewattError: There is no prior of that board.
    """
    figures = find_board_figures(board) if isinstance(board, str) else board
    known = calibration or read_calibration()
    runtimes = runtimes_s(layers, figures, known.parameters)
    energies = energies_above_idle_j(layers, runtimes, figures, known.parameters)
    predictions = tuple(
        _layer_prediction(layer, runtime_s, energy_j)
        for layer, runtime_s, energy_j in zip(layers, runtimes.tolist(), energies.tolist(), strict=True)
    )
    runtime_s = float(runtimes.sum())
    whole = _whole_network(runtime_s, float(energies.sum()) + figures.idle_power_w * runtime_s, known)
    return NetworkPrediction(predictions, figures.idle_power_w, whole)


def is_prior(prediction: NetworkPrediction) -> bool:
    """Whether a prediction is a prior's."""
    return any(layer.status is Status.PRIOR for layer in prediction.layers)


def _layer_prediction(layer: Layer, runtime_s: float, energy_j: float) -> LayerPrediction:
    if runtime_s <= 0.0:
        return LayerPrediction(layer, LayerKind.OTHER, Status.FREE, 0.0, 0.0)
    return LayerPrediction(layer, table_kind(layer), Status.PRIOR, energy_j / runtime_s, runtime_s)


def _whole_network(runtime_s: float, energy_j: float, known: PriorCalibration) -> WholeNetwork:
    power_w = energy_j / runtime_s if runtime_s > 0.0 else 0.0
    return WholeNetwork(
        runtime_s,
        energy_j,
        runtime_interval_s=_around(runtime_s, known.runtime_factor),
        energy_interval_j=_around(energy_j, known.energy_factor),
        power_interval_w=_around(power_w, known.power_factor),
    )


def _around(value: float, factor: float) -> Interval:
    return Interval(value / factor, value * factor)
