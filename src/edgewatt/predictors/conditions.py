"""Whether predictors are asked for what they were trained for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.conditions import is_named
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import read_mapping_info
from edgewatt.formats.run_info import FILE_NAME as RUN_FILE
from edgewatt.formats.run_info import read_run_info
from edgewatt.networks.layer import Layer
from edgewatt.predictors.folder import Predictors

#: What is compared beside the precision, and what a reader calls it.
_COMPARED = {"board": "board", "power_mode": "power mode"}


def recorded_conditions(network: str) -> Mapping[str, str]:
    """The board and power mode that an engine was recorded in, where it lies in a recording or a mapped network.

    Args:
        network: The engine's file; an architecture's name and files elsewhere have no conditions.
    """
    path = Path(network)
    if not path.is_file():
        return {}
    try:
        for folder in (path.parent, path.parent.parent):
            if (folder / RUN_FILE).is_file():
                return _known(read_run_info(folder / RUN_FILE).model_dump())
            if (folder / MAPPING_FILE).is_file():
                return _known(read_mapping_info(folder / MAPPING_FILE).run)
    except EdgewattError as error:
        warn(f"what the network was recorded on is not known: {error}")
    return {}


def warn_of_conditions(
    layers: Sequence[Layer],
    predictors: Predictors,
    board: str | None = None,
    recorded: Mapping[str, str] | None = None,
    power_mode: str | None = None,
) -> None:
    """Warn where the precision of the layers that compute, the board or the power mode is another than was trained on.

    Args:
        layers: The network's layers.
        predictors: What shall predict them.
        board: The board that is meant; None where none was named.
        recorded: What `recorded_conditions` knows of the network.
        power_mode: The power mode that is meant; None where none was named.
    """
    precisions = sorted({layer.precision for layer in layers if layer.macs > 0} - set(predictors.precisions))
    if predictors.precisions and precisions:
        warn(
            f"layers compute in {', '.join(precisions)}, and the predictors were trained on "
            f"{', '.join(predictors.precisions)} only",
            fix="Take --dtype of that precision, or train on recordings in the other",
        )
    if predictors.boards:
        return  # they are told which board is meant
    boards = predictors.runs.get("board", ())
    if len(boards) > 1:
        warn(
            f"the predictors mix the boards {', '.join(boards)} and cannot tell them apart",
            fix="Train with --board for one of them, or with --board-features for all",
        )
    named = {"board": board, "power_mode": power_mode}
    meant = {**(recorded or {}), **{key: value for key, value in named.items() if value is not None}}
    for key, name in _COMPARED.items():
        trained_on, value = predictors.runs.get(key, ()), meant.get(key)
        if value is not None and trained_on and not any(is_named(value, known) for known in trained_on):
            warn(
                f"the predictors were trained on the {name} {', '.join(trained_on)}, not on {value}",
                fix="Use predictors of the one that is meant, or with --board alone that board's prior",
            )


def _known(run: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(run[key]) for key in _COMPARED if run.get(key)}
