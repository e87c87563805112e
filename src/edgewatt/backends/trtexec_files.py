"""The files that `trtexec` exports: the layers' profile, the times of inferences, the layers themselves.

The profile looks like JSON, but the names of layers in it are written as they are: a quote or a backslash in one breaks
it. So it is read entry by entry, by what stands around the names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import FormatError
from edgewatt.formats.engine_info import EngineInfo, read_engine_info
from edgewatt.formats.json_file import read_bytes, read_json

_NUMBER = r"[-+0-9.eE]+"
_ENTRY = re.compile(
    r'\{ *"name" *: *"(?P<name>.*?)" *, *"timeMs" *: *(?P<total>' + _NUMBER + r") *,"
    r' *"averageMs" *: *(?P<mean>' + _NUMBER + r") *,"
    r'(?: *"medianMs" *: *(?P<median>' + _NUMBER + r") *,)?"
    r' *"percentage" *: *' + _NUMBER + r" *\}",
    re.DOTALL,
)
_COUNT = re.compile(r'\{ *"count" *: *(\d+) *\}')
_FIX = "Export it with trtexec --exportProfile"


@dataclass(frozen=True)
class LayerProfile:
    """Mean latencies of layers.

    Attributes:
        names: Names of the layers, in execution order; a name may repeat.
        mean_ms: Mean latency of each in ms, shape (layers,).
        cycles: Inferences that the means are over.
    """

    names: tuple[str, ...]
    mean_ms: NDArray[np.float64]
    cycles: int


def read_profile(path: Path) -> LayerProfile:
    """Read what `--exportProfile` wrote.

    Raises:
        FormatError: The file is missing, empty, truncated or not of this format.
    """
    text = read_bytes(path).decode("utf-8", "replace")
    count = _COUNT.search(text)
    entries = list(_ENTRY.finditer(text))
    if count is None or not entries:
        raise FormatError("not a profile of trtexec", where=path, fix=_FIX)
    # A name may hold anything, but nothing else in the file can begin an entry.
    if not text.rstrip().endswith("]"):
        raise FormatError("the profile is truncated", where=path, fix=_FIX)
    try:
        means = np.array([float(entry["mean"]) for entry in entries])
    except ValueError as error:
        raise FormatError(f"a layer's time is not a number: {error}", where=path, fix=_FIX) from error
    return LayerProfile(tuple(entry["name"] for entry in entries), means, int(count[1]))


def read_times(path: Path) -> NDArray[np.float64]:
    """Read what `--exportTimes` wrote.

    Returns:
        Start and end of each inference on the GPU in ms since trtexec started, shape (inferences, 2).

    Raises:
        FormatError: The file is missing, empty or not of this format.
    """
    entries = read_json(path)
    try:
        times = np.array([_edges(entry) for entry in entries], dtype=np.float64).reshape(-1, 2)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            "not the times that trtexec exports", where=path, fix="Export them with trtexec --exportTimes"
        ) from error
    if not len(times) or not np.isfinite(times).all() or (times[:, 1] < times[:, 0]).any():
        raise FormatError("holds no inference, or one that ends before it starts", where=path)
    return times


def _edges(entry: Mapping[str, Any]) -> tuple[float, float]:
    return float(entry["startComputeMs"]), float(entry["endComputeMs"])


def read_layer_info(path: Path) -> EngineInfo:
    """Read what `--exportLayerInfo` wrote: the engine inspector's JSON.

    Raises:
        FormatError: The file is missing or not of this format.
    """
    return read_engine_info(path)
