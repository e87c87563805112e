"""Which board a prediction is for, where predictors serve several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.conditions import Condition, is_exactly, is_named
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.board_features import BoardRates, GivenBoards, board_rates, read_board_figures
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.recorded_boards import recorded_figures

_NONE_NAMED = "the predictors serve several boards, and none is named"


def meant_board(
    predictors: Predictors,
    board: str | None,
    power_mode: str | None = None,
    recorded: Mapping[str, str] | None = None,
    board_figures: Path | None = None,
) -> BoardRates | None:
    """The figures of the board that is meant; None where predictors know nothing of boards.

    A board that they were trained on is found by a part of its name, any other by its published figures.

    Args:
        predictors: The predictors.
        board: The board's name; None where none was named, and what the network was recorded on counts.
        power_mode: Its power mode.
        recorded: What `recorded_conditions` knows of the network.
        board_figures: TOML file of figures that nobody published.

    Raises:
        EdgewattError: No board is meant, several are, or nothing is known of it.
    """
    if not predictors.boards:
        if board_figures is not None:
            raise EdgewattError(
                "these predictors know nothing of boards' figures", fix="Train them with --board-features"
            )
        return None
    if board is None and recorded:
        board, power_mode = recorded.get("board"), power_mode or recorded.get("power_mode")
    names = "; ".join(str(one.condition) for one in predictors.boards)
    if board is None:
        raise EdgewattError(_NONE_NAMED, fix=f"Add --board; known are: {names}")
    same_board = _trained_on(predictors, board)
    found = [one for one in same_board if power_mode is None or is_named(power_mode, one.power_mode)]
    if len(found) > 1:
        several = "; ".join(str(one.condition) for one in found)
        raise EdgewattError(f"{board!r} may be several: {several}", fix="Name one with --board and --power-mode")
    if found:
        return found[0]
    given: GivenBoards = {} if board_figures is None else read_board_figures(board_figures)
    try:
        rates = board_rates(Condition(same_board[0].board if same_board else board, power_mode or ""), given=given)
    except EdgewattError as error:
        raise EdgewattError(error.what, fix=f"Known are: {names}. {error.fix}") from error
    warn(
        f"nothing was trained on {rates.condition}: its figures ({rates.source}) stand for it",
        fix="Expect the errors that `train` printed for boards that were left out",
    )
    return rates


def _trained_on(predictors: Predictors, board: str) -> list[BoardRates]:
    """The boards trained on that a name is of: exactly, by its figures, or as a part of names that have no others."""
    exact = [one for one in predictors.boards if is_exactly(board, one.board)]
    figures = recorded_figures(board, "")
    if exact or figures is None:
        return exact or [one for one in predictors.boards if is_named(board, one.board)]
    return [one for one in predictors.boards if recorded_figures(one.board, one.power_mode) == figures]


def for_board(predictors: Predictors, board: BoardRates | None) -> Predictors:
    """Predictors as they hold for a board: its idle power, and intervals of a new board where it is one.

    Args:
        predictors: The predictors; unchanged where they know nothing of boards.
        board: The board.

    Raises:
        EdgewattError: They serve several boards, and none is given.
    """
    if not predictors.boards:
        return predictors
    if board is None:
        names = "; ".join(str(one.condition) for one in predictors.boards)
        raise EdgewattError(_NONE_NAMED, fix=f"Known are: {names}")
    known = replace(predictors, idle_power_w=board.idle_power_w)
    if any(board.condition == one.condition for one in predictors.boards):
        return known
    factors = predictors.new_board_intervals
    calibration = predictors.calibration
    return replace(
        known,
        by_purpose={
            (kind, target): replace(stored, interval=factors.get(f"{kind} {target}"))
            for (kind, target), stored in predictors.by_purpose.items()
        },
        fallback={target: replace(stored, interval=None) for target, stored in predictors.fallback.items()},
        energy_intervals={kind: factors[f"{kind} energy"] for kind in LayerKind if f"{kind} energy" in factors},
        calibration=None if calibration is None else replace(calibration, intervals={}),
    )
