"""When the layers of each inference ran, as far as a recording tells.

TensorRT reports all layers after the inference, so that the stamps say only when it ended, give or take the
reports' delay. The layers are then laid out in the order of their reports, back from the end of the cycle:

    GPU    | layer 1 |  layer 2  | ... | layer n |        gap         | layer 1 |
    stamps                                         ^^^^^^
                                       <- - - - - -  the first report, less a delay that all cycles share

That shared delay cannot be told from the sensor's own and is left to it; how much the delay varies from cycle to cycle
is estimated with the sensor's response. A profiler that stamps each layer at its own end, as ONNX Runtime's does, is
taken at its word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.run_info import RunInfo

Stamps = Literal["own ends", "after the inference"]

#: A gap of more than this many median gaps is a stalled process.
_STALL_GAPS = 5.0
#: Stamps that are spread over less of an inference than this are reports made after it.
_LEAST_SPREAD = 0.5


@dataclass(frozen=True)
class LayerTimeline:
    """When each layer ran, with times in s from an origin. Layers that are never executed take no time.

    Attributes:
        stamps: What the profiler's timestamps are.
        origin_us: The origin in microseconds since 1970.
        order: Index in the recording of each of the timeline's layers, which are in the order of their stamps.
        start_s: Starts, shape (cycles, layers).
        end_s: Ends.
        usual_gap_s: Median time between inferences.
        dropped_cycles: Number of cycles left out because their times run into those before them.
        host_spread_s: Standard deviation of the time from the call of an inference to its first report, less its
            layers' time; None where the calls are not known.
    """

    stamps: Stamps
    origin_us: int
    order: NDArray[np.intp]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    usual_gap_s: float
    dropped_cycles: int
    host_spread_s: float | None

    @property
    def cycle_start_s(self) -> NDArray[np.float64]:
        """Start of each inference, shape (cycles,)."""
        return self.start_s[:, 0]

    @property
    def cycle_end_s(self) -> NDArray[np.float64]:
        """End of each inference, shape (cycles,)."""
        return self.end_s[:, -1]

    @property
    def stall_start_s(self) -> NDArray[np.float64]:
        """When the gap before each inference began to be longer than usual, shape (cycles,).

        It is the inference's start where the gap was not.
        """
        usual_end = self.cycle_end_s[:-1] + _STALL_GAPS * self.usual_gap_s
        return np.concatenate((self.cycle_start_s[:1], np.minimum(usual_end, self.cycle_start_s[1:])))


def spaced(timeline: LayerTimeline, spacing_s: float) -> LayerTimeline:
    """The same timeline with a pause before each layer that runs, in which the profiler measures nothing.

    Args:
        timeline: A timeline laid out back from the ends of its cycles.
        spacing_s: The pause in s.
    """
    ran = np.asarray((timeline.end_s > timeline.start_s).any(axis=0), dtype=np.int64)
    behind = np.cumsum(ran[::-1])[::-1] - ran
    return replace(timeline, start_s=timeline.start_s - spacing_s * behind, end_s=timeline.end_s - spacing_s * behind)


def stamps_of(layers: LayerCycles) -> Stamps:
    """What a recording's timestamps are.

    Stamps at the layers' own ends spread over an inference as its layers do; reports after it follow each other
    within microseconds.
    """
    latency_us = np.median(layers.latency_ms, axis=1) * 1e3
    inference_us = float(latency_us.sum())
    # The earliest stamp lies the earliest layer's time after the inference's start.
    earliest = int(np.argmin(np.median(layers.end_us - layers.end_us.min(axis=0), axis=1)))
    expected_us = inference_us - float(latency_us[earliest])
    spread_us = float(np.median(np.ptp(layers.end_us, axis=0)))
    return "own ends" if spread_us >= _LEAST_SPREAD * expected_us else "after the inference"


def lay_out(layers: LayerCycles, run: RunInfo | None, origin_us: int) -> LayerTimeline:
    """Work out when each layer ran.

    Args:
        layers: Runtimes and stamps of the layers.
        run: What is known of the run; its starts of cycles sharpen the ends where there are any.
        origin_us: The origin for times in s.
    """
    stamps = stamps_of(layers)
    offsets = layers.end_us - layers.end_us.min(axis=0)
    order = np.argsort(np.median(offsets, axis=1), kind="stable")
    latency_s = layers.latency_ms[order].T / 1e3
    stamp_s = (layers.end_us[order].T - origin_us) / 1e6
    host_spread_s = None
    if stamps == "own ends":
        end_s = stamp_s
        start_s = end_s - latency_s
        start_s[:, 1:] = np.clip(start_s[:, 1:], end_s[:, :-1], end_s[:, 1:])
    else:
        cycle_end_s, host_spread_s = _cycle_ends(stamp_s[:, 0], latency_s.sum(axis=1), layers, run, origin_us)
        end_s = cycle_end_s[:, None] - (latency_s.sum(axis=1, keepdims=True) - np.cumsum(latency_s, axis=1))
        start_s = end_s - latency_s
    keep = _in_order(start_s[:, 0], end_s[:, -1])
    start_s, end_s = start_s[keep], end_s[keep]
    gaps = start_s[1:, 0] - end_s[:-1, -1]
    usual = float(np.median(gaps)) if gaps.size else 0.0
    return LayerTimeline(
        stamps, origin_us, order, start_s, end_s, max(usual, 1e-6), int(np.count_nonzero(~keep)), host_spread_s
    )


def _cycle_ends(
    first_report_s: NDArray[np.float64],
    inference_s: NDArray[np.float64],
    layers: LayerCycles,
    run: RunInfo | None,
    origin_us: int,
) -> tuple[NDArray[np.float64], float | None]:
    """End of each inference, up to a delay that all share, and how far two ways to know it disagree.

    The first report tells the end but for its delay, the call tells the start but for the launch's. Their difference
    varies with both; the mean of two varies less than the first alone where they vary by similar amounts, and delays
    of the host only ever make the report later and the start of the GPU later than the call, so that the outliers of
    one are cut off by the other.
    """
    starts = None if run is None else run.cycle_start_us
    if starts is None or len(starts) != layers.cycles:
        return first_report_s, None
    call_s = (np.asarray(starts, dtype=np.int64) - origin_us) / 1e6
    from_call_s = call_s + inference_s
    difference = first_report_s - from_call_s
    usual = float(np.median(difference))
    spread = float(np.median(np.abs(difference - usual))) * 1.4826
    shift = np.clip(difference - usual, -3 * spread, 3 * spread)
    # Half-way between the two, expressed as a correction of the later one.
    return from_call_s + usual + shift / 2, spread


def _in_order(start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Cycles that begin after all before them have ended (within rounding) and last longer than nothing."""
    latest = np.maximum.accumulate(end_s)
    keep = end_s > start_s
    # A report that came late by more than the gap is the fault of the cycle before, but only the order is known.
    keep[1:] &= start_s[1:] >= latest[:-1] - 1e-6
    return keep
