"""trtexec's profile of layers, as `--exportProfile` writes it.

    [
      { "count" : 14590 }
    , { "name" : "conv1", "timeMs" : 355.08, "averageMs" : 0.0243372, "medianMs" : 0.024576, "percentage" : 4.643 }
    ]

It looks like JSON, but trtexec writes the names of layers as they are: a quote, a backslash or a line break in one
breaks it. So a file in trtexec's own layout is read by what stands around the names. A file in any other layout was
written by something that knows JSON, and is read as JSON; so is what is written here. `medianMs` came with TensorRT
8.4. `timeMs` is the sum over all inferences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from edgewatt.errors import FormatError
from edgewatt.formats.atomic import write_bytes
from edgewatt.formats.file_kind import FileKind, advice, recognise
from edgewatt.formats.json_file import BOM, read_bytes

_EXPORT = "Export it with trtexec --exportProfile"
_COUNT = re.compile(r'\s*\[\s*\{ "count" : (?P<count>[^}]*?) \}\s*')
_BEGIN = r'\{ "name" : "'
# A name may hold anything, also what an entry ends with, but then not what follows an entry as well.
_ENTRY = re.compile(
    rf',\s*{_BEGIN}(?P<name>.*?)", "timeMs" : (?P<timeMs>[^,{{}}"]*?), "averageMs" : (?P<averageMs>[^,{{}}"]*?)'
    rf'(?:, "medianMs" : (?P<medianMs>[^,{{}}"]*?))?, "percentage" : [^,{{}}"]*? \}}\s*(?=,\s*{_BEGIN}|\]\s*\Z)',
    re.DOTALL,
)
_OWN_LAYOUT = re.compile(rf'\s*\[\s*\{{ "count" : [^}}]*\}}\s*,\s*{_BEGIN}')
_END = re.compile(r"\]\s*\Z")
_TIMES = ("timeMs", "averageMs", "medianMs")


@dataclass(frozen=True)
class LayerProfile:
    """Latencies of layers over many inferences.

    Attributes:
        names: Names of the layers, in execution order; a name may repeat.
        mean_ms: Mean latency of each in ms, shape (layers,).
        cycles: Inferences that the means are over.
        total_ms: Sum of each layer's latencies in ms.
        median_ms: Median latencies in ms; None where the file has none.
    """

    names: tuple[str, ...]
    mean_ms: NDArray[np.float64]
    cycles: int
    total_ms: NDArray[np.float64]
    median_ms: NDArray[np.float64] | None = None

    @property
    def share(self) -> NDArray[np.float64]:
        """Each layer's share of the time of all layers, from 0 to 1; 0 where no layer takes time."""
        whole = float(self.total_ms.sum())
        return self.total_ms / whole if whole > 0 else np.zeros_like(self.total_ms)


def read_profile(path: Path) -> LayerProfile:
    """Read a profile.

    Raises:
        FormatError: The file is missing, empty, truncated or not of this format; a time is not a number from 0; or no
            inference was profiled.
    """
    text = read_bytes(path).removeprefix(BOM).decode("utf-8", "replace")
    if _OWN_LAYOUT.match(text):
        count, entries = _own_layout(text, path)
    else:
        count, entries = _json(text, path)
    times: dict[str, list[float]] = {key: [] for key in _TIMES}
    for number, entry in enumerate(entries, start=1):
        for key in _TIMES:
            if entry.get(key) is not None:
                times[key].append(_time(entry[key], key, f"{path}, entry {number} ({entry['name'][:60]!r})"))
    medians = times["medianMs"]
    if medians and len(medians) != len(entries):
        raise FormatError("only some layers have a medianMs", where=path, fix=_EXPORT)
    return LayerProfile(
        names=tuple(entry["name"] for entry in entries),
        mean_ms=np.array(times["averageMs"]),
        cycles=_cycles(count, path),
        total_ms=np.array(times["timeMs"]),
        median_ms=np.array(medians) if medians else None,
    )


def write_profile(path: Path, profile: LayerProfile) -> None:
    """Write a profile with trtexec's keys, as JSON that every reader takes, whole or not at all."""
    lines = [orjson.dumps({"count": profile.cycles})]
    medians = [None] * len(profile.names) if profile.median_ms is None else profile.median_ms.tolist()
    columns = (profile.total_ms.tolist(), profile.mean_ms.tolist(), medians, (100 * profile.share).tolist())
    for name, total, mean, median, percentage in zip(profile.names, *columns, strict=True):
        entry = {"name": name, "timeMs": total, "averageMs": mean}
        entry |= {} if median is None else {"medianMs": median}
        lines.append(orjson.dumps(entry | {"percentage": percentage}))
    write_bytes(path, b"[\n  " + b",\n  ".join(lines) + b"\n]\n")


def _own_layout(text: str, path: Path) -> tuple[object, list[Mapping[str, Any]]]:
    head = _COUNT.match(text)
    if head is None:
        raise _not_a_profile(path)
    entries = list(_walk(text, head.end(), path))
    return head["count"], entries


def _walk(text: str, position: int, path: Path) -> Iterator[Mapping[str, Any]]:
    """The entries from `position` to the closing bracket."""
    number = 0
    while not _END.match(text, position):
        number += 1
        entry = _ENTRY.match(text, position)
        if entry is None:
            where = f"{path}, line {text.count(chr(10), 0, position) + 1}, entry {number}"
            cut = not text.rstrip().endswith("]")
            problem = "the profile is truncated" if cut else f"not a layer of a profile: {text[position:][:80]!r}"
            raise FormatError(problem, where=where, fix=_EXPORT)
        yield entry.groupdict()
        position = entry.end()


def _json(text: str, path: Path) -> tuple[object, list[Mapping[str, Any]]]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if recognise(path) is not FileKind.TRTEXEC_PROFILE:
            raise _not_a_profile(path) from error
        raise FormatError(
            f"not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}", where=path, fix=_EXPORT
        ) from error
    if not isinstance(value, list) or len(value) < 2 or not isinstance(value[0], dict) or "count" not in value[0]:
        raise _not_a_profile(path)
    for number, entry in enumerate(value[1:], start=1):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise FormatError("the entry has no name", where=f"{path}, entry {number}", fix=_EXPORT)
        missing = next((key for key in ("timeMs", "averageMs") if entry.get(key) is None), None)
        if missing is not None:
            raise FormatError(f"the entry has no {missing}", where=f"{path}, entry {number}", fix=_EXPORT)
    return value[0]["count"], value[1:]


def _not_a_profile(path: Path) -> FormatError:
    if recognise(path) is FileKind.TRTEXEC_PROFILE:
        return FormatError("not a profile of trtexec: it holds no layer", where=path, fix=_EXPORT)
    return FormatError("not a profile of trtexec", where=path, fix=advice(path, FileKind.TRTEXEC_PROFILE, _EXPORT))


def _time(value: object, key: str, where: str) -> float:
    try:
        time = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else float("nan")
    except ValueError:
        time = float("nan")
    if not isfinite(time) or time < 0:
        raise FormatError(f"{key} is not a number of milliseconds from 0: {value!r}", where=where, fix=_EXPORT)
    return time


def _cycles(count: object, path: Path) -> int:
    try:
        cycles = int(count) if isinstance(count, str | int) and not isinstance(count, bool) else 0
    except ValueError:
        cycles = 0
    if cycles < 1:
        raise FormatError(
            f"the count of inferences is {count!r}, so nothing was profiled", where=f"{path}, entry 0", fix=_EXPORT
        )
    return cycles
