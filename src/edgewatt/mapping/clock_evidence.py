"""Whether a clock that was searched for can be believed.

A search among many thousand clocks always finds one, and the best of them explains the readings that it was searched
on. It counts only if

1. in each part of the recording, powers from the other parts and the clock's ticks explain the readings far better
   than powers and readings of unknown age do,
2. it matters which reading belongs to which tick: ticks moved by a part of the period under conversions that stay
   explain far less,
3. conversion length and period are those of a setting that the chip has, or the first two hold by a wide margin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fast_search import inside, is_setting
from edgewatt.mapping.fresh_values import FreshValues
from edgewatt.mapping.known_sensor import KnownSensor
from edgewatt.mapping.response import Response
from edgewatt.mapping.sensor_clock import SensorClock
from edgewatt.mapping.solve import Prior, solve

#: Parts of the recording, each predicted from the others.
_PARTS = 6
#: Readings that are looked at.
_ENOUGH = 12_000
#: Squared residuals count for no more than this many times their median: stalls.
_MOST = 25.0
#: A clock must leave less than this share of what readings of unknown age leave, in each part and over all. A right
#: one left 0.002 to 0.24 on simulated boards, a wrong one more than twice what unknown ages leave.
_MOST_LEFT = 0.3
#: Ticks moved by this share of the period must leave more than the clock's own by this factor.
_MOVED = 0.25
_LEAST_WORSE = 1.5
#: A conversion's length may be off from its setting's by this: what the response has besides a conversion.
_LENGTH_TOLERANCE = 0.08
#: By this factor both limits must be kept where no setting is known that is like it.
_WIDE = 3.0


@dataclass(frozen=True)
class ClockEvidence:
    """What speaks for a clock.

    Attributes:
        left: Mean square that it leaves, over what readings of unknown age leave, in the worst part.
        moved: What moved ticks leave, over what its own leave.
    """

    left: float
    moved: float


def clock_evidence(
    occupancy: Occupancy, clock: SensorClock, response: Response, readings: FreshValues, blind: Response, prior: Prior
) -> ClockEvidence:
    """Compare a clock with none, and with itself moved.

    Args:
        occupancy: The timeline's segments.
        clock: The clock.
        response: The response with it.
        readings: All readings, each as a value of its own.
        blind: The response that explains readings of unknown age best.
        prior: Of the segments' powers.
    """
    time_s, value_w = inside(occupancy, readings)
    margin_s = 2 * clock.period_s
    kept = np.flatnonzero((time_s > clock.tick_s[0] + margin_s) & (time_s < clock.tick_s[-1] - margin_s))
    kept = kept[:: max(1, len(kept) // _ENOUGH)]
    time_s, value_w = time_s[kept], value_w[kept]

    def left(shown_s: NDArray[np.float64], seen: Response) -> NDArray[np.float64]:
        return _left(occupancy.shares(shown_s, seen).segments, value_w, prior)

    def shown(moved_s: float) -> NDArray[np.float64]:
        return np.asarray(clock.tick_s[np.searchsorted(clock.tick_s + moved_s, time_s, side="right") - 1])

    own = left(shown(0.0), response)
    without = left(time_s, blind)
    moved = [left(shown(sign * _MOVED * clock.period_s), response).mean() for sign in (-1, 1)]
    return ClockEvidence(float(np.max(own / without)), float(min(moved) / own.mean()))


def indifferent(evidence: ClockEvidence) -> bool:
    """Whether it hardly matters which reading belongs to which tick: so it is with a wrong clock, however fitted."""
    return evidence.moved < _LEAST_WORSE


def why_not(evidence: ClockEvidence, clock: SensorClock, response: Response, poll_s: float, known: KnownSensor) -> str:
    """Why a clock cannot be believed; empty where it can.

    Args:
        evidence: What speaks for it.
        clock: The clock.
        response: The response with it.
        poll_s: Polling interval.
        known: What is known of the sensor.
    """
    if indifferent(evidence):
        return "ticks at other times explain the readings about as well"
    if evidence.left > _MOST_LEFT:
        return f"in a part of the recording it leaves {evidence.left:.0%} of what no clock leaves"
    clear = evidence.left < _MOST_LEFT / _WIDE and evidence.moved > _LEAST_WORSE * _WIDE
    if not clear and not is_setting(known, poll_s, clock.period_s, response.length_s, _LENGTH_TOLERANCE):
        return f"no setting has conversions of {response.length_s * 1e6:.0f} us every {clock.period_s * 1e6:.0f} us"
    return ""


def _left(shares: NDArray[np.float64], value_w: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
    """Mean square of the values that the other parts' powers leave, in each part of the recording."""
    part = np.arange(len(value_w)) * _PARTS // len(value_w)
    left = np.empty(_PARTS)
    for number in range(_PARTS):
        out = part == number
        rest = np.flatnonzero(~out)
        power_w = solve(shares[rest], np.empty((len(rest), 0)), value_w[rest], np.full(len(rest), 100.0), prior).power_w
        residual = value_w[out] - shares[out] @ power_w
        # Warming between the parts is no fault of the clock.
        square = (residual - residual.mean()) ** 2
        left[number] = float(np.mean(np.minimum(square, _MOST * float(np.median(square)))))
    return left
