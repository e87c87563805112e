"""The base method: a layer's power is the mean of the readings between its start and its reported end.

    reading      x    x    x    x    x    x    x
    layer a        |------]                        start = timestamp - latency, both ends included
    layer b             |-----------]              windows may overlap and share readings
    layer c                               ||       no reading inside: no power

It is exact, and known to say little about single layers: TensorRT stamps them after the inference, and a
reading is an average over a time that is far longer than a layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.layer_metrics import metrics_frame
from edgewatt.formats.power_log import PowerLog


def compute_latency_start_end_times(
    latency_ms: ArrayLike, timestamp_us: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Work out when layers started and ended.

    Args:
        latency_ms: Latencies in ms, of any shape.
        timestamp_us: Times of the reports in whole microseconds, of the same shape.

    Returns:
        Starts and ends in whole microseconds: the start is the timestamp minus the latency rounded to whole
        microseconds (half to even), the end is the timestamp.
    """
    end_us = np.asarray(timestamp_us, dtype=np.int64)
    # Whole milliseconds apart from the rest, as datetime.timedelta does it, keeps every digit of the fraction.
    fraction, whole = np.modf(np.asarray(latency_ms, dtype=np.float64))
    latency_us = whole.astype(np.int64) * 1000 + np.rint(fraction * 1000).astype(np.int64)
    return end_us - latency_us, end_us


def compute_layer_metrics_by_cycle(layers: LayerCycles, power_log: PowerLog, idle_power_uw: float) -> pl.DataFrame:
    """Give every layer of every cycle its power.

    Args:
        layers: Runtimes of the layers.
        power_log: Readings of the total rail.
        idle_power_uw: Idle power in uW.

    Returns:
        One row for each cycle and layer, in the order of cycles and of execution, with the columns of
        `power_runtime_mapping_layerwise.csv`; powers in uW, None where no reading fell into the window.
    """
    return metrics_frame(layers, window_power(reading_ranges(layers, power_log), power_log), idle_power_uw)


@dataclass(frozen=True)
class ReadingRanges:
    """Which readings fall into each layer's window: those from `first` to before `last`.

    Attributes:
        first: Index of the first reading, shape (layers, cycles).
        last: Index after the last reading, of the same shape; equal to `first` where no reading fell in.
        begin_us: When the earliest window opens.
    """

    first: NDArray[np.int32]
    last: NDArray[np.int32]
    begin_us: int


def reading_ranges(layers: LayerCycles, power_log: PowerLog) -> ReadingRanges:
    """Look every window up on its own in the whole log, both ends included."""
    shape = layers.latency_ms.shape
    first, last = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int32)
    begins = []
    for index, (latency_ms, end_us) in enumerate(zip(layers.latency_ms, layers.end_us, strict=True)):
        start, end = compute_latency_start_end_times(latency_ms, end_us)
        first[index] = np.searchsorted(power_log.times_us, start, side="left")
        last[index] = np.searchsorted(power_log.times_us, end, side="right")
        begins.append(int(start.min()))
    return ReadingRanges(first, last, min(begins))


def window_power(ranges: ReadingRanges, power_log: PowerLog) -> NDArray[np.float64]:
    """Mean power of the readings in each layer's window.

    Args:
        ranges: Which readings fall into each window.
        power_log: Readings of the total rail.

    Returns:
        Power in uW, shape (layers, cycles); NaN where no reading fell into the window.
    """
    values = power_log.power_uw
    return np.array([_range_means(values, *both) for both in zip(ranges.first, ranges.last, strict=True)])


def _range_means(values: NDArray[np.float64], first: NDArray[np.intp], last: NDArray[np.intp]) -> NDArray[np.float64]:
    """Means of `values[first:last]`, NaN where a range is empty.

    Each range is summed by itself: differences of one running sum would leave rounding errors of the whole
    log in the mean of a few readings.
    """
    means = np.full(first.shape, np.nan)
    filled = np.flatnonzero(last > first)
    if filled.size:
        bounds = np.column_stack((first[filled], last[filled])).ravel()
        sums = np.add.reduceat(np.append(values, 0.0), bounds)[::2]
        means[filled] = sums / (last - first)[filled]
    return means
