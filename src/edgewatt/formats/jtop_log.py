"""CSV logs of jtop, as jetson-stats' `jtop_logger.py` writes them: a header, then a row of `jtop.stats` a reading.

    time,uptime,CPU1,...,Power VDD_CPU_GPU_CV,Power VDD_SOC,Power TOT,jetson_clocks,nvp model

Columns `Power <rail>` are in mW. `Power TOT` is jtop's own total: VDD_IN or POM_5V_IN where there is one, else the sum
of all rails, which counts some boards' power twice. So the rails are added up by the board's rule, and TOT is taken
where it is named.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import FormatError, warn
from edgewatt.formats.file_kind import FileKind, advice, recognise
from edgewatt.formats.json_file import BOM, read_bytes
from edgewatt.formats.rail_log import RailLog

#: jtop's own total.
TOTAL = "TOT"
_PREFIX = "Power "
_FIX = "Write one with jetson-stats' examples/jtop_logger.py"


def read_jtop_log(path: Path) -> RailLog:
    """Read a log; a last line that was cut short is left out with a warning.

    Raises:
        FormatError: The file is missing, empty, no CSV log of jtop or has no power in it; a time or a power is none.
    """
    content = read_bytes(path).removeprefix(BOM)
    if not content.endswith(b"\n"):
        content, _, cut = content.rpartition(b"\n")
        warn(f"the last line was cut short and is left out: {cut[-60:].decode('utf-8', 'replace')!r}", where=path)
    try:
        table = pl.read_csv(content, infer_schema=False)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise FormatError("not a CSV log of jtop", where=path, fix=advice(path, FileKind.JTOP, _FIX)) from error
    columns = [name for name in table.columns if name.startswith(_PREFIX)]
    if "time" not in table.columns or not columns:
        if recognise(path) is FileKind.JTOP or "uptime" in table.columns:
            raise FormatError("the log has no power in it", where=path, fix=f"This board has no sensor, or: {_FIX}")
        raise FormatError("not a CSV log of jtop", where=path, fix=advice(path, FileKind.JTOP, _FIX))
    if not table.height:
        raise FormatError("the log holds no complete reading", where=path, fix="Log again")
    return RailLog(
        _times(table["time"], path), {name.removeprefix(_PREFIX): _power(table[name], path) for name in columns}
    )


def _times(text: pl.Series, path: Path) -> NDArray[np.int64]:
    times = text.str.strip_chars().str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    _check(times, text, "a time as 2024-11-21 05:20:04.261448", path)
    microseconds: NDArray[np.int64] = times.dt.epoch("us").to_numpy()
    return microseconds


def _power(text: pl.Series, path: Path) -> NDArray[np.float64]:
    stripped = text.str.strip_chars()
    power = stripped.cast(pl.Float64, strict=False)
    power = power.set(~power.is_finite(), None)
    empty = stripped.is_null() | (stripped == "")
    # A rail that could not be read leaves its field empty.
    _check(power.set(empty, 0.0), text, "a power in mW", path)
    values: NDArray[np.float64] = power.fill_null(float("nan")).to_numpy()
    return values


def _check(values: pl.Series, text: pl.Series, what: str, path: Path) -> None:
    if values.null_count():
        row = int(values.is_null().arg_max() or 0)
        raise FormatError(f"{text.name} is {text[row]!r}, not {what}", where=f"{path}, line {row + 2}", fix=_FIX)
