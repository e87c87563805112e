"""The clock of a sensor that refreshes faster than it is polled.

Nearly every reading is then fresh, no two of them bracket a tick, and a reading's age can be anything up to a period:

    ticks    | | | | | | | | | | | | | | | |
    polls      x         x         x              each shows the tick before it

But the age tells in the value. Once a span of the recording has given the period, the response and the powers (see
`fast_search`), each reading gets a likelihood for every age:

1. the phase of the likelihoods' first harmonic, summed over blocks, unwrapped and smoothed, gives the ticks,
2. ticks and the delay behind them can still be shifted together; which reading belongs to which tick says by how much.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgewatt.mapping.clock_curve import curve_basis, piece_counts
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fast_search import FoundClock, inside
from edgewatt.mapping.fit_response import Fit
from edgewatt.mapping.fresh_values import FreshValues
from edgewatt.mapping.response import Response
from edgewatt.mapping.sensor_clock import SensorClock

_AGES = 32
_BLOCK_S = 0.5
#: A squared residual counts for no more than this many variances.
_MOST = 9.0


def track_clock(occupancy: Occupancy, readings: FreshValues, found: FoundClock) -> SensorClock:
    """Follow a clock that was found in the middle of a recording through the whole of it.

    Args:
        occupancy: The timeline's segments.
        readings: All readings as if each was a tick.
        found: The clock.
    """
    time_s, value_w = inside(occupancy, readings)
    harmonic = _age_harmonic(occupancy, time_s, value_w, found.response, found.power_w, found.period_s)
    return _ticks(time_s, harmonic, 1 / found.period_s, readings.tick_s)


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


def corrected(clock: SensorClock, fit: Fit) -> tuple[SensorClock, Fit, float]:
    """Ticks moved along a smooth curve to where the fit's residuals are least, to first order.

    Args:
        clock: The clock.
        fit: The fit with its ticks.

    Returns:
        The moved clock, the fit with the curve's coefficients among the uncertain parameters, and the change of the
        blur in s that goes with them.
    """
    at_s = clock.tick_s[fit.rows]
    span_s = float(at_s[-1] - at_s[0])
    x = (at_s - at_s[0]) / span_s
    # A later tick is a smaller delay.
    slope = -fit.jacobian[:, fit.response_names.index("delay_s")]
    root = np.sqrt(fit.weight)
    # All that was fitted may move too; the response, like the ticks, in units of a microsecond.
    known = np.hstack((fit.shares, fit.drift, fit.jacobian * 1e-6)) * root[:, None]
    target = fit.solution.residual_w * root
    best: tuple[float, int, NDArray[np.float64]] | None = None
    for pieces in piece_counts(len(x), span_s):
        columns = (_centred(x, pieces) * slope[:, None]) * root[:, None]
        both = np.hstack((known, columns * 1e-6))
        information = both.T @ both
        information[np.diag_indices_from(information)] *= 1 + 1e-9
        coefficients = np.linalg.solve(information, both.T @ target)
        left = target - both @ coefficients
        criterion = float(left @ left) + columns.shape[1] * float(np.log(len(x)))
        if best is None or criterion < best[0]:
            best = (criterion, pieces, coefficients * 1e-6)
    assert best is not None
    _, pieces, changes_s = best
    moved_s = changes_s[known.shape[1] :]
    response_s = dict(zip(fit.response_names, changes_s[known.shape[1] - len(fit.response_names) :], strict=False))
    everywhere = np.clip((clock.tick_s - at_s[0]) / span_s, 0, 1)
    basis = _centred(everywhere, pieces, x)
    jacobian = np.hstack((fit.jacobian, _centred(x, pieces) * slope[:, None]))
    moved = replace(clock, tick_s=clock.tick_s + basis @ moved_s)
    return moved, replace(fit, jacobian=jacobian), float(response_s.get("blur_s", 0.0))


def _centred(x: NDArray[np.float64], pieces: int, over: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """A curve's basis without its constant, which is the delay's."""
    basis = curve_basis(x, pieces)[:, 1:]
    mean = basis.mean(axis=0) if over is None else curve_basis(over, pieces)[:, 1:].mean(axis=0)
    return np.asarray(basis - mean)


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
    time_s, value_w = inside(occupancy, readings)
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
