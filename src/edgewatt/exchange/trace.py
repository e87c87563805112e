"""Recordings, mapped networks and predictions as traces of layers with their power.

A recording shows its cycles as they ran, with the readings of its power log as they were taken: a sensor's value is
older than its reading and an average over a time, so it does not line up with single layers. A mapped network or a
prediction shows one mean cycle, the layers one after the other, each with its own power.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.dataset.tables import read_measured_layers
from edgewatt.errors import EdgewattError, warn
from edgewatt.exchange.sources import Source, SourceKind
from edgewatt.exchange.tables import prediction_table
from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import read_mapping_info
from edgewatt.formats.perfetto import Counter, Slices, write_trace
from edgewatt.formats.power_log import PowerLog
from edgewatt.formats.recording import RecordingPaths, read_recording
from edgewatt.formats.timestamps import format_timestamp
from edgewatt.mapping.timeline import LayerTimeline, lay_out

#: As many cycles as a viewer shows at ease.
DEFAULT_CYCLES = 100
_CYCLES, _LAYERS = "inferences", "layers"
_POWER, _IDLE_POWER, _IDLE = "power", "idle power", "idle"
_SLICES_AT_ONCE = 100_000


@dataclass(frozen=True)
class TraceSummary:
    """What a trace holds.

    Attributes:
        cycles: Cycles in it.
        all_cycles: Cycles that there are.
        events: Slices and values of counters.
    """

    cycles: int
    all_cycles: int
    events: int


def export_trace(source: Source, path: Path, cycles: int | None = None) -> TraceSummary:
    """Write a trace for Perfetto, whole or not at all.

    Args:
        source: A recording, a mapped network or a prediction.
        path: The file to write.
        cycles: The most cycles of a recording, from its beginning; `DEFAULT_CYCLES` if None.

    Raises:
        EdgewattError: The source is training tables or several networks, or a file is missing or broken.
    """
    if source.kind is SourceKind.TRAINING:
        raise EdgewattError(
            "training tables hold no order of layers", where=source.path, fix="Name a recording or a mapped network"
        )
    if source.kind is SourceKind.RECORDING:
        return _export_recording(source.network, path, DEFAULT_CYCLES if cycles is None else cycles)
    if cycles is not None:
        raise EdgewattError(f"{source.kind.value} has one mean cycle", where=source.path, fix="Leave --cycles out")
    mean = _mapped_cycle(source.network) if source.kind is SourceKind.MAPPED else _predicted_cycle(source.network)
    return TraceSummary(1, 1, write_trace(path, mean.title, (_CYCLES, _LAYERS), _mean_parts(mean), mean.about))


@dataclass(frozen=True)
class _MeanCycle:
    """One mean cycle: runtimes in ms, powers in W (NaN: not known), what a viewer shows of each layer."""

    title: str
    names: Sequence[str]
    runtime_ms: NDArray[np.float64]
    power_w: NDArray[np.float64]
    facts: Sequence[Mapping[str, Any]]
    about: Mapping[str, Any]
    power_name: str
    idle_power_w: float | None = None
    network_ms: float | None = None


def _mapped_cycle(folder: Path) -> _MeanCycle:
    measured = read_measured_layers(folder)
    info = read_mapping_info(folder / MAPPING_FILE) if (folder / MAPPING_FILE).exists() else None
    layers, network_s = measured.layers, None if info is None else info.runtime.get("network_s")
    return _MeanCycle(
        title=folder.name,
        names=[layer.layer_name for layer in layers],
        runtime_ms=np.array([layer.runtime_ms for layer in layers]),
        power_w=np.array([np.nan if layer.power_w is None else layer.power_w for layer in layers]),
        facts=[
            {
                "layer_type": layer.layer_type,
                "power_w": layer.power_w,
                "power_low_w": layer.power_low_w,
                "power_high_w": layer.power_high_w,
                "energy_mj": layer.energy_mj,
                "identifiable": layer.identifiable,
            }
            for layer in layers
        ],
        about={"network": folder.name, "method": measured.method, "cycle": "mean of all cycles"},
        power_name=_POWER,
        idle_power_w=measured.idle_power_w,
        network_ms=None if network_s is None else network_s * 1e3,
    )


def _predicted_cycle(path: Path) -> _MeanCycle:
    table = prediction_table(path)
    runtime = table["runtime_prediction (ms)"]
    if runtime.null_count() or not runtime.is_finite().all() or (runtime < 0).any():
        raise EdgewattError(
            "not every layer has a predicted runtime", where=path, fix="Predict with predictors that cover its layers"
        )
    return _MeanCycle(
        title=path.stem,
        names=table["layer_name"].to_list(),
        runtime_ms=runtime.to_numpy(),
        power_w=table["power_prediction (W)"].fill_null(float("nan")).to_numpy(),
        facts=table.drop("layer_name").to_dicts(),
        about={"prediction": path.name, "cycle": "predicted"},
        power_name="power above idle",
    )


def _mean_parts(cycle: _MeanCycle) -> Iterator[Slices | Counter]:
    edges = np.rint(np.append(0.0, np.cumsum(cycle.runtime_ms)) * 1e6).astype(np.int64)
    start, end = edges[:-1], edges[1:]
    last = int(edges[-1]) if cycle.network_ms is None else max(int(edges[-1]), round(cycle.network_ms * 1e6))
    yield _row_of(_CYCLES, "inference", ["mean cycle"], np.array([0]), np.array([last]))
    yield Slices(_LAYERS, "layer", cycle.names, np.arange(len(start)), start, end, cycle.facts)
    if last > edges[-1]:
        # The layers take less than the inference: where the rest lies is not known, so it is put behind them.
        yield _row_of(_LAYERS, _IDLE, ["no layer runs"], edges[-1:], np.array([last]))
    yield _counter(cycle.power_name, start[end > start], cycle.power_w[end > start])
    if cycle.idle_power_w is not None:
        yield _counter(_IDLE_POWER, np.array([0, last]), np.full(2, cycle.idle_power_w))


def _export_recording(folder: Path, path: Path, most: int) -> TraceSummary:
    recording = read_recording(RecordingPaths(folder))
    log, all_cycles = recording.power_log, recording.layers.cycles
    timeline = lay_out(recording.layers, recording.run_info, int(log.times_us[0]))
    if not len(timeline.start_s):
        raise EdgewattError("no cycle has times that fit together", where=folder, fix="Record it again")
    shown = min(most, len(timeline.start_s))
    if shown < all_cycles:
        warn(f"the trace shows {shown} of {all_cycles} cycles", where=path, fix="Show others with --cycles")
    readings = _readings_around(log, timeline, shown)
    origin_s = min(float(timeline.start_s[0, 0]), (int(log.times_us[readings][0]) - timeline.origin_us) / 1e6)
    parts = _Parts(timeline, origin_s, recording.layers.names, recording.layers.types, shown)
    about = {
        "network": folder.name,
        "start": format_timestamp(timeline.origin_us + round(origin_s * 1e6)),
        "layers": f"timestamps are {timeline.stamps}",
        "power": "readings as they were taken; a sensor's value is older than its reading",
    }
    events = write_trace(
        path, folder.name, (_CYCLES, _LAYERS), parts.all(log, readings, _idle_power_w(folder.parent)), about
    )
    return TraceSummary(shown, all_cycles, events)


def _readings_around(log: PowerLog, timeline: LayerTimeline, shown: int) -> slice:
    """The readings of the cycles that are shown, with the one before and the one behind; at least one."""
    times_s = (log.times_us - timeline.origin_us) / 1e6
    first, last = np.searchsorted(times_s, (timeline.start_s[0, 0], timeline.end_s[shown - 1, -1]))
    begin = min(max(int(first) - 1, 0), len(log) - 1)
    return slice(begin, max(int(last) + 1, begin + 1))


def _idle_power_w(raw_dir: Path) -> float | None:
    path = raw_dir / IDLE_FILE
    return read_idle_power(path).power_w if path.exists() else None


@dataclass(frozen=True)
class _Parts:
    """The parts of a recording's trace, some cycles at a time."""

    timeline: LayerTimeline
    origin_s: float
    names: Sequence[str]
    types: Sequence[str]
    shown: int

    def all(self, log: PowerLog, readings: slice, idle_power_w: float | None) -> Iterator[Slices | Counter]:
        """Every part: the power first, then the cycles."""
        times_ns = self._ns((log.times_us[readings] - self.timeline.origin_us) / 1e6)
        yield _counter(_POWER, times_ns, log.power_uw[readings] / 1e6)
        if idle_power_w is not None:
            yield _counter(_IDLE_POWER, times_ns[[0, -1]], np.full(2, idle_power_w))
        step = max(1, _SLICES_AT_ONCE // len(self.names))
        before = 0
        for first in range(0, self.shown, step):
            start, end = self._edges(slice(first, min(first + step, self.shown)), before)
            yield from self._cycles(first, start, end, before)
            before = int(end[-1, -1])

    def _cycles(
        self, first: int, start: NDArray[np.int64], end: NDArray[np.int64], before: int
    ) -> Iterator[Slices | Counter]:
        names = [f"cycle {number}" for number in range(first + 1, first + len(start) + 1)]
        yield _row_of(_CYCLES, "inference", names, start[:, 0], end[:, -1])
        gap_start, gap_end = np.append(before, end[:-1, -1]), start[:, 0]
        gaps = gap_end > gap_start
        gaps[0] &= first > 0
        if gaps.any():
            yield _row_of(_CYCLES, _IDLE, [_IDLE], gap_start[gaps], gap_end[gaps])
        order = self.timeline.order
        yield Slices(
            track=_LAYERS,
            category="layer",
            names=[self.names[index] for index in order],
            which=np.tile(np.arange(len(order)), len(start)),
            start_ns=start.ravel(),
            end_ns=end.ravel(),
            facts=[{"layer_type": self.types[index]} for index in order],
        )

    def _edges(self, cycles: slice, before: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends in ns, which never run into each other whatever they were rounded to."""
        start, end = self._ns(self.timeline.start_s[cycles]), self._ns(self.timeline.end_s[cycles])
        ends = np.maximum.accumulate(np.maximum(end.ravel(), before))
        starts = np.maximum(start.ravel(), np.append(before, ends[:-1]))
        return np.minimum(starts, ends).reshape(start.shape), ends.reshape(end.shape)

    def _ns(self, times_s: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.rint((times_s - self.origin_s) * 1e9).astype(np.int64)


def _row_of(
    track: str, category: str, names: Sequence[str], start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]
) -> Slices:
    which = np.arange(len(start_ns)) if len(names) == len(start_ns) else np.zeros(len(start_ns), dtype=np.intp)
    return Slices(track, category, names, which, start_ns, end_ns)


def _counter(name: str, times_ns: NDArray[np.int64], power_w: NDArray[np.float64]) -> Counter:
    return Counter(name, "W", times_ns, power_w)
