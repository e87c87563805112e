"""The clock of a sensor that refreshes faster than it is polled.

Nearly every reading is then fresh, no two of them bracket a tick, and a reading's age can be anything up to a period:

    ticks    | | | | | | | | | | | | | | | |
    polls      x         x         x              each shows the tick before it

But the age tells in the value. With powers from a first fit that leaves ages open, each reading gets a likelihood for
every age; over readings these agree on a period and phase, which is followed through the recording. Then

1. the likelihoods' first harmonic, summed over blocks, makes a line in a periodogram at the clock's rate,
2. its phase in each block, unwrapped and smoothed, gives the ticks,
3. ticks and the delay behind them can still be shifted together; which reading belongs to which tick says by how much.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgewatt.mapping.clock_curve import curve_basis, piece_counts
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fresh_values import FreshValues
from edgewatt.mapping.response import Response
from edgewatt.mapping.sensor_clock import SensorClock

_AGES = 32
_BLOCK_S = 0.5
#: Readings without which no clock is sought, and those that are enough to choose a period with.
_LEAST_READINGS = 200
_FEW = 6000
#: Most that the chip's clock is off (INA3221 data sheet: conversions take up to 10 % longer).
_MOST_CLOCK_ERROR = 0.11
#: A line stands out from the periodogram's median by this factor.
_LEAST_LINE = 6.0
#: A squared residual counts for no more than this many variances.
_MOST = 9.0
#: Conversion times in s and numbers of channels of the INA3221 (data sheet SBOS576), which convert shunt and bus.
_PERIODS_S = tuple(
    sorted({2 * c * t for c in (1, 2, 3) for t in (140e-6, 204e-6, 332e-6, 588e-6, 1100e-6, 2116e-6, 4156e-6)})
)


def candidate_periods(nominal_s: float | None, poll_s: float) -> Sequence[float]:
    """Periods that a clock may have which is too fast to be bracketed, shortest last."""
    if nominal_s is not None:
        return (nominal_s,)
    return [period for period in reversed(_PERIODS_S) if period < 1.2 * poll_s]


def line_strength(
    occupancy: Occupancy, readings: FreshValues, response: Response, power_w: NDArray[np.float64], period_s: float
) -> float:
    """How far a clock of about a period stands out in some of the readings; arguments as for `track_clock`."""
    time_s, value_w = _inside(occupancy, readings)
    some = slice(len(time_s) // 2 - _FEW // 2, None) if len(time_s) > _FEW else slice(None)
    time_s, value_w = time_s[some][:_FEW], value_w[some][:_FEW]
    if len(time_s) < _LEAST_READINGS:
        return 0.0
    sharp = Response(response.delay_s - 0.5 * period_s, response.length_s, response.lag_s)
    harmonic = _age_harmonic(occupancy, time_s, value_w, sharp, power_w, period_s)
    return _rate(time_s, harmonic, period_s)[1]


def _inside(occupancy: Occupancy, readings: FreshValues) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and values of the readings during the run, but for its beginning."""
    time_s = readings.tick_s
    inside = (time_s > occupancy.begin_s + 4 * readings.period_s) & (time_s < occupancy.finish_s)
    return time_s[inside], readings.power_w[inside]


def track_clock(
    occupancy: Occupancy, readings: FreshValues, response: Response, power_w: NDArray[np.float64], period_s: float
) -> SensorClock | None:
    """Find a fast clock.

    Args:
        occupancy: The timeline's segments.
        readings: All readings as if each was a tick.
        response: A first response, with ages uniform over a period as its blur.
        power_w: The segments' powers by it.
        period_s: About the clock's period.

    Returns:
        The clock; None where no period stands out.
    """
    time_s, value_w = _inside(occupancy, readings)
    if len(time_s) < _LEAST_READINGS:
        return None
    fixed_s = response.delay_s - 0.5 * period_s
    for _ in range(2):
        sharp = Response(fixed_s, response.length_s, response.lag_s)
        harmonic = _age_harmonic(occupancy, time_s, value_w, sharp, power_w, period_s)
        rate, strength = _rate(time_s, harmonic, period_s)
        if strength < _LEAST_LINE:
            return None
        # By now the period is known far better than before: take the ages again, over the whole of it.
        period_s = 1 / rate
    return _ticks(time_s, harmonic, rate, readings.tick_s)


def _age_harmonic(
    occupancy: Occupancy,
    time_s: NDArray[np.float64],
    value_w: NDArray[np.float64],
    response: Response,
    power_w: NDArray[np.float64],
    period_s: float,
) -> NDArray[np.complex128]:
    """First harmonic of each reading's log-likelihood over its age."""
    ages = (np.arange(_AGES) + 0.5) / _AGES * period_s
    residual = np.empty((_AGES, len(time_s)))
    for row, age in zip(residual, ages, strict=True):
        row[:] = value_w - occupancy.shares(time_s - age, response).segments @ power_w
    # What remains at the best age is noise, and what the ages add is no part of it.
    variance = float(np.median(np.min(residual**2, axis=0))) + 0.05 * float(np.median(residual**2)) + 1e-12
    likelihood = -0.5 * np.minimum(residual**2 / variance, _MOST)
    turns = np.exp(-2j * np.pi * ages / period_s)
    return np.asarray(turns @ (likelihood - likelihood.mean(axis=0)) / _AGES)


def _rate(time_s: NDArray[np.float64], harmonic: NDArray[np.complex128], period_s: float) -> tuple[float, float]:
    """The clock's rate, the frequency at which the harmonics of a block add up; and how its line stands out."""
    around = 1 / period_s
    step_s = 1 / (4 * _MOST_CLOCK_ERROR * around)
    since = time_s - time_s[0]
    size = 1 << int(np.ceil(np.log2(_BLOCK_S / step_s)))
    position = (since / step_s).astype(np.int64)
    blocks = int(position[-1] // size) + 1
    # Ages that suit all readings alike say nothing of the clock, but would make a line at the rate of the polls.
    turned = (harmonic - harmonic.mean()) * np.exp(2j * np.pi * around * since)
    flat = np.bincount(position, turned.real, blocks * size) + 1j * np.bincount(position, turned.imag, blocks * size)
    power = np.sum(np.abs(np.fft.fft(flat.reshape(blocks, size), 8 * size)) ** 2, axis=0)
    # The transform turns back what the clock turns on.
    offset = -np.fft.fftfreq(8 * size, step_s)
    power = np.where(np.abs(offset) <= _MOST_CLOCK_ERROR * around, power, 0.0)
    peak = int(np.argmax(power))
    seen = power[power > 0]
    return float(around + offset[peak]), float(power[peak] / np.median(seen)) if seen.size else 0.0


def _ticks(
    time_s: NDArray[np.float64], harmonic: NDArray[np.complex128], rate: float, log_s: NDArray[np.float64]
) -> SensorClock:
    """Follow the clock's phase and place its ticks."""
    origin = float(time_s[0])
    since = time_s - origin
    blocks = max(2, int(since[-1] / _BLOCK_S))
    block = np.minimum((since / since[-1] * blocks).astype(np.int64), blocks - 1)
    turned = harmonic * np.exp(2j * np.pi * rate * since)
    vector = np.bincount(block, turned.real, blocks) + 1j * np.bincount(block, turned.imag, blocks)
    strength = np.abs(vector)
    filled = np.flatnonzero(strength > 0)
    steps = vector[filled[1:]] * np.conj(vector[filled[:-1]])
    each = float(np.angle(steps.sum()))
    angle = np.unwrap(np.angle(vector[filled] * np.exp(-1j * each * filled))) + each * filled
    x = (filled + 0.5) / blocks
    weight = strength[filled] / strength.max()
    best: tuple[float, int, NDArray[np.float64], float] | None = None
    for pieces in piece_counts(10 * len(filled), float(since[-1])):
        basis = curve_basis(x, pieces)
        root = np.sqrt(weight)
        curve = np.linalg.lstsq(basis * root[:, None], angle * root, rcond=None)[0]
        spread = float(np.average((angle - basis @ curve) ** 2, weights=weight)) + 1e-12
        criterion = len(filled) * np.log(spread) + basis.shape[1] * np.log(len(filled))
        if best is None or criterion < best[0]:
            best = (criterion, pieces, curve, spread)
    assert best is not None
    _, pieces, curve, spread = best

    def phase(at_s: NDArray[np.float64]) -> NDArray[np.float64]:
        turns: NDArray[np.float64] = curve_basis(np.clip((at_s - origin) / since[-1], 0, 1), pieces) @ curve
        return turns / (2 * np.pi)

    numbers = np.arange(np.floor((log_s[0] - origin) * rate), np.ceil((log_s[-1] - origin) * rate) + 1)
    tick_s = origin + numbers / rate
    for _ in range(3):
        tick_s = origin + (numbers + phase(tick_s)) / rate
    tick_s = tick_s[(tick_s > log_s[0]) & (tick_s <= log_s[-1])]
    periods = np.diff(tick_s)
    error = float(np.sqrt(spread * len(curve) / len(filled))) / (2 * np.pi * rate)
    drift = float(np.abs(periods / periods.mean() - 1).max())
    return SensorClock(tick_s, float(periods.mean()), drift, error, 0.0, len(time_s))


def best_shift(
    occupancy: Occupancy,
    clock: SensorClock,
    readings: FreshValues,
    response: Response,
    power_w: NDArray[np.float64],
) -> float:
    """How far ticks and delay should be shifted together, in s.

    A reading shortly behind a tick shows that tick or, if the ticks are really later, the one before. Sorted by their
    time since the tick, the readings' residuals with either say where the border lies.
    """
    time_s, value_w = _inside(occupancy, readings)
    at = np.searchsorted(clock.tick_s, time_s, side="right") - 1
    good = (at >= 1) & (at + 1 < len(clock.tick_s))
    time_s, value_w, at = time_s[good], value_w[good], at[good]
    costs = []
    for tick in (clock.tick_s[at - 1], clock.tick_s[at], clock.tick_s[at + 1]):
        residual = value_w - occupancy.shares(tick, response).segments @ power_w
        costs.append(residual**2)
    variance = float(np.median(costs[1])) / 0.455 + 1e-12
    earlier, own, later = (np.minimum(cost / variance, _MOST) for cost in costs)
    age = time_s - clock.tick_s[at]
    order = np.argsort(age)
    age, gained_early, gained_late = age[order], (earlier - own)[order], (later - own)[order]
    # Ticks later by c: all readings younger than c belong to the tick before. Earlier by c: those within c of the next.
    forward = np.cumsum(gained_early)
    backward = np.cumsum(gained_late[::-1])
    first, second = int(np.argmin(forward)), int(np.argmin(backward))
    if min(forward[first], backward[second]) >= 0:
        return 0.0
    if forward[first] <= backward[second]:
        return float(age[first])
    return -float(clock.period_s - age[::-1][second])
