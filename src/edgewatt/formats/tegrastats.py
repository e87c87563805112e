"""Logs of tegrastats, of every JetPack: a reading a line, among much else the power of each rail in mW.

    RAM 407/15823MB ... GPU@28C ... GPU 1155/1155 CPU 385/385 SOC 2504/2503                          JetPack 4
    01-24-2024 09:17:09 RAM ... VDD_IN 4915mW/4915mW VDD_CPU_GPU_CV 449mW/449mW                       JetPack 5, 6
    07-25-2026 09:08:28 RAM ... VDD_GPU_SOC 5139mW/5139mW/5139mW VDD_CPU_CV 3268mW/3268mW/3268mW      JetPack 7.2

    rail = NAME -?INT[mW]/-?INT[mW](/-?INT[mW])?        now / mean since the start (/ peak)

Only the first value is read: the mean runs since tegrastats started. `NC` is a channel that is not connected. Times
have a resolution of 1 s: readings of one second are spread evenly over it. Logs before JetPack 5 have no times, so when
the first line was written and how far they lie apart must be known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError, FormatError, warn
from edgewatt.formats.file_kind import FileKind, advice, recognise
from edgewatt.formats.rail_log import RailLog

_VALUE = r"-?[0-9]+(?:mW)?"
_TOKEN = rf"[A-Za-z][A-Za-z0-9_.]* {_VALUE}/{_VALUE}(?:/{_VALUE})?(?:\s|$)"
_NOW = r"^([^ ]+) (-?[0-9]+)"
_STAMP = r"^\s*([0-9]{2}-[0-9]{2}-[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2})\s"
_NOT_CONNECTED = "NC"
_LINES_AT_ONCE = 50_000
_SECOND_US = 1_000_000
_NO_RAILS = (
    "Run tegrastats with sudo: some releases show the rails to root alone. A Jetson Nano 2GB has no power monitor"
)


@dataclass(frozen=True)
class _Lines:
    """Lines that hold a rail.

    Attributes:
        number: Line numbers from 1.
        seconds: Times in whole seconds since 1970; null where a line has none.
        stamped: Whether there is something like a time.
        powers: One row a rail of a line: `line` (index into `number`), `rail`, `power_mw`.
    """

    number: pl.Series
    seconds: pl.Series
    stamped: pl.Series
    powers: pl.DataFrame


def read_tegrastats(path: Path, *, start_us: int | None = None, interval_ms: float | None = None) -> RailLog:
    """Read a log.

    Args:
        path: The log.
        start_us: Time of the first reading in microseconds since 1970, for logs without times.
        interval_ms: Time between two readings in ms, for logs without times: what `--interval` was.

    Raises:
        FormatError: The file is missing, empty, or no tegrastats log; no line has a rail; a time is none; or only some
            lines have one.
        EdgewattError: The log has no times and none are given, or it has some and others are given.
    """
    lines = _read(path)
    return RailLog(_times(lines, path, start_us, interval_ms), _powers(lines))


def _read(path: Path) -> _Lines:
    count, blocks = 0, []
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
            for texts in _blocks(file):
                blocks.append(_parse(texts, count))
                count += len(texts)
    except OSError as error:
        raise FormatError.of_system(error, "cannot be read", path) from error
    if not count:
        raise FormatError("the log is empty", where=path, fix="Log again: sudo tegrastats --logfile FILE")
    lines: pl.DataFrame = pl.concat(blocks)
    with_rails = lines.filter(pl.col("tokens").list.len() > 0)
    if not with_rails.height:
        if recognise(path) is FileKind.TEGRASTATS:
            raise FormatError("no line tells the power of a rail", where=path, fix=_NO_RAILS)
        raise FormatError(
            "not a log of tegrastats",
            where=path,
            fix=advice(path, FileKind.TEGRASTATS, "Write one with tegrastats --logfile"),
        )
    _say_left_out(lines, path)
    powers = with_rails.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("line"), "tokens").explode("tokens")
    parts = pl.col("tokens").str.extract_groups(_NOW)
    powers = powers.select(
        "line", parts.struct[0].alias("rail"), parts.struct[1].cast(pl.Float64, strict=False).alias("power_mw")
    ).filter(pl.col("rail") != _NOT_CONNECTED)
    return _Lines(with_rails["number"], with_rails["seconds"], with_rails["stamp"].is_not_null(), powers)


def _blocks(file: Iterator[str]) -> Iterator[list[str]]:
    while block := list(islice(file, _LINES_AT_ONCE)):
        yield block


def _parse(texts: list[str], before: int) -> pl.DataFrame:
    """Numbers, times and rails of some lines; a line's text, which is long, is not kept."""
    text = pl.col("text")
    return (
        pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)})
        .with_row_index("number", before + 1)
        .filter(text.str.strip_chars() != "")
        .select("number", text.str.extract(_STAMP).alias("stamp"), text.str.extract_all(_TOKEN).alias("tokens"))
        .with_columns(
            (pl.col("stamp").str.to_datetime("%m-%d-%Y %H:%M:%S", strict=False).dt.epoch("s")).alias("seconds")
        )
    )


def _say_left_out(lines: pl.DataFrame, path: Path) -> None:
    without = lines.filter(pl.col("tokens").list.len() == 0)["number"]
    if len(without):
        warn(
            f"{len(without)} of {lines.height} lines tell the power of no rail and are left out, the first of them is "
            f"line {without[0]}",
            where=path,
        )


def _powers(lines: _Lines) -> dict[str, NDArray[np.float64]]:
    powers = {}
    for (rail,), rows in lines.powers.partition_by("rail", as_dict=True, maintain_order=True).items():
        values = np.full(len(lines.number), np.nan)
        # Where a line has a rail twice, the later one counts.
        values[rows["line"].to_numpy()] = rows["power_mw"].to_numpy()
        powers[str(rail)] = values
    return powers


def _times(lines: _Lines, path: Path, start_us: int | None, interval_ms: float | None) -> NDArray[np.int64]:
    stamped = lines.stamped
    if not stamped.any():
        if start_us is None or interval_ms is None:
            raise EdgewattError(
                "the lines have no time",
                where=path,
                fix="Say when the first was written and how far they lie apart: "
                "--start 20241121-05:20:04 --interval 1000 (in ms)",
            )
        elapsed_us: NDArray[np.int64] = np.rint(np.arange(len(lines.number)) * interval_ms * 1e3).astype(np.int64)
        return elapsed_us + start_us
    if start_us is not None or interval_ms is not None:
        raise EdgewattError("the log has times of its own", where=path, fix="Leave --start and --interval out")
    if not stamped.all():
        number = lines.number[int(stamped.arg_min() or 0)]
        raise FormatError("the line has no time, others have one", where=f"{path}, line {number}", fix="Leave it out")
    if lines.seconds.null_count():
        number = lines.number[int(lines.seconds.is_null().arg_max() or 0)]
        raise FormatError("not a time: MM-DD-YYYY hh:mm:ss", where=f"{path}, line {number}", fix="Leave the line out")
    return spread_over_seconds(lines.seconds.to_numpy())


def spread_over_seconds(seconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Times of readings of which only the second is known.

    The readings of a second are spread evenly over it, so that a lone one lies in its middle. The first second may have
    begun before the log and the last one goes on after it: if they hold fewer readings than is usual, these lie at the
    usual distance, at the end of the first second and at the beginning of the last one.

    Args:
        seconds: The second in which each reading was written, since 1970, in the order of the log.

    Returns:
        Times in microseconds since 1970.
    """
    first = np.flatnonzero(np.diff(seconds, prepend=seconds[0] - 1))
    lengths = np.diff(np.append(first, len(seconds)))
    usual = float(np.median(lengths[1:-1] if len(lengths) > 2 else lengths))
    slots = np.maximum(lengths.astype(np.float64), 1.0)
    if len(lengths) > 1:
        slots[[0, -1]] = np.maximum(slots[[0, -1]], usual)
    offset = np.zeros(len(lengths))
    offset[0] = slots[0] - lengths[0]
    place = np.arange(len(seconds)) - np.repeat(first, lengths)
    fraction = (place + 0.5 + np.repeat(offset, lengths)) / np.repeat(slots, lengths)
    times: NDArray[np.int64] = seconds.astype(np.int64) * _SECOND_US + np.floor(fraction * _SECOND_US).astype(np.int64)
    return times
