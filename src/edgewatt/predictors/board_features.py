"""A board's figures as features of its layers, so that one predictor can serve several boards.

What a layer costs is expressed in the board's own peak seconds: operations at the peak rate of its precision, bytes at
the peak bandwidth. Two boards then differ by what share of their peaks they reach, which is far less than by the peaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from edgewatt.errors import EdgewattError
from edgewatt.formats.checked import FileModel
from edgewatt.formats.conditions import Condition, is_named
from edgewatt.formats.toml_file import TomlModel, read_toml
from edgewatt.predictors.board_figures import BoardFigures
from edgewatt.predictors.recorded_boards import recorded_figures
from edgewatt.simulation.board import SimulatedBoard

#: Units of the columns: so near 1 that coefficients are of a usual size. Any would do.
RATE_UNIT, BANDWIDTH_UNIT, MULTIPROCESSORS_UNIT, IDLE_UNIT_W = 1e12, 1e11, 8.0, 5.0

#: The columns of a table that hold a board's figures.
BOARD_COLUMNS = (
    "board_tensor_rate",
    "board_cuda_rate",
    "board_bandwidth",
    "board_multiprocessors",
    "board_cores",
    "board_idle",
)

#: The precision whose rate stands in for one that has none.
_USUAL = "float32"
_PRECISIONS = ("int8", "float16", "bfloat16", "float32")
_HELP_PAGE = "docs/fleet.md"


#: No board does more in a second, nor less; infinity and NaN are none either.
_Rate = Annotated[PositiveFloat, Field(ge=1e3, le=1e18)]


class BoardRates(FileModel):
    """What a board can do at most in one power mode, and what it draws with nothing running.

    Attributes:
        board: What the board calls itself.
        power_mode: Name of its power mode; empty where it is not known.
        source: Where the figures are from.
        macs_per_s: Peak multiply-accumulates a second for each precision, `float32` among them.
        cuda_macs_per_s: The same of its CUDA cores.
        bytes_per_s: Peak bandwidth of its memory.
        multiprocessors: Streaming multiprocessors of its GPU.
        idle_power_w: Power with nothing running: as measured where it was, else as published.
    """

    board: str
    power_mode: str = ""
    source: str
    macs_per_s: Annotated[dict[str, _Rate], Field(min_length=1)]
    cuda_macs_per_s: Annotated[dict[str, _Rate], Field(min_length=1)]
    bytes_per_s: _Rate
    multiprocessors: Annotated[PositiveInt, Field(le=100_000)]
    idle_power_w: Annotated[NonNegativeFloat, Field(le=10_000)]

    @property
    def condition(self) -> Condition:
        """Board and power mode."""
        return Condition(self.board, self.power_mode)


class _GivenBoard(TomlModel):
    """One board's part of a file of figures."""

    macs_per_s: Annotated[dict[str, _Rate], Field(min_length=1)]
    cuda_macs_per_s: Annotated[dict[str, _Rate], Field(min_length=1)]
    bytes_per_s: _Rate
    multiprocessors: Annotated[PositiveInt, Field(le=100_000)]
    idle_power_w: Annotated[NonNegativeFloat, Field(le=10_000)]
    power_mode: str = ""


class _GivenBoards(TomlModel):
    boards: dict[str, _GivenBoard]


GivenBoards = Mapping[str, _GivenBoard]


def read_board_figures(path: Path) -> GivenBoards:
    """Read figures of boards that nobody published, by the board's name or a part of it.

    Raises:
        FormatError: The file is missing, not TOML, or lacks a figure.
    """
    return read_toml(path, _GivenBoards, _HELP_PAGE).boards


def board_rates(
    condition: Condition,
    *,
    clocks: Mapping[str, Any] | None = None,
    idle_power_w: float | None = None,
    given: GivenBoards | None = None,
) -> BoardRates:
    """The figures of a board in a power mode.

    Args:
        condition: Board and power mode.
        clocks: Clocks as `run.json` has them, by which published rates are scaled.
        idle_power_w: As it was measured; None for the published one.
        given: Figures that the user gave, which come first.

    Raises:
        EdgewattError: Nothing is known of the board.
    """
    found = _given(condition, given or {})
    if found is None:
        figures = recorded_figures(condition.board, condition.power_mode)
        if figures is None:
            raise EdgewattError(
                f"there are no published figures of the board: {condition}",
                fix=f"Give them with --board-figures FILE.toml, see {_HELP_PAGE}",
            )
        found = (
            _simulated(condition, figures)
            if isinstance(figures, SimulatedBoard)
            else _published(condition, figures, clocks or {})
        )
    return found if idle_power_w is None else found.model_copy(update={"idle_power_w": idle_power_w})


def with_board(table: pl.DataFrame, rates: Sequence[BoardRates]) -> pl.DataFrame:
    """A table with the figures of the board that each row ran on.

    Args:
        table: A training table or a `feature_frame`.
        rates: Of each row; or one board's, of all rows.
    """
    boards = list(rates) * table.height if len(rates) == 1 else list(rates)
    precisions = table["precision"].to_list() if "precision" in table.columns else [None] * table.height
    pairs = list(zip(boards, precisions, strict=True))
    values = {
        "board_tensor_rate": [_rate(board.macs_per_s, precision) / RATE_UNIT for board, precision in pairs],
        "board_cuda_rate": [_rate(board.cuda_macs_per_s, precision) / RATE_UNIT for board, precision in pairs],
        "board_bandwidth": [board.bytes_per_s / BANDWIDTH_UNIT for board in boards],
        "board_multiprocessors": [board.multiprocessors / MULTIPROCESSORS_UNIT for board in boards],
        "board_cores": [_rate(board.cuda_macs_per_s, _USUAL) / RATE_UNIT for board in boards],
        "board_idle": [board.idle_power_w / IDLE_UNIT_W for board in boards],
    }
    return table.with_columns(pl.Series(name, values[name], pl.Float64) for name in BOARD_COLUMNS)


def _rate(rates: Mapping[str, float], precision: str | None) -> float:
    """The rate of a precision; float32's where the board has none of it, and any where it has not even that."""
    return rates.get(precision or _USUAL) or rates.get(_USUAL) or next(iter(rates.values()))


def _given(condition: Condition, given: GivenBoards) -> BoardRates | None:
    for name, one in given.items():
        if not is_named(name, condition.board):
            continue
        if one.power_mode and not is_named(one.power_mode, condition.power_mode):
            continue
        facts = one.model_dump(exclude={"power_mode"})
        return BoardRates(board=condition.board, power_mode=condition.power_mode, source="given", **facts)
    return None


def _simulated(condition: Condition, figures: SimulatedBoard) -> BoardRates:
    return BoardRates(
        board=condition.board,
        power_mode=condition.power_mode,
        source="of the simulated board",
        macs_per_s=dict(figures.tensor_macs_per_s),
        cuda_macs_per_s=dict(figures.cuda_macs_per_s),
        bytes_per_s=figures.dram_bytes_per_s,
        multiprocessors=figures.multiprocessors,
        idle_power_w=figures.idle_power_w,
    )


def _published(condition: Condition, figures: BoardFigures, clocks: Mapping[str, Any]) -> BoardRates:
    """Published rates are of the fastest power mode; where the clocks are known they are scaled by them."""
    gpu, memory = _clock_share(clocks, "gpu", figures.gpu_hz), _clock_share(clocks, "memory", figures.memory_hz)
    macs = {name: figures.tensor_macs_per_s(name) or figures.cuda_macs_per_s(name) for name in _PRECISIONS}
    return BoardRates(
        board=condition.board,
        power_mode=condition.power_mode,
        source="published" if gpu == memory == 1.0 else "published, at the recorded clocks",
        macs_per_s={name: rate * gpu for name, rate in macs.items()},
        cuda_macs_per_s={name: figures.cuda_macs_per_s(name) * gpu for name in _PRECISIONS},
        bytes_per_s=figures.bytes_per_s * memory,
        multiprocessors=figures.multiprocessors,
        idle_power_w=figures.idle_power_w,
    )


def _clock_share(clocks: Mapping[str, Any], name: str, highest_hz: float) -> float:
    """The highest clock that a run's power mode allowed, as a share of the published one; 1 where it is not known."""
    before = clocks.get("before")
    entry = before.get(name) if isinstance(before, dict) else None
    if isinstance(entry, dict) and "highest_khz" not in entry:
        # GPUs are listed by name; a Jetson has one.
        entry = next(iter(entry.values()), None)
    highest = entry.get("highest_khz") if isinstance(entry, dict) else None
    return highest * 1e3 / highest_hz if isinstance(highest, int | float) and highest > 0 else 1.0
