"""What predicts a network: trained predictors, or the prior of a board where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import Layer
from edgewatt.predictors.board_figures import find_board_figures
from edgewatt.predictors.conditions import recorded_conditions, warn_of_conditions
from edgewatt.predictors.fleet_prediction import meant_board
from edgewatt.predictors.network_prediction import NetworkPrediction
from edgewatt.predictors.prediction import load_predictors, predict
from edgewatt.predictors.prior import board_names, prior_prediction

#: Where `train` is told to write in the documentation.
DEFAULT_FOLDER = Path("predictors")


@dataclass(frozen=True)
class ChosenPrediction:
    """A prediction and what it came from.

    Attributes:
        prediction: The prediction.
        prior_of: Name of the board whose prior it is; None where trained predictors made it.
        predictors: Folder of the predictors; None for a prior.
    """

    prediction: NetworkPrediction
    prior_of: str | None
    predictors: Path | None


def chosen_prediction(
    layers: Sequence[Layer],
    predictors: Path | None = None,
    board: str | None = None,
    network: str = "",
    *,
    power_mode: str | None = None,
    board_figures: Path | None = None,
) -> ChosenPrediction:
    """Predict a network with what the user named.

    A named folder of predictors wins over a board's prior, and a named board's prior over predictors that merely lie
    in the default folder.

    Args:
        layers: The network's layers, in execution order.
        predictors: Folder that `train` wrote; None where none was named.
        board: Name of a board; None where none was named.
        network: Where the layers were read from: an engine that was recorded tells its board and power mode.
        power_mode: Power mode of the board, for predictors that serve several.
        board_figures: TOML file of figures of boards that nobody published, for such predictors.

    Raises:
        EdgewattError: Nothing was named and the default folder does not exist, there is no prior of that board, or
            predictors that serve several boards are not told which is meant.
        FormatError: The predictors are missing or broken.
    """
    if predictors is None and board is not None:
        name = find_board_figures(board).name
        return ChosenPrediction(prior_prediction(layers, name), name, None)
    if predictors is None and not DEFAULT_FOLDER.exists():
        raise EdgewattError(
            "there are no predictors",
            where=DEFAULT_FOLDER,
            fix="Name a folder that `train` wrote with --predictors, or a board whose prior will do with --board: "
            + ", ".join(board_names()),
        )
    folder = predictors or DEFAULT_FOLDER
    loaded = load_predictors(folder)
    recorded = recorded_conditions(network)
    rates = meant_board(loaded, board, power_mode, recorded, board_figures)
    warn_of_conditions(layers, loaded, board, recorded, power_mode)
    return ChosenPrediction(predict(layers, loaded, rates), None, folder)
