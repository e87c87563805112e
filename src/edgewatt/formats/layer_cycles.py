"""Layers' runtimes as rectangles of layers and cycles, in the engine's order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import FormatError, printable, warn
from edgewatt.formats.engine_info import EngineInfo
from edgewatt.formats.layer_latency import LayerLatencies
from edgewatt.formats.timestamps import backward_jumps
from edgewatt.networks.layer import unique_names


@dataclass(frozen=True)
class LayerRuntimes:
    """Every layer's runtime in every cycle.

    Attributes:
        names: Names of the layers in execution order, told apart where the engine repeats one.
        types: The backend's type of each layer; empty where it is not known.
        latency_ms: Latencies in ms, shape (layers, cycles).
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    latency_ms: NDArray[np.float64]

    @property
    def cycles(self) -> int:
        """Number of cycles."""
        return int(self.latency_ms.shape[1])


@dataclass(frozen=True)
class LayerCycles(LayerRuntimes):
    """Every layer's runtime in every cycle, and when it was reported.

    Attributes:
        end_us: Times of the reports in microseconds since 1970, shape (layers, cycles).
    """

    end_us: NDArray[np.int64]


def match_layers(latencies: LayerLatencies, engine: EngineInfo, path: Path) -> LayerCycles:
    """Put recorded latencies and times into the engine's order, as rectangles of layers and cycles.

    Arguments and errors are those of `match_runtimes`.

    Raises:
        FormatError: There are no timestamps.
    """
    if latencies.end_us is None:
        raise FormatError(
            "the latencies have no timestamps, so no power can be found for them",
            where=path,
            fix="Record with the base method's profiler, which stamps every report",
        )
    rows = _rows(latencies.names, engine, path)
    layers = _runtimes(latencies, rows, path)
    ends = [latencies.end_us[row.index][row.first :: row.step][: layers.cycles] for row in rows]
    _say_backward_jumps(ends[0], path)
    return LayerCycles(layers.names, layers.types, layers.latency_ms, np.array(ends))


def match_runtimes(latencies: LayerLatencies, engine: EngineInfo, path: Path) -> LayerRuntimes:
    """Put recorded latencies into the engine's order, as a rectangle of layers and cycles.

    A profiler that keys by name puts the cycles of two layers that share a name into one list, alternately;
    they are told apart here.

    Args:
        latencies: As recorded.
        engine: The engine's layers.
        path: The latencies' file, for errors.

    Raises:
        FormatError: The layers differ in their numbers of cycles by more than one that was cut off.
    """
    return _runtimes(latencies, _rows(latencies.names, engine, path), path)


@dataclass(frozen=True)
class _Row:
    """Where the cycles of one layer stand in the file: every `step`-th entry from `first` of the layer `index`."""

    name: str
    backend_type: str
    index: int
    first: int = 0
    step: int = 1


def _rows(names: Sequence[str], engine: EngineInfo, path: Path) -> list[_Row]:
    index_of = {name: index for index, name in enumerate(names)}
    occurrences = Counter(engine.names)
    rows: list[_Row] = []
    seen: Counter[str] = Counter()
    for name, unique, backend_type in zip(engine.names, engine.unique_names, engine.types, strict=True):
        if name in index_of:
            rows.append(_Row(unique, backend_type, index_of[name], seen[name], occurrences[name]))
            seen[name] += 1
    unknown = [name for name in names if name not in occurrences]
    if unknown:
        shown = ", ".join(repr(printable(name)) for name in unknown[:3])
        warn(
            f"the engine does not know {len(unknown)} of the {len(names)} recorded layers: {shown}",
            where=path,
            fix="They are kept without a type; check that the engine's file is of the same build",
        )
    return rows + [_Row(name, "", index_of[name]) for name in unknown]


def _runtimes(latencies: LayerLatencies, rows: Sequence[_Row], path: Path) -> LayerRuntimes:
    columns = [latencies.latency_ms[row.index][row.first :: row.step] for row in rows]
    cycles = _common_cycles([row.name for row in rows], [len(column) for column in columns], path)
    return LayerRuntimes(
        # A recorded layer that the engine does not know may be called as a repeated one was renamed.
        names=tuple(unique_names([row.name for row in rows])),
        types=tuple(row.backend_type for row in rows),
        latency_ms=np.array([column[:cycles] for column in columns]),
    )


def _common_cycles(names: Sequence[str], counts: Sequence[int], path: Path) -> int:
    """Number of cycles that all layers have."""
    fewest, most = min(counts), max(counts)
    if fewest == most:
        if most == 0:
            raise FormatError("no cycle was recorded", where=path, fix="Record it again")
        return most
    where = f"{path}, layer {printable(names[counts.index(fewest)])!r}"
    # Stopped in the middle of a cycle, the layers up to some point have one entry more than the rest.
    if most - fewest == 1 and fewest > 0 and list(counts) == sorted(counts, reverse=True):
        warn(f"the last cycle was cut off before this layer; it is left out, {fewest} cycles remain", where=where)
        return fewest
    raise FormatError(
        f"the layer has {fewest} cycles where others have {most}, so its cycles cannot be told",
        where=where,
        fix="Record again, or take the layer out of the file",
    )


def _say_backward_jumps(end_us: NDArray[np.int64], path: Path) -> None:
    jumps, cycle, longest = backward_jumps(end_us)
    if jumps:
        warn(
            f"the clock jumps back at cycle {cycle + 1} ({jumps} jumps, the longest {longest:.3f} s); windows are "
            "looked up by the times as they stand",
            where=path,
        )
