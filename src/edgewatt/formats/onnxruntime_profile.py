"""ONNX Runtime's profile: `[{"cat": "Node", "name": "conv1_kernel_time", "ts": us, "dur": us, "args": {...}}, ...]`.

`ts` counts from the start of profiling. A layer's execution is an event of the category Node whose name ends in
`_kernel_time`. An inference is the event `model_run` of the category Session, written when it is done. The runtime
writes an event a line, and stops after a million. Older versions write `_fence_before` and `_fence_after` beside the
layers, and names as they are, so that a quote in one breaks the JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import FormatError, printable, warn
from edgewatt.formats.file_kind import FileKind, advice
from edgewatt.formats.json_file import BOM, read_bytes
from edgewatt.formats.layer_latency import LayerLatencies
from edgewatt.networks.layer import unique_names
from edgewatt.wording import counted

_SUFFIX = "_kernel_time"
_INFERENCE = "model_run"
#: A name between what the runtime writes around it.
_NAME = re.compile(rb'(^.*?"name"\s*:\s*)"(.*?)"(,"args"\s*:.*$)')
_MAKE_IT = "Set enable_profiling in the session's options and call end_profiling()"


@dataclass(frozen=True)
class LayerEvent:
    """One execution of an operation.

    Attributes:
        name: Its name in the network.
        start_us: When it began, from the start of profiling.
        duration_us: How long it took.
        args: What else the runtime tells: `op_name`, `input_type_shape`, `output_type_shape`, ...
    """

    name: str
    start_us: int
    duration_us: int
    args: Mapping[str, Any]


@dataclass(frozen=True)
class LayerRuns:
    """Executions of the layers in each inference.

    Attributes:
        names: Names of the layers in the order of the first inference, told apart where one repeats.
        operations: The operation of each, such as Conv.
        providers: What executed each, such as CPUExecutionProvider.
        start_us: Starts in us from the start of profiling, shape (inferences, layers).
        duration_us: How long each took in us, of the same shape.
    """

    names: tuple[str, ...]
    operations: tuple[str, ...]
    providers: tuple[str, ...]
    start_us: NDArray[np.int64]
    duration_us: NDArray[np.int64]

    def latencies(self, profiling_start_us: int | None) -> LayerLatencies:
        """The runs as layer latencies.

        Args:
            profiling_start_us: When profiling started, in microseconds since 1970 as the wall clock showed it; without
                it the latencies have no times.
        """
        ends = None
        if profiling_start_us is not None:
            ends = list((self.start_us + self.duration_us + profiling_start_us).T)
        return LayerLatencies(self.names, list(self.duration_us.T / 1e3), ends)


def read_profile(path: Path, *, may_be_cut: bool = False) -> list[dict[str, Any]]:
    """Read a profile.

    Args:
        path: The file.
        may_be_cut: Take what a killed program has written of it, with a warning.

    Raises:
        FormatError: The file is missing, empty, not a profile of ONNX Runtime, or it was cut short.
    """
    content = read_bytes(path).removeprefix(BOM)
    broken: orjson.JSONDecodeError | None = None
    cut_at: int | None = None
    try:
        events = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        broken = error
        events, cut_at = _events_of_lines(content)
    if broken is not None and (not events or (cut_at is not None and not may_be_cut)):
        raise FormatError(
            f"ONNX Runtime's profile cannot be read: not valid JSON at line {cut_at or broken.lineno}: {broken.msg}",
            where=path,
            fix=advice(path, FileKind.ONNXRUNTIME_PROFILE, _MAKE_IT),
        ) from broken
    if not isinstance(events, list) or not any(_category(event) in ("Session", "Node") for event in events):
        raise FormatError(
            "not a profile of ONNX Runtime", where=path, fix=advice(path, FileKind.ONNXRUNTIME_PROFILE, _MAKE_IT)
        )
    if cut_at is not None:
        warn(f"the profile was cut short at line {cut_at}; {len(events)} events before it are used", where=path)
    for number, event in enumerate(events, start=1):
        if _is_layer(event) or _is_inference(event):
            wrong = next((key for key in ("ts", "dur") if type(event.get(key)) is not int or event[key] < 0), None)
            if wrong is not None:
                raise FormatError(
                    f"{wrong} is {event.get(wrong)!r}, not whole microseconds",
                    where=f"{path}, event {number} ({printable(event['name'])!r})",
                    fix=_MAKE_IT,
                )
    return [event for event in events if isinstance(event, dict)]


def layer_events(profile: Sequence[Mapping[str, Any]]) -> list[LayerEvent]:
    """The executions of operations in a profile, in order of time."""
    events = [
        LayerEvent(event["name"][: -len(_SUFFIX)], event["ts"], event["dur"], event.get("args") or {})
        for event in profile
        if _is_layer(event)
    ]
    return sorted(events, key=lambda event: event.start_us)


def layer_runs(profile: Sequence[Mapping[str, Any]], path: Path, *, skip: int = 0) -> LayerRuns:
    """Put the executions of a profile into inferences.

    Args:
        profile: The profile.
        path: Its file, for warnings and errors.
        skip: Inferences to leave out at the beginning, to warm up.

    Raises:
        FormatError: There are no layers or fewer inferences than are left out, inferences ran at the same time, or not
            all of them ran the same layers.
    """
    events = layer_events(profile)
    if not events:
        raise FormatError("the profile holds no layer: no inference was run", where=path, fix=_MAKE_IT)
    start = np.array([event.start_us for event in events], dtype=np.int64)
    inference, inferences = _inferences(profile, start, path)
    if inferences <= skip:
        raise FormatError(
            f"the profile holds {inferences} whole inferences and {skip} are to be left out",
            where=path,
            fix="Run more of them, or leave out fewer",
        )
    named = pl.DataFrame({"name": [event.name for event in events], "inference": inference}).with_row_index("event")
    named = named.filter((pl.col("inference") >= skip) & (pl.col("inference") < inferences))
    named = named.with_columns(pl.int_range(pl.len()).over("inference", "name").alias("nth"))
    groups = named.group_by("name", "nth", maintain_order=True).agg("event")
    wanted = inferences - skip
    other = groups.filter(pl.col("event").list.len() != wanted)
    if other.height:
        raise FormatError(
            f"{printable(other['name'][0])!r} was not run once in each of {wanted} inferences, so layers cannot be "
            "told apart",
            where=path,
            fix="Networks with loops or conditions have no fixed layers; profile another, or run one session alone",
        )
    rows = np.array(groups["event"].to_list(), dtype=np.intp)
    first = [events[row] for row in rows[:, 0]]
    duration = np.array([event.duration_us for event in events], dtype=np.int64)
    return LayerRuns(
        names=tuple(unique_names(groups["name"].to_list())),
        operations=tuple(str(event.args.get("op_name", "")) for event in first),
        providers=tuple(str(event.args.get("provider", "")) for event in first),
        start_us=start[rows].T,
        duration_us=duration[rows].T,
    )


def _inferences(
    profile: Sequence[Mapping[str, Any]], start: NDArray[np.int64], path: Path
) -> tuple[NDArray[np.int64], int]:
    """The inference that each execution belongs to, from 0 (beyond the last: to none), and how many there are."""
    runs = sorted((event["ts"], event["ts"] + event["dur"]) for event in profile if _is_inference(event))
    if not runs:
        raise FormatError("no inference was run to its end", where=path, fix=_MAKE_IT)
    begins, ends = np.array(runs, dtype=np.int64).T
    if np.any(begins[1:] < ends[:-1]):
        raise FormatError("inferences ran at the same time", where=path, fix="Profile one that runs alone")
    which = np.searchsorted(begins, start, side="right") - 1
    outside = (which < 0) | (start > ends[which])
    if outside.any():
        warn(f"{counted(int(outside.sum()), 'layer', ('is', 'are'))} left out: the inference was not ended", where=path)
    return np.where(outside, len(runs), which).astype(np.int64), len(runs)


def _events_of_lines(content: bytes) -> tuple[list[Any], int | None]:
    """The events of a file that is not JSON as a whole, and the line at which it was cut short; None where it was not.

    Older versions write names as they are; a quote or a backslash in one breaks its line.
    """
    events: list[Any] = []
    lines = content.rstrip().split(b"\n")
    for number, line in enumerate(lines, start=1):
        text = line.strip().removeprefix(b"[").strip().removesuffix(b",").strip()
        if text in (b"", b"]"):
            continue
        event = _event(text)
        if event is None:
            return events, number
        events.append(event)
    return events, None if lines[-1].strip() == b"]" else len(lines)


def _event(text: bytes) -> Any:
    for attempt in (text, _NAME.sub(_escaped, text)):
        try:
            return orjson.loads(attempt)
        except orjson.JSONDecodeError:
            continue
    return None


def _escaped(match: re.Match[bytes]) -> bytes:
    return match[1] + orjson.dumps(match[2].decode("utf-8", "replace")) + match[3]


def _category(event: object) -> object:
    return event.get("cat") if isinstance(event, dict) else None


def _is_layer(event: object) -> bool:
    name = event.get("name") if isinstance(event, dict) else None
    return _category(event) == "Node" and isinstance(name, str) and name.endswith(_SUFFIX)


def _is_inference(event: object) -> bool:
    return isinstance(event, dict) and event.get("cat") == "Session" and event.get("name") == _INFERENCE
