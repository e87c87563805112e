"""The times of inferences, as trtexec's `--exportTimes` writes them, in ms since it started; warm-up is not in it.

    [ { "startEnqMs" : 1.2, "endEnqMs" : 1.3, "startH2dMs" : ..., "startComputeMs" : ..., "latencyMs" : 1.63 }, ... ]

Computing is timed by events on the GPU. The keys by version of TensorRT:

| version | transfers | further |
|---|---|---|
| 7.0 | `startInMs`, `endInMs`, `startOutMs`, `endOutMs`, `inMs`, `outMs` | no `startEnqMs`; `endToEndMs` |
| 7.1, 7.2 | the same | `startEnqMs`; `endToEndMs` |
| 8.0 to 8.2 | `startH2dMs`, `endH2dMs`, `startD2hMs`, `endD2hMs`, `h2dMs`, `d2hMs` | `endToEndMs` |
| later | the same | |

Versions 7.1 and 7.2 write the times of enqueueing under the keys of the input's transfer and the other way round
(`exportJSONTrace` in their `samples/common/sampleReporting.cpp`); they are put right here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import FormatError
from edgewatt.formats.file_kind import FileKind, advice
from edgewatt.formats.json_file import read_json

_EXPORT = "Export them with trtexec --exportTimes"
#: Our names of columns, and the keys that they have had.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "start_enqueue_ms": ("startEnqMs",),
    "end_enqueue_ms": ("endEnqMs",),
    "start_input_ms": ("startH2dMs", "startInMs"),
    "end_input_ms": ("endH2dMs", "endInMs"),
    "start_compute_ms": ("startComputeMs",),
    "end_compute_ms": ("endComputeMs",),
    "start_output_ms": ("startD2hMs", "startOutMs"),
    "end_output_ms": ("endD2hMs", "endOutMs"),
    "input_ms": ("h2dMs", "inMs"),
    "compute_ms": ("computeMs",),
    "output_ms": ("d2hMs", "outMs"),
    "latency_ms": ("latencyMs",),
    "end_to_end_ms": ("endToEndMs",),
}
_SWAPPED = {
    "start_enqueue_ms": "start_input_ms",
    "end_enqueue_ms": "end_input_ms",
    "start_input_ms": "start_enqueue_ms",
    "end_input_ms": "end_enqueue_ms",
}


@dataclass(frozen=True)
class InferenceTimes:
    """Times of inferences.

    Attributes:
        table: One row an inference; those of the columns `COLUMNS` that the file has, all in ms.
    """

    table: pl.DataFrame

    @property
    def compute_ms(self) -> NDArray[np.float64]:
        """Start and end of computing in ms since trtexec started, shape (inferences, 2)."""
        return self.table.select("start_compute_ms", "end_compute_ms").to_numpy()


def read_inference_times(path: Path) -> InferenceTimes:
    """Read the times of any version.

    Raises:
        FormatError: The file is missing, empty, truncated or not of this format; an inference lacks a time that others
            have, or ends before it starts.
    """
    entries = read_json(path)
    if not isinstance(entries, list):
        raise FormatError(
            "not the times that trtexec exports", where=path, fix=advice(path, FileKind.TRTEXEC_TIMES, _EXPORT)
        )
    if not entries:
        raise FormatError("holds no inference", where=path, fix=_EXPORT)
    first = entries[0] if isinstance(entries[0], dict) else {}
    keys = {name: next((key for key in spelled if key in first), None) for name, spelled in COLUMNS.items()}
    if keys["start_compute_ms"] is None or keys["end_compute_ms"] is None:
        raise FormatError(
            "not the times that trtexec exports", where=path, fix=advice(path, FileKind.TRTEXEC_TIMES, _EXPORT)
        )
    table = pl.DataFrame({name: _column(entries, key, path) for name, key in keys.items() if key is not None})
    if "startInMs" in first and "startEnqMs" in first:
        table = table.rename(_SWAPPED).select(table.columns)
    _check_order(table, path)
    return InferenceTimes(table)


def _column(entries: list[Any], key: str, path: Path) -> pl.Series:
    values = [entry.get(key) if isinstance(entry, dict) else None for entry in entries]
    wrong = next((i for i, value in enumerate(values) if type(value) not in (int, float)), None)
    if wrong is not None:
        raise FormatError(
            f"not the times that trtexec exports: {key} is {values[wrong]!r}",
            where=f"{path}, entry {wrong + 1}",
            fix=_EXPORT,
        )
    return pl.Series(values, dtype=pl.Float64, strict=False)


def _check_order(table: pl.DataFrame, path: Path) -> None:
    infinite = table.select(~pl.all_horizontal(pl.all().is_finite())).to_series().arg_true()
    if len(infinite):
        raise FormatError("a time is not finite", where=f"{path}, entry {infinite[0] + 1}", fix=_EXPORT)
    backwards = (table["end_compute_ms"] < table["start_compute_ms"]).arg_true()
    if len(backwards):
        raise FormatError("the inference ends before it starts", where=f"{path}, entry {backwards[0] + 1}", fix=_EXPORT)
