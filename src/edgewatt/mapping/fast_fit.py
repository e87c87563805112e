"""Fitting a recording whose sensor refreshes faster than it is polled, and telling whether the fit can be believed.

A search tries many thousand clocks, and the best of them explains its readings better than none does even where it is
wrong. A clock counts only if

1. the regression on its ticks predicts readings that it was not fitted to far better than one on readings of unknown
   age does, in every part of the recording,
2. ticks moved by a part of the period predict far worse,
3. conversion length and period are those of a setting that the chip has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.power_log import PowerLog
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fast_clock import best_shift, corrected, track_clock
from edgewatt.mapping.fast_search import is_setting, search_clock, settings_of
from edgewatt.mapping.fit_response import Fit, ResponseFit
from edgewatt.mapping.fresh_values import FreshValues, fresh_values
from edgewatt.mapping.known_sensor import KnownSensor
from edgewatt.mapping.response import Response
from edgewatt.mapping.sensor_clock import SensorClock
from edgewatt.mapping.solve import Prior, solve

#: How often ticks and response are fitted in turn before the last fit.
_SHIFTS = 3
#: How often all is fitted, ticks being corrected between.
_CORRECTIONS = 3
#: How far the blur of an inference's time may be from what the noise says: the noise counts other errors in.
_BLUR_SCALES = (0.6, 1.2)
#: Share of a period, before and after a tick, in which a reading may be of the wrong tick.
_UNSURE = 0.04
#: Parts of the recording, each predicted from the others.
_PARTS = 6
#: A clock must leave less than this share of what readings of unknown age leave, in each part and over all.
_MOST_LEFT = 0.3
#: Ticks moved by this share of the period must leave more than the clock's own by this factor.
_MOVED = 0.25
_LEAST_WORSE = 1.5
#: A conversion's length may be off from its setting's by this: what the response has besides a conversion.
_LENGTH_TOLERANCE = 0.08
#: Readings that are enough for what a recording without clock can tell.
_ENOUGH = 6000
#: Squared residuals count for no more than this many times their median: stalls.
_MOST = 25.0


@dataclass(frozen=True)
class FastFit:
    """The fit of such a recording.

    Attributes:
        clock: The clock; None where none can be believed, and the ages of readings remain open.
        fresh: The values that the fit is of.
        fit: The fit.
        prior: The prior learned on the way.
        reason: Why there is no clock; empty where there is.
    """

    clock: SensorClock | None
    fresh: FreshValues
    fit: Fit
    prior: Prior
    reason: str


def fit_fast(
    log: PowerLog,
    readings: FreshValues,
    occupancy: Occupancy,
    known: KnownSensor,
    prior: Prior,
    step_w: float,
    say: Callable[[str], None],
) -> FastFit:
    """Search the clock, fit with it, and fall back to readings of unknown age where it cannot be believed.

    Args:
        log: The readings.
        readings: The same, each as a value of its own.
        occupancy: The timeline's segments.
        known: What is known of the sensor.
        prior: Of the segments' powers.
        step_w: Smallest step of the values.
        say: Called with what is done next.
    """
    say("a clock faster than the polls")
    free = KnownSensor(samples=known.samples)
    blind, _ = ResponseFit(occupancy, readings, free, prior, step_w, say).rough()
    age_s = blind.delay_s + 0.5 * blind.length_s + blind.lag_s
    reason = "no setting of the sensor is known to be that fast"
    settings = settings_of(known, readings.period_s)
    found = search_clock(occupancy, readings, age_s, settings, prior) if blind.samples == 1 else None
    if found is not None:
        clock = track_clock(occupancy, readings, found)
        response, power_w = found.response, found.power_w
        blur_scale = 1.0
        origin_us = int(log.times_us[0])
        for _ in range(_SHIFTS):
            shift_s = best_shift(occupancy, clock, readings, response, power_w)
            clock = replace(clock, tick_s=clock.tick_s + shift_s)
            fresh = fresh_values(log, clock, origin_us)
            search = ResponseFit(occupancy, fresh, known, prior, step_w, say)
            response, solution = search.rough(replace(response, delay_s=response.delay_s + shift_s))
            power_w = solution.power_w
        for _ in range(_CORRECTIONS):
            fresh = _certain(fresh_values(log, clock, origin_us), readings)
            search = ResponseFit(occupancy, fresh, known, prior, step_w, say, blur_scale=blur_scale)
            fit, learned = search.run_from(response)
            response, before = fit.response, clock
            clock, fit, wider_s = corrected(before, fit)
            if response.blur_s > 0:
                blur_scale = float(np.clip(blur_scale * (1 + wider_s / response.blur_s), *_BLUR_SCALES))
        clock = before
        reason = why_not(occupancy, clock, fit, fresh, readings, blind, known, prior)
        if not reason:
            return FastFit(clock, fresh, fit, learned, "")
    thinned = _thinned(readings, occupancy)
    fit, learned = ResponseFit(occupancy, thinned, known, prior, step_w, say).run_from(blind)
    return FastFit(None, thinned, fit, learned, reason)


def why_not(
    occupancy: Occupancy,
    clock: SensorClock,
    fit: Fit,
    fresh: FreshValues,
    readings: FreshValues,
    blind: Response,
    known: KnownSensor,
    prior: Prior,
) -> str:
    """Why a clock cannot be believed; empty where it can.

    Args:
        occupancy: The timeline's segments.
        clock: The clock.
        fit: The fit with it.
        fresh: The values that the fit is of.
        readings: All readings, each as a value of its own.
        blind: The response that explains readings of unknown age best.
        known: What is known of the sensor.
        prior: Of the segments' powers.
    """
    response = fit.response
    if not is_setting(known, readings.period_s, clock.period_s, response.length_s, _LENGTH_TOLERANCE):
        return f"no setting has conversions of {response.length_s * 1e6:.0f} us every {clock.period_s * 1e6:.0f} us"
    tick_s, value_w = fresh.tick_s[fit.rows], fit.value_w
    own = _left(occupancy, tick_s, value_w, response, prior)
    inside = (readings.tick_s >= tick_s[0]) & (readings.tick_s <= tick_s[-1])
    without = _left(occupancy, readings.tick_s[inside], readings.power_w[inside], blind, prior)
    share = own / without
    if float(share.max()) > _MOST_LEFT:
        return f"the best clock explains only {1 - float(share.max()):.0%} more than none, in a part of the recording"
    moved = min(
        float(_left(occupancy, tick_s + sign * _MOVED * clock.period_s, value_w, response, prior).mean())
        for sign in (-1, 1)
    )
    if moved < _LEAST_WORSE * float(own.mean()):
        return "ticks at other times explain the readings about as well"
    return ""


def _left(
    occupancy: Occupancy, tick_s: NDArray[np.float64], value_w: NDArray[np.float64], response: Response, prior: Prior
) -> NDArray[np.float64]:
    """Mean square of the values that the other parts' powers leave, in each part of the recording."""
    some = slice(None, None, max(1, len(tick_s) // (2 * _ENOUGH)))
    tick_s, value_w = tick_s[some], value_w[some]
    shares = occupancy.shares(tick_s, response).segments
    part = np.arange(len(tick_s)) * _PARTS // len(tick_s)
    left = np.empty(_PARTS)
    for number in range(_PARTS):
        out = part == number
        rest = np.flatnonzero(~out)
        power_w = solve(shares[rest], np.empty((len(rest), 0)), value_w[rest], np.full(len(rest), 100.0), prior).power_w
        square = (value_w[out] - shares[out] @ power_w) ** 2
        left[number] = float(np.mean(np.minimum(square, _MOST * float(np.median(square)))))
    return left


def _certain(fresh: FreshValues, readings: FreshValues) -> FreshValues:
    """The same values without those of which it is not certain which tick they are of."""
    tick_s, period_s = fresh.tick_s, fresh.period_s
    at = np.searchsorted(tick_s, readings.tick_s, side="right") - 1
    age_s = readings.tick_s - tick_s[np.maximum(at, 0)]
    unsure = (at >= 0) & ((age_s < _UNSURE * period_s) | (age_s > (1 - _UNSURE) * period_s))
    seen = fresh.seen.copy()
    seen[at[unsure]] = False
    return replace(fresh, seen=seen)


def _thinned(readings: FreshValues, occupancy: Occupancy) -> FreshValues:
    """The same readings, only as many of them marked as seen as tell what can be told without a clock."""
    inside = (readings.tick_s > occupancy.begin_s) & (readings.tick_s < occupancy.finish_s)
    every = max(1, int(np.count_nonzero(inside)) // _ENOUGH)
    kept = np.zeros(len(readings.tick_s), dtype=np.bool_)
    kept[::every] = True
    return replace(readings, seen=readings.seen & kept)
