"""Fitting a recording whose sensor refreshes faster than it is polled.

Its clock is searched for in the values. Where none is found that can be believed (see `clock_evidence`), the readings'
ages remain open: only what the network draws follows from them then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from edgewatt.formats.power_log import PowerLog
from edgewatt.mapping.clock_evidence import clock_evidence, indifferent, why_not
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fast_clock import best_shift, corrected, track_clock
from edgewatt.mapping.fast_search import FoundClock, search_clock, settings_of
from edgewatt.mapping.fit_response import Fit, ResponseFit
from edgewatt.mapping.fresh_values import FreshValues, fresh_values
from edgewatt.mapping.known_sensor import KnownSensor
from edgewatt.mapping.response import Response
from edgewatt.mapping.sensor_clock import SensorClock
from edgewatt.mapping.solve import Prior

#: How often ticks and response are fitted in turn before the last fit.
_SHIFTS = 3
#: How often all is fitted, ticks being corrected between.
_CORRECTIONS = 3
#: How far the blur of an inference's time may be from what the noise says: the noise counts other errors in.
_BLUR_SCALES = (0.6, 1.2)
#: Share of a period, before and after a tick, in which a reading may be of the wrong tick.
_UNSURE = 0.04
#: A sensor that smooths over more polling intervals than this hides its clock.
_LONG_LAG_POLLS = 2.0
#: Readings that are enough for what a recording without clock can tell.
_ENOUGH = 20_000


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


@dataclass(frozen=True)
class _Recorded:
    """What is fitted.

    Attributes:
        log: The readings.
        readings: The same, each as a value of its own.
        occupancy: The timeline's segments.
        known: What is known of the sensor.
        prior: Of the segments' powers.
        step_w: Smallest step of the values.
    """

    log: PowerLog
    readings: FreshValues
    occupancy: Occupancy
    known: KnownSensor
    prior: Prior
    step_w: float

    def at_ticks(self, clock: SensorClock) -> FreshValues:
        """The value of each tick of a clock."""
        return fresh_values(self.log, clock, int(self.log.times_us[0]))

    def fit(self, fresh: FreshValues, blur_scale: float = 1.0) -> ResponseFit:
        """A fit of values."""
        known = replace(self.known, samples=1)
        return ResponseFit(self.occupancy, fresh, known, self.prior, self.step_w, blur_scale=blur_scale)


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
    recorded = _Recorded(log, readings, occupancy, known, prior, step_w)
    say("the mean age of readings")
    blind, _ = ResponseFit(occupancy, readings, KnownSensor(samples=1), prior, step_w).rough(long_lag=True)
    say("a clock faster than the polls")
    fitted = _with_clock(recorded, blind, say)
    if isinstance(fitted, FastFit):
        return fitted
    say("readings of unknown age")
    thinned = _thinned(readings, occupancy)
    fit, learned = recorded.fit(thinned).run_from(blind)
    return FastFit(None, thinned, fit, learned, fitted)


def _with_clock(recorded: _Recorded, blind: Response, say: Callable[[str], None]) -> FastFit | str:
    """The fit with the clock, or why there is none."""
    occupancy, readings, known = recorded.occupancy, recorded.readings, recorded.known
    poll_s = readings.period_s
    if blind.lag_s > _LONG_LAG_POLLS * poll_s:
        return f"it averages over some {blind.lag_s * 1e3:.1f} ms"
    age_s = blind.delay_s + 0.5 * blind.length_s + blind.lag_s
    found = search_clock(occupancy, readings, age_s, settings_of(known, poll_s), recorded.prior)
    if found is None:
        return "no setting of the sensor is known to be that fast, or there are too few readings"
    clock, response = _in_turn(recorded, found)
    evidence = clock_evidence(occupancy, clock, response, readings, blind, recorded.prior)
    if indifferent(evidence):
        return why_not(evidence, clock, response, poll_s, known)
    say("ticks and powers")
    fitted = _corrected(recorded, clock, response)
    assert fitted.clock is not None
    evidence = clock_evidence(occupancy, fitted.clock, fitted.fit.response, readings, blind, recorded.prior)
    return why_not(evidence, fitted.clock, fitted.fit.response, poll_s, known) or fitted


def _in_turn(recorded: _Recorded, found: FoundClock) -> tuple[SensorClock, Response]:
    """Follow a clock through the recording, then shift its ticks and fit the response in turn."""
    occupancy, readings = recorded.occupancy, recorded.readings
    clock = track_clock(occupancy, readings, found)
    response, power_w = found.response, found.power_w
    for _ in range(_SHIFTS):
        shift_s = best_shift(occupancy, clock, readings, response, power_w)
        clock = replace(clock, tick_s=clock.tick_s + shift_s)
        start = replace(response, delay_s=response.delay_s + shift_s)
        response, solution = recorded.fit(recorded.at_ticks(clock)).rough(start)
        power_w = solution.power_w
    return clock, response


def _corrected(recorded: _Recorded, clock: SensorClock, response: Response) -> FastFit:
    """Fit all, and move the ticks by what the fit says, in turn."""
    blur_scale = 1.0
    for _ in range(_CORRECTIONS):
        fresh = _certain(recorded.at_ticks(clock), recorded.readings)
        fit, learned = recorded.fit(fresh, blur_scale).run_from(response)
        response, before = fit.response, clock
        clock, fit, wider_s = corrected(before, fit)
        if response.blur_s > 0:
            blur_scale = float(np.clip(blur_scale * (1 + wider_s / response.blur_s), *_BLUR_SCALES))
    return FastFit(before, fresh, fit, learned, "")


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
