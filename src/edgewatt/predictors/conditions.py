"""Whether predictors are asked for what they were trained for."""

from __future__ import annotations

from collections.abc import Sequence

from edgewatt.errors import warn
from edgewatt.networks.layer import Layer
from edgewatt.predictors.folder import Predictors


def warn_of_conditions(layers: Sequence[Layer], predictors: Predictors, board: str | None = None) -> None:
    """Warn where the precision of the layers that compute, or the board, differs from what was recorded.

    Args:
        layers: The network's layers.
        predictors: What shall predict them.
        board: The board that is meant; None where none was named.
    """
    precisions = sorted({layer.precision for layer in layers if layer.macs > 0} - set(predictors.precisions))
    if predictors.precisions and precisions:
        warn(
            f"layers compute in {', '.join(precisions)}, and the predictors were trained on "
            f"{', '.join(predictors.precisions)} only",
            fix="Take --dtype of that precision, or train on recordings in the other",
        )
    recorded = predictors.runs.get("board", ())
    if board is not None and recorded and not any(_is_named(board, name) for name in recorded):
        warn(
            f"the predictors were trained on {', '.join(recorded)}, not on {board}",
            fix="Leave --predictors out to use that board's prior, or train on recordings of it",
        )


def _is_named(board: str, recorded: str) -> bool:
    """Whether a board's short name is part of its recorded one: `orin-nano` of `NVIDIA Jetson Orin Nano`."""
    return _plain(board) in _plain(recorded)


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
