"""Layer latencies: `{layer name: [[ms, timestamp], ... one per cycle]}`, as the base method's profiler writes it.

A file of a long recording holds millions of entries, so it is read one layer at a time from a memory map.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # part of json since Python 2.6
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import FormatError, printable
from edgewatt.formats.atomic import replacing
from edgewatt.formats.file_kind import FileKind, advice, recognise
from edgewatt.formats.json_file import BOM
from edgewatt.formats.timestamps import EXAMPLE, format_timestamps, parse_stamp_bytes, parse_timestamps

_LAYOUT = f'The file is {{"layer name": [[latency in ms, "{EXAMPLE}"], ...one per cycle]}}'
#: No layer runs longer than a day; a greater number is of another unit, or damaged.
_MOST_MS = 86_400_000.0
_BLANK = re.compile(rb"[ \t\r\n]*")
_NESTED_END = re.compile(rb"\][ \t\r\n]*\]")
_KEY_END = re.compile(rb'(?<!\\)(?:\\\\)*"')


@dataclass(frozen=True)
class LayerLatencies:
    """Latencies of layers, in the order of the file.

    Attributes:
        names: Names of the layers, each once.
        latency_ms: For each layer its latency in each cycle, in ms.
        end_us: For each layer the time of each report, in microseconds since 1970; None where the file has
            latencies alone.
    """

    names: tuple[str, ...]
    latency_ms: Sequence[NDArray[np.float64]]
    end_us: Sequence[NDArray[np.int64]] | None


def read_layer_latencies(path: Path) -> LayerLatencies:
    """Read layer latencies, with timestamps or (as some exports have them) without.

    Raises:
        FormatError: The file is missing, empty, truncated or not of this format; a latency is not a number
            from 0; a timestamp is none; a name comes twice; or only some entries have timestamps.
    """
    if recognise(path) in (FileKind.ENGINE_INFO, FileKind.CHROME_TRACE):
        raise FormatError(
            "not a file of layer latencies", where=path, fix=advice(path, FileKind.LAYER_LATENCY, _LAYOUT)
        )
    names: list[str] = []
    latencies: list[NDArray[np.float64]] = []
    ends: list[NDArray[np.int64] | None] = []
    for name, text in _layers(path):
        if name in names:
            raise FormatError("the layer comes twice", where=_place(path, name), fix=_LAYOUT)
        latency, end = _columns(text, path, name)
        names.append(name)
        latencies.append(latency)
        ends.append(end)
    if not names:
        raise FormatError("no layer was recorded", where=path, fix="Record it again with the profiler attached")
    with_time = [end for end in ends if end is not None]
    if with_time and len(with_time) != len(names):
        raise FormatError("only some layers have timestamps", where=path, fix=_LAYOUT)
    return LayerLatencies(tuple(names), latencies, with_time or None)


def write_layer_latencies(path: Path, latencies: LayerLatencies) -> None:
    """Write layer latencies, whole or not at all."""
    with replacing(path) as beside, beside.open("wb") as file:
        for index, (name, latency) in enumerate(zip(latencies.names, latencies.latency_ms, strict=True)):
            file.write(b"{" if index == 0 else b",\n")
            file.write(orjson.dumps(name) + b": ")
            if latencies.end_us is None:
                file.write(orjson.dumps(latency.tolist()))
            else:
                stamps = format_timestamps(latencies.end_us[index]).to_list()
                file.write(orjson.dumps(list(zip(latency.tolist(), stamps, strict=True))))
        file.write(b"}\n")


def _layers(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                raise FormatError("the file is empty", where=path, fix="Record it again")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield from _members(content, path)
    except OSError as error:
        raise FormatError.of_system(error, "cannot be read", path) from error


def _members(content: mmap.mmap, path: Path) -> Iterator[tuple[str, bytes]]:
    """Walk the members of the JSON object in `content`, one at a time."""
    position = _expect(content, len(BOM) if content[: len(BOM)] == BOM else 0, b"{", path)
    inside = _skip(content, position)
    if content[inside : inside + 1] == b"}":
        return
    while True:
        name, position = _name(content, _expect(content, position, b'"', path), path)
        position = _skip(content, _expect(content, position, b":", path))
        end = _value_end(content, position, path, name)
        yield name, content[position:end]
        position = _skip(content, end)
        if content[position : position + 1] == b"}":
            if _skip(content, position + 1) != len(content):
                raise FormatError("there is more after the end of the JSON object", where=path, fix=_LAYOUT)
            return
        position = _expect(content, position, b",", path)


def _skip(content: mmap.mmap, position: int) -> int:
    match = _BLANK.match(content, position)
    return match.end() if match else position


def _expect(content: mmap.mmap, position: int, token: bytes, path: Path) -> int:
    position = _skip(content, position)
    if content[position : position + 1] == token:
        return position + 1
    if position >= len(content):
        raise FormatError("the file is truncated", where=path, fix="Record it again")
    found = content[position : position + 20].decode("utf-8", "replace")
    raise FormatError(
        f"expected {token.decode()!r} at byte {position}, found {found!r}",
        where=path,
        fix=_LAYOUT if token != b"{" else advice(path, FileKind.LAYER_LATENCY, _LAYOUT),
    )


def _name(content: mmap.mmap, position: int, path: Path) -> tuple[str, int]:
    match = _KEY_END.search(content, position)
    if match is None:
        raise FormatError("the file is truncated in a layer's name", where=path, fix="Record it again")
    try:
        name, _ = scanstring(content[position : match.end()].decode("utf-8"), 0, False)
        name.encode("utf-8")
    except (ValueError, UnicodeError) as error:
        raise FormatError(f"a layer's name at byte {position} is not text", where=path) from error
    return name, match.end()


def _value_end(content: mmap.mmap, position: int, path: Path, name: str) -> int:
    if content[position : position + 1] != b"[":
        raise FormatError("the layer's value is not a list", where=_place(path, name), fix=_LAYOUT)
    inner = _skip(content, position + 1)
    if content[inner : inner + 1] == b"[":
        match = _NESTED_END.search(content, inner)
        end = match.end() if match else -1
    else:
        end = content.find(b"]", inner) + 1
    if end <= 0:
        raise FormatError("the file is truncated in this layer", where=_place(path, name), fix="Record it again")
    return end


def _columns(text: bytes, path: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """Latencies and times of one layer, from the JSON text of its list."""
    return _compact_columns(text) or _checked_columns(_entries(text, path, name), path, name)


def _compact_columns(text: bytes) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
    """Read a list written without line breaks, as every JSON library does by default, without making objects of it.

    That is ten times as fast. Anything out of the ordinary gives None and is left to the checking reader.
    """
    if not (text.startswith(b"[[") and text.endswith(b'"]]')) or b"\n" in text:
        return None
    ends = _quoted_stamps(text)
    lines = text[2:-2].replace(b"], [", b"\n").replace(b"],[", b"\n")
    if ends is None or b"[" in lines or b"]" in lines:
        return None
    try:
        table = pl.read_csv(lines, has_header=False, schema={"latency": pl.Float64, "end": pl.String}, columns=[0])
    except pl.exceptions.PolarsError:
        return None
    if table.height != len(ends) or table["latency"].null_count():
        return None
    latency = table["latency"].to_numpy()
    return (latency, ends) if bool(np.all((latency >= 0) & (latency <= _MOST_MS))) else None


def _quoted_stamps(text: bytes) -> NDArray[np.int64] | None:
    """Times of all the timestamps in `text`; None where anything else stands between quotes."""
    characters = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(characters == ord('"'))
    opening, closing = quotes[::2] + 1, quotes[1::2]
    if len(opening) != len(closing) or np.any(closing - opening != len(EXAMPLE)):
        return None
    return parse_stamp_bytes(np.lib.stride_tricks.sliding_window_view(characters, len(EXAMPLE))[opening])


def _entries(text: bytes, path: Path, name: str) -> list[Any]:
    try:
        value: list[Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(text)  # knows NaN, so that the error can name the cycle
        except ValueError as error:
            raise FormatError(f"not valid JSON: {error}", where=_place(path, name), fix=_LAYOUT) from error
    return value


def _checked_columns(entries: list[Any], path: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    # An empty list may be either; with timestamps, the layer is told of as one without cycles.
    stamped = not entries or isinstance(entries[0], list)
    if stamped:
        for cycle, entry in enumerate(entries, start=1):
            if not isinstance(entry, list) or len(entry) != 2:
                raise FormatError(
                    f"the entry of cycle {cycle} is not [ms, timestamp]: {str(entry)[:60]}",
                    where=_place(path, name),
                    fix=_LAYOUT,
                )
        values, stamps = [entry[0] for entry in entries], [entry[1] for entry in entries]
    else:
        values, stamps = entries, []
    latency = _latencies(values, path, name)
    return latency, _ends(stamps, path, name) if stamped else None


def _latencies(values: list[Any], path: Path, name: str) -> NDArray[np.float64]:
    if not all(type(value) in (float, int) for value in values):
        cycle = next(i for i, value in enumerate(values) if type(value) not in (float, int))
        raise _bad_latency(values[cycle], cycle, path, name)
    latency = np.array([float(value) if abs(value) < 1e300 else np.inf for value in values], dtype=np.float64)
    wrong = np.flatnonzero(~((latency >= 0) & (latency <= _MOST_MS)))
    if wrong.size:
        raise _bad_latency(values[wrong[0]], int(wrong[0]), path, name)
    return latency


def _bad_latency(value: Any, cycle: int, path: Path, name: str) -> FormatError:
    return FormatError(
        f"the latency in cycle {cycle + 1} is {value!r}, not a number of milliseconds from 0 to a day",
        where=_place(path, name),
        fix="Leave the cycle out of all layers, or record again",
    )


def _ends(stamps: list[Any], path: Path, name: str) -> NDArray[np.int64]:
    times = parse_timestamps(pl.Series("timestamp", [s if isinstance(s, str) else None for s in stamps], pl.String))
    if times.null_count():
        cycle = int(times.is_null().arg_max() or 0)
        raise FormatError(
            f"not a timestamp in cycle {cycle + 1}: {stamps[cycle]!r}", where=_place(path, name), fix=_LAYOUT
        )
    return times.to_numpy()


def _place(path: Path, name: str) -> str:
    return f"{path}, layer {printable(name)!r}"
