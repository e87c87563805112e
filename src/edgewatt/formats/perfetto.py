"""Traces for Perfetto and chrome://tracing: Chrome's Trace Event Format, as JSON.

    {"traceEvents": [
    {"ph":"M","pid":1,"tid":0,"ts":0,"name":"process_name","args":{"name":"resnet18"}},
    {"ph":"X","pid":1,"tid":2,"cat":"layer","name":"conv1","ts":12.345,"dur":40.000,"args":{"layer_type":"..."}},
    {"ph":"C","pid":1,"tid":0,"name":"power","ts":13.000,"args":{"W":4.92}}
    ], "displayTimeUnit":"ns", "otherData":{...}}

A slice (ph X) lies on a track (tid), a counter (ph C) has a track of its own; `ts` and `dur` are in us, here with three
decimals. Slices of one track touch each other at most, or lie within each other, which is what the viewers ask for.
Events are made and written a part at a time, so a trace of any length takes little memory.

Source: Google, Trace Event Format (2016), sections on metadata, complete and counter events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.formats.atomic import replacing

_PID = 1
_EVENTS_AT_ONCE = 100_000


@dataclass(frozen=True)
class Slices:
    """Slices on one track.

    Attributes:
        track: The track's name.
        category: Their category, by which a viewer finds them.
        names: The names that occur.
        which: Index into `names` of each slice, shape (slices,).
        start_ns: Starts in ns from the trace's origin, from 0.
        end_ns: Ends.
        facts: For each name what a viewer shows of its slices; JSON values.
    """

    track: str
    category: str
    names: Sequence[str]
    which: NDArray[np.intp]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    facts: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Counter:
    """Values over time; one holds until the next.

    Attributes:
        name: The counter's name.
        unit: Unit of its values.
        times_ns: Times in ns from the trace's origin, from 0.
        values: Values; one that is not finite is left out.
    """

    name: str
    unit: str
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]


def write_trace(
    path: Path,
    title: str,
    tracks: Sequence[str],
    parts: Iterable[Slices | Counter],
    about: Mapping[str, Any] | None = None,
) -> int:
    """Write a trace, whole or not at all.

    Args:
        path: The file.
        title: What the trace is of: the name of its process.
        tracks: Names of the tracks of slices, from the top.
        parts: Slices and counters, in any order; taken one after the other.
        about: What else the file should say of itself; JSON values.

    Returns:
        The number of slices and values written.

    Raises:
        EdgewattError: The file cannot be written, or a part names a track that is none of `tracks`.
    """
    track_ids = {name: index for index, name in enumerate(tracks, start=1)}
    written = 0
    with replacing(path) as beside, beside.open("wb") as file:
        file.write(b'{"traceEvents": [\n' + b",\n".join(_metadata(title, tracks)))
        for part in parts:
            for lines in _lines(part, track_ids, path):
                written += len(lines)
                _write_lines(file, lines)
        file.write(b'\n], "displayTimeUnit": "ns", "otherData": ' + orjson.dumps(dict(about or {})) + b"}\n")
    return written


def _metadata(title: str, tracks: Sequence[str]) -> list[bytes]:
    named: list[tuple[str, int, dict[str, Any]]] = [("process_name", 0, {"name": title})]
    for tid, name in enumerate(tracks, start=1):
        named += [("thread_name", tid, {"name": name}), ("thread_sort_index", tid, {"sort_index": tid})]
    return [
        orjson.dumps({"ph": "M", "pid": _PID, "tid": tid, "ts": 0, "name": name, "args": args})
        for name, tid, args in named
    ]


def _write_lines(file: IO[bytes], lines: pl.Series) -> None:
    if len(lines):
        text: str = lines.str.join(",\n")[0]
        file.write(b",\n" + text.encode())


def _lines(part: Slices | Counter, track_ids: Mapping[str, int], path: Path) -> Iterable[pl.Series]:
    if isinstance(part, Counter):
        finite = np.isfinite(part.values)
        part = Counter(part.name, part.unit, part.times_ns[finite], part.values[finite])
        for first in range(0, len(part.values), _EVENTS_AT_ONCE):
            yield _counter_lines(part, slice(first, first + _EVENTS_AT_ONCE))
        return
    if part.track not in track_ids:
        raise EdgewattError(f"the trace has no track {part.track!r}", where=path)
    for first in range(0, len(part.which), _EVENTS_AT_ONCE):
        yield _slice_lines(part, track_ids[part.track], slice(first, first + _EVENTS_AT_ONCE))


def _slice_lines(part: Slices, tid: int, rows: slice) -> pl.Series:
    """One event a line, made by whole columns: an event in Python for each of a million slices would take long."""
    facts = part.facts or [{}] * len(part.names)
    heads = pl.Series([_head(part.category, name, tid) for name in part.names], dtype=pl.String)
    tails = pl.Series([_tail(fact) for fact in facts], dtype=pl.String)
    start, end = part.start_ns[rows], part.end_ns[rows]
    columns = pl.DataFrame(
        {
            "head": heads.gather(part.which[rows]),
            "ts": _microseconds(start),
            "dur": _microseconds(end - start),
            "tail": tails.gather(part.which[rows]),
        }
    )
    return columns.select(pl.concat_str("head", "ts", pl.lit(',"dur":'), "dur", "tail")).to_series()


def _head(category: str, name: str, tid: int) -> str:
    event = {"ph": "X", "pid": _PID, "tid": tid, "cat": category, "name": name}
    return orjson.dumps(event).decode().removesuffix("}") + ',"ts":'


def _tail(facts: Mapping[str, Any]) -> str:
    return f',"args":{orjson.dumps(dict(facts)).decode()}}}'


def _counter_lines(part: Counter, rows: slice) -> pl.Series:
    head = orjson.dumps({"ph": "C", "pid": _PID, "tid": 0, "name": part.name}).decode().removesuffix("}")
    before = f',"args":{{{orjson.dumps(part.unit).decode()}:'
    columns = pl.DataFrame({"ts": _microseconds(part.times_ns[rows]), "value": part.values[rows]})
    texts = (pl.lit(head + ',"ts":'), "ts", pl.lit(before), pl.col("value").cast(pl.String), pl.lit("}}"))
    return columns.select(pl.concat_str(*texts)).to_series()


def _microseconds(times_ns: NDArray[np.int64]) -> pl.Series:
    """Times from 0 in ns as us with three decimals, exactly: a float would round them differently at each end."""
    times = pl.Series("time", times_ns, dtype=pl.Int64)
    text: pl.Series = pl.select(
        pl.concat_str((times // 1000).cast(pl.String), pl.lit("."), (times % 1000).cast(pl.String).str.zfill(3))
    ).to_series()
    return text
