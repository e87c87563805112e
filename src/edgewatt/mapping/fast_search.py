"""Searching the clock of a sensor that refreshes faster than it is polled, from nothing but its values.

For a period p, a conversion that ended at time g, and the delay d behind the ticks, the conversion that a reading at t
shows is the last that ended before t - d, one of g, g + p, g + 2 p ... The regression on the layers' shares in these
conversions says how well p and g explain the readings: far better than any others if they are right.

    ends     g     g+p   g+2p  g+3p  g+4p  g+5p
    -----|-----|-----|-----|-----|-----|----->
    polls          x(t - d)       x(t - d)            each shows the end before it

How fine p must be searched grows with the span of the readings. So every period of every setting is tried on a span of
a tenth of a second, and the best are followed through spans that double.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fresh_values import FreshValues
from edgewatt.mapping.known_sensor import KnownSensor
from edgewatt.mapping.response import Response
from edgewatt.mapping.solve import Prior, solve

#: Conversion times of the INA3221 in s (data sheet SBOS576), and the most that its clock is off.
_CONVERSIONS_S = (140e-6, 204e-6, 332e-6, 588e-6, 1100e-6, 2116e-6, 4156e-6, 8244e-6)
_CLOCK_ERROR = 0.1
#: Faster than this many polling intervals a period cannot be bracketed.
_LEAST_BRACKETED = 1.2
#: Readings on which every period is tried, and the most on which the best are compared.
_FIRST_READINGS = 144
_LAST_READINGS = 4000
#: Readings without which no clock is sought.
LEAST_READINGS = 300
#: Steps of the table of conversions' ends, for each conversion length, and of their phase.
_TABLE_STEPS = 12
_PHASE_STEPS = 3
#: Candidates from the first span for each setting; those followed, fewer by half for each span twice as long; and the
#: delays that are tried to either side.
_FROM_EACH = 12
_FOLLOWED = 32
_DELAY_STEPS = 6
_BATCH = 256


@dataclass(frozen=True)
class Setting:
    """A sensor setting.

    Attributes:
        period_s: Nominal time between fresh values.
        length_s: Nominal length of a conversion.
    """

    period_s: float
    length_s: float


@dataclass(frozen=True)
class FoundClock:
    """A clock that explains a span of readings.

    Attributes:
        period_s: Its period.
        end_s: When one of its conversions ended, about in the middle of the span; the sensor's delay is left out.
        response: Delay from such an end until it could be read, and conversion length.
        power_w: Powers of the segments.
        variance_w2: Mean square of what is left of the readings.
    """

    period_s: float
    end_s: float
    response: Response
    power_w: NDArray[np.float64]
    variance_w2: float


def settings_of(known: KnownSensor, poll_s: float) -> Sequence[Setting]:
    """Settings by which a sensor may refresh faster than it is polled: the known one, or all of an INA3221.

    Shunt and bus voltage of one to three channels are converted in turn, each for the same time.
    """
    if known.period_s is not None:
        return (Setting(known.period_s, known.length_s or 0.5 * known.period_s),)
    all_settings = (Setting(2 * channels * time, time) for time in _CONVERSIONS_S for channels in (1, 2, 3))
    return [setting for setting in all_settings if setting.period_s < _LEAST_BRACKETED * poll_s]


def is_setting(known: KnownSensor, poll_s: float, period_s: float, length_s: float, tolerance: float) -> bool:
    """Whether a chip can have a period and a conversion length, its clock off by no more than the data sheet says.

    Args:
        known: What is known of the sensor.
        poll_s: Polling interval.
        period_s: The period found.
        length_s: The length found.
        tolerance: Relative error of the length.
    """
    for setting in settings_of(known, poll_s):
        scale = period_s / setting.period_s
        clock_fits = abs(scale - 1) <= 1.1 * _CLOCK_ERROR
        if clock_fits and abs(length_s / (scale * setting.length_s) - 1) <= tolerance:
            return True
    return False


def search_clock(
    occupancy: Occupancy, readings: FreshValues, mean_age_s: float, settings: Sequence[Setting], prior: Prior
) -> FoundClock | None:
    """Find the clock that explains a span in the middle of the recording best.

    Args:
        occupancy: The timeline's segments.
        readings: All readings.
        mean_age_s: Mean time from the middle of the conversion that a reading shows to the reading.
        settings: Settings to try.
        prior: Of the segments' powers.
    """
    time_s, value_w = inside(occupancy, readings)
    if len(time_s) < LEAST_READINGS or not settings:
        return None
    return _Search(occupancy, time_s, value_w, mean_age_s, prior).run(settings)


def inside(occupancy: Occupancy, readings: FreshValues) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and values of the readings during the run, but for its beginning."""
    time_s = readings.tick_s
    kept = (time_s > occupancy.begin_s + 4 * readings.period_s) & (time_s < occupancy.finish_s) & readings.seen
    return time_s[kept], readings.power_w[kept]


@dataclass(frozen=True)
class _Candidate:
    cost: float
    setting: Setting
    period_s: float
    end_s: float
    delay_s: float


class _Search:
    """One recording's search."""

    def __init__(
        self,
        occupancy: Occupancy,
        time_s: NDArray[np.float64],
        value_w: NDArray[np.float64],
        mean_age_s: float,
        prior: Prior,
    ) -> None:
        self._occupancy, self._time_s, self._value_w = occupancy, time_s, value_w
        self._mean_age_s, self._prior = mean_age_s, prior
        self._centre = len(time_s) // 2
        self._centre_s = float(time_s[self._centre])

    def run(self, settings: Sequence[Setting]) -> FoundClock:
        count = min(_FIRST_READINGS, len(self._time_s))
        kept: list[_Candidate] = []
        for setting in settings:
            kept += self._scan(setting, self._span(count))
        # The mean age is only known roughly, and what it is off by lies in the delay.
        count = min(2 * count, len(self._time_s))
        kept = [self._best_delay(one, self._span(count)) for one in kept]
        kept = _best(kept, _FOLLOWED)
        most = min(_LAST_READINGS, len(self._time_s))
        while count < most:
            count = min(2 * count, most)
            span = self._span(count)
            kept = _best((near for one in kept for near in self._around(one, span)), max(2, len(kept) // 2))
        best = kept[0]
        response = self._response(best)
        span = self._span(count)
        power_w, residual_w = self._explain(best.period_s, best.end_s, response, span)
        return FoundClock(best.period_s, best.end_s, response, power_w, float(np.mean(residual_w**2)))

    def _span(self, count: int) -> slice:
        first = max(0, self._centre - count // 2)
        return slice(first, min(first + count, len(self._time_s)))

    def _duration_s(self, span: slice) -> float:
        return float(self._time_s[span.stop - 1] - self._time_s[span.start])

    def _delay_s(self, setting: Setting, period_s: float) -> float:
        """The delay that goes with the mean age."""
        return self._mean_age_s - 0.5 * period_s * (1 + setting.length_s / setting.period_s)

    @staticmethod
    def _response(one: _Candidate) -> Response:
        return Response(one.delay_s, one.setting.length_s * one.period_s / one.setting.period_s)

    def _ends(self, period_s: float, end_s: float, delay_s: float, span: slice) -> NDArray[np.float64]:
        """The end of the conversion that each reading shows."""
        seen = self._time_s[span] - delay_s
        ends: NDArray[np.float64] = end_s + period_s * np.floor((seen - end_s) / period_s)
        return ends

    def _explain(
        self, period_s: float, end_s: float, response: Response, span: slice
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Powers by a candidate, and the residuals."""
        ends = self._ends(period_s, end_s, response.delay_s, span)
        shares = self._occupancy.shares(ends, replace(response, delay_s=0.0)).segments
        count = len(shares)
        solution = solve(shares, np.empty((count, 0)), self._value_w[span], np.full(count, 1.0), self._scaled_prior())
        return solution.power_w, solution.residual_w

    def _scaled_prior(self) -> Prior:
        """The prior where values have unit weight: as if each had noise of a tenth of the prior's width."""
        return Prior(self._prior.mean_w, 10.0 * np.ones_like(self._prior.deviation_w))

    def _with_cost(self, one: _Candidate, span: slice) -> _Candidate:
        _, residual = self._explain(one.period_s, one.end_s, self._response(one), span)
        return replace(one, cost=float(residual @ residual))

    def _around(self, one: _Candidate, span: slice) -> Iterator[_Candidate]:
        """A candidate's neighbours on a longer span."""
        step = one.period_s * 0.5 * one.setting.length_s / self._duration_s(span)
        for more in (-1.0, -0.5, 0.0, 0.5, 1.0):
            for later in (-1 / 8, 0.0, 1 / 8):
                end = one.end_s + later * one.setting.length_s
                yield self._with_cost(replace(one, period_s=one.period_s + more * step, end_s=end), span)

    def _best_delay(self, one: _Candidate, span: slice) -> _Candidate:
        """The candidate with the delay that suits it best, up to half a period from the expected one."""
        shifts = one.period_s * np.arange(-_DELAY_STEPS, _DELAY_STEPS + 1) / (2 * _DELAY_STEPS)
        tried = (self._with_cost(replace(one, delay_s=one.delay_s + float(shift)), span) for shift in shifts)
        return min(tried, key=lambda other: other.cost)

    def _scan(self, setting: Setting, span: slice) -> list[_Candidate]:
        """All periods and phases of a setting on a short span, from a table of shares over conversions' ends."""
        least, most = (1 - _CLOCK_ERROR) * setting.period_s, (1 + _CLOCK_ERROR) * setting.period_s
        step = setting.length_s / _TABLE_STEPS
        time, value = self._time_s[span], self._value_w[span]
        # The latest end any period allows is the beginning of the table, the earliest its end.
        first_s = self._delay_s(setting, most)
        last_s = self._delay_s(setting, least) + most
        cells = int(np.ceil((last_s - first_s) / step)) + 2
        ends = time[:, None] - first_s - step * np.arange(cells)
        nominal = Response(0.0, setting.length_s)
        table = self._occupancy.shares(ends.ravel(), nominal).segments.reshape(len(time), cells, -1)
        target = value - table.mean(axis=1) @ self._prior.mean_w
        duration = self._duration_s(span)
        periods = np.arange(least, most, setting.period_s * 0.5 * setting.length_s / duration)
        phases = np.arange(0, setting.period_s, setting.length_s / _PHASE_STEPS)
        period, phase = (grid.ravel() for grid in np.meshgrid(periods, phases, indexing="ij"))
        phase = phase * period / setting.period_s
        costs = np.empty(len(period))
        rows = np.arange(len(time))
        ridge = 1e-2 * np.eye(table.shape[2])
        for begin in range(0, len(period), _BATCH):
            part = slice(begin, begin + _BATCH)
            p, end = period[part, None], self._centre_s - phase[part, None]
            seen = time - (self._mean_age_s - 0.5 * p * (1 + setting.length_s / setting.period_s))
            shown = end + p * np.floor((seen - end) / p)
            cell = np.clip(np.rint((time - first_s - shown) / step).astype(np.intp), 0, cells - 1)
            shares = table[rows, cell]
            flipped = shares.transpose(0, 2, 1)
            right = flipped @ target
            powers = np.linalg.solve(flipped @ shares + ridge, right[:, :, None])[:, :, 0]
            costs[part] = target @ target - np.sum(right * powers, axis=1)
        return [
            _Candidate(
                float(costs[at]),
                setting,
                float(period[at]),
                self._centre_s - float(phase[at]),
                self._delay_s(setting, float(period[at])),
            )
            for at in np.argsort(costs)[:_FROM_EACH]
        ]


def _best(candidates: Iterator[_Candidate] | list[_Candidate], count: int) -> list[_Candidate]:
    return sorted(candidates, key=lambda one: one.cost)[:count]
