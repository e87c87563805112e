"""Power of several rails over time, as the logs of other tools have it, and what of it is a board's input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError, FormatError, warn
from edgewatt.formats.power_log import PowerLog
from edgewatt.formats.timestamps import backward_jumps
from edgewatt.sensors.base import NOMINAL_MV
from edgewatt.sensors.boards import FAMILIES, Board, TotalRule, tell_by_rails

_NAME_THEM = "Name the rails whose sum is the board's input: --rails VDD_GPU_SOC,VDD_CPU_CV"


@dataclass(frozen=True)
class RailLog:
    """Readings of several rails.

    Attributes:
        times_us: Times in microseconds since 1970, as the clock on the wall showed them, shape (readings,).
        power_mw: Power in mW of each rail, in the order of the file; NaN where a reading lacks the rail. Signed: a
            sensor's offset makes small loads read below zero.
    """

    times_us: NDArray[np.int64]
    power_mw: dict[str, NDArray[np.float64]]

    @property
    def rails(self) -> tuple[str, ...]:
        """Names of the rails."""
        return tuple(self.power_mw)

    def frame(self) -> pl.DataFrame:
        """The readings as a table: `time`, then a column in mW for each rail; a rail that is lacking is null."""
        columns = {
            f"{rail}_mw": pl.Series(values, dtype=pl.Float64).fill_nan(None) for rail, values in self.power_mw.items()
        }
        return pl.DataFrame({"time": pl.Series(self.times_us).cast(pl.Datetime("us")), **columns})


def total_rule(rails: Sequence[str], chosen: Sequence[str], path: Path) -> TotalRule:
    """Which rails are the board's input.

    Args:
        rails: Names of the rails that there are.
        chosen: Those that the user names; none to go by the board that has such rails.
        path: The log, for errors.

    Raises:
        EdgewattError: A named rail is not there, or the board cannot be told by its rails.
    """
    there = f"There are: {', '.join(rails)}"
    if chosen:
        missing = [name for name in chosen if name not in rails]
        if missing:
            raise EdgewattError(f"there is no rail {', '.join(missing)}", where=path, fix=there)
        return TotalRule(tuple(dict.fromkeys(chosen)), "named by the user")
    board = tell_by_rails(rails)
    rule = None if board is None else board.find_total(rails)
    if rule is not None:
        return rule
    # Names of older releases are in no table, but an input rail's name means the same on every board that has it.
    rules = {found for family in FAMILIES if (found := Board("", family).find_total(rails))}
    if len(rules) != 1 or len(next(iter(rules)).rails) > 1:
        raise EdgewattError(
            f"which rails are the board's input is not known for {', '.join(rails)}", where=path, fix=_NAME_THEM
        )
    rule = rules.pop()
    warn(f"no known board has just these rails; {rule.rails[0]} is taken for its input", where=path, fix=_NAME_THEM)
    return rule


def to_power_log(log: RailLog, rails: Sequence[str], path: Path) -> PowerLog:
    """The sum of some rails as a power log.

    Such logs tell no voltage, and a power log holds mV and mA whose product is uW: so the voltage is 1000 mV, and the
    current has as many mA as the power has mW.

    Args:
        log: The readings.
        rails: Rails to add up.
        path: The log, for warnings and errors.

    Raises:
        FormatError: No reading has all the rails.
    """
    power_mw = np.sum([log.power_mw[rail] for rail in rails], axis=0)
    known = np.isfinite(power_mw)
    if not known.any():
        raise FormatError(f"no reading has {' and '.join(rails)}", where=path, fix=_NAME_THEM)
    if not known.all():
        left_out, first = int((~known).sum()), int(np.argmin(known)) + 1
        warn(
            f"{left_out} of {len(known)} readings lack {' or '.join(rails)} and are left out, the first of them is "
            f"reading {first}",
            where=path,
        )
    times, current_ma = log.times_us[known], power_mw[known] * 1000.0 / NOMINAL_MV
    jumps, line, longest = backward_jumps(times)
    if jumps:
        warn(
            f"the clock jumps back at reading {line + 1} ({jumps} jumps, the longest {longest:.3f} s); readings are "
            "put in the order of their own times",
            where=path,
        )
        order = np.argsort(times, kind="stable")
        times, current_ma = times[order], current_ma[order]
    return PowerLog(times, np.full(len(times), NOMINAL_MV), current_ma)
