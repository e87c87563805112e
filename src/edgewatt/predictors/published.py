"""Published whole-network results: what priors are calibrated on and tested with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from edgewatt.errors import FormatError
from edgewatt.formats.csv_file import read_csv
from edgewatt.predictors.board_figures import BoardFigures, find_board_figures
from edgewatt.predictors.prior_model import Clocks

RESULTS_FILE = Path(__file__).parent / "published_results.csv"

_TYPES: dict[str, type[pl.DataType]] = {
    "gpu_clock_mhz": pl.Float64,
    "memory_clock_mhz": pl.Float64,
    "batch": pl.Int64,
    "runtime_ms": pl.Float64,
    "power_w": pl.Float64,
    "idle_power_w": pl.Float64,
}
_TEXT = ("board", "power_mode", "network", "precision", "measured_at", "use", "source", "note")
#: Use of results that were found after the calibration was made: they are tests.
_LATER = "test"


@dataclass(frozen=True)
class PublishedResult:
    """One result that someone published.

    Attributes:
        board: Name of the board.
        power_mode: Its state, in the source's words.
        gpu_clock_mhz: Clock of the GPU; None for the highest.
        memory_clock_mhz: Clock of the memory; None for the highest.
        network: Name of the network.
        precision: The type that it computed in.
        batch: Inputs of one cycle.
        runtime_ms: Mean runtime of one cycle.
        power_w: Mean power while it ran, where it is published.
        idle_power_w: The same meter's value before or after.
        measured_at: Where the power was measured: `wall`.
        source: Where the result stands.
        note: What a reader must know.
        use: `test` for one that is never calibrated on; empty where the rule of `split_results` decides.
    """

    board: str
    power_mode: str
    gpu_clock_mhz: float | None
    memory_clock_mhz: float | None
    network: str
    precision: str
    batch: int
    runtime_ms: float
    power_w: float | None
    idle_power_w: float | None
    measured_at: str
    source: str
    note: str
    use: str = ""

    @property
    def group(self) -> tuple[str, str, str, int, float]:
        """What it measured: results of the same group differ only in who measured and with which software."""
        return (self.board, self.network, self.precision, self.batch, self.gpu_clock_mhz or 0.0)

    @property
    def publisher(self) -> str:
        """Who published it: MLPerf's rounds count as one."""
        return self.source.split(",")[0].split("/inference_results")[0].split(" (")[0]

    @cached_property
    def figures(self) -> BoardFigures:
        """The board's figures."""
        return find_board_figures(self.board)

    @property
    def clocks(self) -> Clocks:
        """Clocks as shares of the board's highest."""
        gpu = 1.0 if self.gpu_clock_mhz is None else self.gpu_clock_mhz * 1e6 / self.figures.gpu_hz
        memory = 1.0 if self.memory_clock_mhz is None else self.memory_clock_mhz * 1e6 / self.figures.memory_hz
        return Clocks(gpu, memory)

    @property
    def idle_module_w(self) -> float:
        """Idle power of the module: as logged with the result, else the board's."""
        if self.idle_power_w is None:
            return self.figures.idle_power_w
        return self.figures.at_the_module_w(self.idle_power_w)

    @property
    def energy_j(self) -> float | None:
        """Energy of one cycle where its power was measured; None where it was not."""
        return None if self.power_w is None else self.power_w * self.runtime_ms * 1e-3


def read_published_results(path: Path = RESULTS_FILE) -> list[PublishedResult]:
    """Read the table of published results.

    Raises:
        FormatError: A column is missing or a value is not a number.
    """
    table = read_csv(path, _TYPES)
    missing = [name for name in (*_TEXT, *_TYPES) if name not in table.columns]
    if missing:
        raise FormatError(f"the columns {', '.join(missing)} are missing", where=path, fix="Install edgewatt again")
    table = table.with_columns(pl.col(name).fill_null("") for name in _TEXT)
    return [PublishedResult(**row) for row in table.select(*_TEXT, *_TYPES).iter_rows(named=True)]


def split_results(results: Sequence[PublishedResult]) -> tuple[list[PublishedResult], list[PublishedResult]]:
    """Results to calibrate on, and results to test with.

    The rule was fixed before any calibration: groups in the order of board, network, precision, batch and clock;
    every third group is a test. All results of a group are on the same side. Results that were found later are tests.
    """
    later = {result.group for result in results if result.use == _LATER}
    groups = sorted({result.group for result in results} - later)
    tests = set(groups[2::3]) | later
    calibration = [result for result in results if result.group not in tests]
    return calibration, [result for result in results if result.group in tests]
