"""The power log: one reading a line, `timestamp,voltage in mV,current in mA`.

mV x mA = uW. Currents are signed: a sensor's offset makes small loads read below zero.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import FormatError, warn
from edgewatt.formats.atomic import replacing
from edgewatt.formats.file_kind import FileKind, advice
from edgewatt.formats.timestamps import (
    EXAMPLE,
    TIMESTAMP_PATTERN,
    backward_jumps,
    format_timestamps,
    parse_timestamps,
)

_LAYOUT = f"A line is timestamp,mV,mA as in {EXAMPLE},5000.0,1096.0"
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$")
#: No board is fed with less than this; smaller numbers are volts.
_LEAST_SUPPLY_MV = 100.0
#: No board is fed with more than a kilovolt, or draws more than a kiloampere; greater numbers are of another unit.
_MOST_MV, _MOST_MA = 1e6, 1e6


@dataclass(frozen=True)
class PowerLog:
    """Readings of one rail, in order of time.

    Attributes:
        times_us: Times in microseconds since 1970, ascending, shape (readings,).
        voltage_mv: Voltages in mV.
        current_ma: Currents in mA.
    """

    times_us: NDArray[np.int64]
    voltage_mv: NDArray[np.float64]
    current_ma: NDArray[np.float64]

    @property
    def power_uw(self) -> NDArray[np.float64]:
        """Power of each reading in uW."""
        return self.voltage_mv * self.current_ma

    def __len__(self) -> int:
        return len(self.times_us)


def read_power_log(path: Path) -> PowerLog:
    """Read a power log.

    A last line that was cut short is left out with a warning, and so is told of a clock that was set back;
    the readings are then ordered by their own time.

    Args:
        path: The log.

    Raises:
        FormatError: The file is missing or empty, a line is not a reading, or the voltages are not in mV.
    """
    fields = _read_fields(path)
    if not fields.height:
        raise FormatError("the power log holds no complete reading", where=path, fix="Record it again")
    times = parse_timestamps(fields["timestamp"])
    voltage = fields["voltage"].str.strip_chars().cast(pl.Float64, strict=False)
    current = fields["current"].str.strip_chars().cast(pl.Float64, strict=False)
    if times.null_count() or not _within(voltage, _MOST_MV) or not _within(current, _MOST_MA):
        _raise_for_first_bad_line(path)
    return _in_order(path, times.to_numpy(), voltage.to_numpy(), current.to_numpy())


def write_power_log(path: Path, log: PowerLog) -> None:
    """Write a power log, whole or not at all."""
    table = pl.DataFrame(
        {"timestamp": format_timestamps(log.times_us), "voltage": log.voltage_mv, "current": log.current_ma}
    )
    with replacing(path) as beside, beside.open("wb") as file:
        table.write_csv(file, include_header=False)


def _read_fields(path: Path) -> pl.DataFrame:
    """Read the three fields of each line as text, without a cut last line and empty lines."""
    try:
        cut = _cut_last_line(path)
        # An open file, not its path: polars takes brackets and asterisks in a path for a pattern.
        with path.open("rb") as file:
            fields = pl.read_csv(
                file,
                has_header=False,
                schema={"timestamp": pl.String, "voltage": pl.String, "current": pl.String},
                quote_char=None,
            )
    except OSError as error:
        raise FormatError.of_system(error, "cannot be read", path) from error
    except pl.exceptions.NoDataError as error:
        raise FormatError("the power log is empty", where=path, fix="Record it again") from error
    except pl.exceptions.PolarsError:
        _raise_for_first_bad_line(path)
    if cut is not None:
        warn(f"the last line was cut short and is left out: {cut!r}", where=path)
        fields = fields.head(fields.height - 1)
    return fields.filter(~pl.all_horizontal(pl.all().is_null()))


def _cut_last_line(path: Path) -> str | None:
    """The last line, when writing it was interrupted: no line end, and fewer digits than the line above it."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - 4096))
        tail = file.read().decode("utf-8", "replace")
    if not tail or tail.endswith("\n"):
        return None
    lines = tail.splitlines()
    last, above = lines[-1], lines[-2] if len(lines) > 1 else None
    fields = last.split(",")
    if len(fields) != 3 or not _NUMBER.match(fields[2].strip()):
        return last
    if above is None:
        return None
    whole, above_whole = fields[2].strip(), above.rsplit(",", 1)[-1].strip()
    decimals, above_decimals = _decimals(whole), _decimals(above_whole)
    if above_decimals:
        return None if decimals == above_decimals else last
    return None if len(whole) >= len(above_whole) else last


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])


def _within(values: pl.Series, most: float) -> bool:
    return values.null_count() == 0 and bool((values.is_finite() & (values.abs() <= most)).all())


def _in_order(
    path: Path, times: NDArray[np.int64], voltage: NDArray[np.float64], current: NDArray[np.float64]
) -> PowerLog:
    highest = float(np.abs(voltage).max())
    if 0 < highest < _LEAST_SUPPLY_MV:
        raise FormatError(
            f"the voltages reach only {highest:g}: they look like volts, and the format prescribes millivolts",
            where=path,
            fix=_LAYOUT,
        )
    jumps, first, longest = backward_jumps(times)
    if jumps:
        warn(
            f"the clock jumps back at line {first + 1} ({jumps} jumps, the longest {longest:.3f} s); readings are "
            "used in the order of their own times",
            where=path,
        )
        order = np.argsort(times, kind="stable")
        times, voltage, current = times[order], voltage[order], current[order]
    return PowerLog(times, voltage, current)


def _raise_for_first_bad_line(path: Path) -> NoReturn:
    """Find the first line that is not a reading; only called once it is known that there is one."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            problem = _problem(line.rstrip("\r\n"))
            if problem:
                fix = advice(path, FileKind.POWER_LOG, _LAYOUT) if number == 1 else _LAYOUT
                raise FormatError(problem, where=f"{path}, line {number}", fix=fix)
    raise FormatError("not a power log", where=path, fix=advice(path, FileKind.POWER_LOG, _LAYOUT))


def _problem(line: str) -> str | None:
    if not line.strip():
        return None
    fields = line.split(",")
    if len(fields) != 3:
        return f"{len(fields)} fields instead of 3: {line[:80]!r}"
    times = parse_timestamps(pl.Series([fields[0]]))
    if not re.match(TIMESTAMP_PATTERN, fields[0].strip()) or times.null_count():
        return f"not a timestamp: {fields[0]!r}"
    for name, text, unit, most in (("voltage", fields[1], "mV", _MOST_MV), ("current", fields[2], "mA", _MOST_MA)):
        if not _NUMBER.match(text.strip()) or not np.isfinite(float(text)):
            return f"the {name} is not a number: {text!r}"
        if abs(float(text)) > most:
            return f"a {name} of {text.strip()} {unit} is none of a board; is it another unit?"
    return None
