"""What share of each sensor value every segment of the timeline has.

The values are linear in the segments' powers: value = shares @ powers, and a row's shares add up to 1. Segments are
the layers, the gaps between inferences, and where there are any the gaps within inferences and the stalls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded
from scipy.signal import lfilter

from edgewatt.mapping.response import Response, lagged_ramp
from edgewatt.mapping.timeline import LayerTimeline

#: Gaps within inferences, and stalls, become segments of their own from this share of the whole time.
_LEAST_SHARE = 2e-3
#: Half of the step over which slopes are taken.
_SLOPE_STEP_S = 1e-6


@dataclass(frozen=True)
class Shares:
    """Rows of the regression.

    Attributes:
        segments: Share of each segment in each value, shape (values, segments): the layers, then the gaps.
        outside: Share of the time outside of the recorded cycles, shape (values,).
    """

    segments: NDArray[np.float64]
    outside: NDArray[np.float64]


class Occupancy:
    """Running totals of a timeline's segments, from which the shares of any window follow.

    Attributes:
        names: Names of the segments behind the layers.
        layers: Number of layers.
        time_s: Time of each segment in the recording, shape (segments,).
        begin_s: Start of the first cycle.
        finish_s: End of the last.
    """

    def __init__(self, timeline: LayerTimeline) -> None:
        start, end = timeline.start_s, timeline.end_s
        self.layers = start.shape[1]
        self.begin_s, self.finish_s = float(start[0, 0]), float(end[-1, -1])
        inferences = end[:, -1] - start[:, 0]
        layer_time = (end - start).sum(axis=0)
        inner = float(inferences.sum() - layer_time.sum())
        stalls = start[:, 0] - timeline.stall_start_s
        whole = self.finish_s - self.begin_s
        # Stamps after the inference leave no gap within it but for a pause that is the same before each layer.
        self._has_inner = timeline.stamps == "own ends" and inner > _LEAST_SHARE * whole
        self._has_stall = float(stalls.sum()) > _LEAST_SHARE * whole
        # Tracks: layers, whole inferences, stalls, and one that never ends: the recorded time.
        columns_start, columns_end = [start], [end]
        if self._has_inner:
            columns_start.append(start[:, :1])
            columns_end.append(end[:, -1:])
        if self._has_stall:
            columns_start.append(timeline.stall_start_s[:, None])
            columns_end.append(start[:, :1])
        self._start = np.ascontiguousarray(np.concatenate(columns_start, axis=1))
        self._end = np.ascontiguousarray(np.concatenate(columns_end, axis=1))
        # A cycle's own time begins in the gap before it, and before a stall in that gap.
        middles = 0.5 * (end[:-1, -1] + timeline.stall_start_s[1:])
        self._border = np.concatenate((start[:1, 0], middles))
        lengths = self._end - self._start
        self._before = np.concatenate((np.zeros((1, lengths.shape[1])), np.cumsum(lengths, axis=0)))[:-1]
        self.names = ["gaps"] + ["gaps within inferences"] * self._has_inner + ["stalls"] * self._has_stall
        stalled = float(stalls.sum()) if self._has_stall else 0.0
        within = inner if self._has_inner else 0.0
        gaps = whole - float(layer_time.sum()) - within - stalled
        extra = [within] * self._has_inner + [stalled] * self._has_stall
        self.time_s = np.concatenate((layer_time, [gaps], extra))
        self._last_state: tuple[float, NDArray[np.float64]] | None = None

    def shares(self, tick_s: NDArray[np.float64], response: Response) -> Shares:
        """Shares of the segments in the values that appear at ticks.

        Args:
            tick_s: Ticks; all of them in a row where the sensor averages over several conversions.
            response: What lies between power and value.
        """
        ends = tick_s - response.delay_s
        state = self._lag_state(response.lag_s)
        late, recorded_late = self._integrals(ends, response, state)
        early, recorded_early = self._integrals(ends - response.length_s, response, state)
        tracks = (late - early) / response.length_s
        recorded = (recorded_late - recorded_early) / response.length_s
        segments = self._to_segments(tracks, recorded)
        outside = 1.0 - recorded
        if response.samples > 1:
            keep = 1 - 1 / response.samples
            segments = lfilter([1 - keep], [1, -keep], segments, axis=0)
            # The register held the power before the recording.
            outside, _ = lfilter([1 - keep], [1, -keep], outside, zi=[keep])
        return Shares(segments, outside)

    def slope_w_per_s(
        self, tick_s: NDArray[np.float64], response: Response, power_w: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """How much each value changes with the time of the inference in which its conversion began or ended.

        Two inferences' times are independent, and their slopes add as squares.

        Args:
            tick_s: Ticks.
            response: What lies between power and value.
            power_w: Power of each segment.
        """
        excess = self._track_excess(power_w)
        ends = tick_s - response.delay_s
        late, late_cycle = self._own_power(ends, response, excess)
        early, early_cycle = self._own_power(ends - response.length_s, response, excess)
        same = late_cycle == early_cycle
        slope: NDArray[np.float64] = np.where(same, np.abs(late - early), np.hypot(late, early)) / response.length_s
        if response.samples > 1:
            keep = 1 - 1 / response.samples
            slope = np.sqrt(np.maximum(lfilter([(1 - keep) ** 2], [1, -(keep**2)], slope**2), 0.0))
        return slope

    def _track_excess(self, power_w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Power of each track above that of the gap around it."""
        gaps = power_w[self.layers]
        extra = list(power_w[self.layers + 1 :] - gaps)
        layers = power_w[: self.layers] - gaps
        if self._has_inner:
            layers = layers - extra[0]
        return np.concatenate((layers, extra))

    def _own_power(
        self, times_s: NDArray[np.float64], response: Response, excess_w: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Lagged power, by the inference at hand alone, at each time; and which inference that is."""
        cycle = self._cycle(times_s)
        start, end = self._start[cycle], self._end[cycle]
        power = np.zeros(len(times_s))
        for sign in (1, -1):
            time = (times_s + sign * _SLOPE_STEP_S)[:, None]
            ramp = lagged_ramp(time - start, response.lag_s, response.blur_s)
            ramp -= lagged_ramp(time - end, response.lag_s, response.blur_s)
            power += sign * (ramp @ excess_w)
        return power / (2 * _SLOPE_STEP_S), cycle

    def _cycle(self, times_s: NDArray[np.float64]) -> NDArray[np.intp]:
        return np.clip(np.searchsorted(self._border, times_s, side="right") - 1, 0, len(self._border) - 1)

    def _to_segments(self, tracks: NDArray[np.float64], recorded: NDArray[np.float64]) -> NDArray[np.float64]:
        layers = tracks[:, : self.layers]
        extra = []
        used = layers.sum(axis=1)
        column = self.layers
        if self._has_inner:
            extra.append(tracks[:, column] - used)
            used = tracks[:, column]
            column += 1
        if self._has_stall:
            extra.append(tracks[:, column])
            used = used + tracks[:, column]
        return np.column_stack((layers, recorded - used, *extra))

    def _integrals(
        self, times_s: NDArray[np.float64], response: Response, state: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Integral of each lagged track, and of the recorded time, up to each time."""
        cycle = self._cycle(times_s)
        time = times_s[:, None]
        lag, blur = response.lag_s, response.blur_s
        tracks = self._before[cycle]
        tracks += lagged_ramp(time - self._start[cycle], lag, blur)
        tracks -= lagged_ramp(time - self._end[cycle], lag, blur)
        if state is not None:
            since = np.maximum(times_s - self._border[cycle], 0.0)
            tracks -= lag * state[cycle] * np.exp(-since / lag)[:, None]
        recorded = lagged_ramp(times_s - self.begin_s, lag, 0.0) - lagged_ramp(times_s - self.finish_s, lag, 0.0)
        return tracks, recorded

    def _lag_state(self, lag_s: float) -> NDArray[np.float64] | None:
        """Each track's lagged value at each cycle's border; None without lag.

        y[n + 1] = decay[n] y[n] + what cycle n has added: a bidiagonal system.
        """
        if lag_s <= 0:
            return None
        # Fits ask for many delays and lengths with the same lag.
        if self._last_state is not None and self._last_state[0] == lag_s:
            return self._last_state[1]
        following = self._border[1:, None]
        decay = np.exp(-np.diff(self._border) / lag_s)
        added = np.exp((self._end[:-1] - following) / lag_s) - np.exp((self._start[:-1] - following) / lag_s)
        bands = np.ones((2, len(self._border)))
        bands[1, :-1], bands[1, -1] = -decay, 0.0
        right = np.concatenate((np.zeros((1, added.shape[1])), added))
        state: NDArray[np.float64] = solve_banded((1, 0), bands, right, overwrite_b=True)
        self._last_state = lag_s, state
        return state
