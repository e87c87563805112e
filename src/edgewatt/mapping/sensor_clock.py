"""When the sensor showed fresh values: a periodic clock seen through polls that bracket its ticks.

    ticks      |            |            |            |         period, with a slow drift
    polls    x   x   x   x   x   x   x   x   x   x   x   x
    changed  .   .   .   .   !   .   .   !   .   .   !          a tick lies between the last old and the first new

One bracket is as wide as a polling interval. Thousands of them, around one smooth curve of ticks against their
numbers, leave it room of a few microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from edgewatt.mapping.clock_curve import curve_basis, extended, piece_counts

#: Ticks are searched with periods from this many polling intervals: faster ones cannot be bracketed.
_LEAST_PERIOD_POLLS = 1.1
_MOST_PERIOD_S = 1.0
#: Time over which the clock is taken as steady in the search; it doubles until it holds enough ticks.
_BLOCK_S = 4.0
_BLOCK_TICKS = 64
_CANDIDATES = 6


@dataclass(frozen=True)
class SensorClock:
    """Ticks of the sensor, at which fresh values appear in the log.

    Attributes:
        tick_s: Time of each tick, shape (ticks,).
        period_s: Mean period.
        drift: Largest relative deviation of the period from its mean.
        uncertainty_s: Standard error of a tick's time.
        softness_s: How blurred the brackets are: jitter of the reader's own stamps.
        brackets: Number of brackets behind it.
    """

    tick_s: NDArray[np.float64]
    period_s: float
    drift: float
    uncertainty_s: float
    softness_s: float
    brackets: int


@dataclass(frozen=True)
class _Brackets:
    """Pairs of neighbouring readings that differ: a tick lies between them."""

    old_s: NDArray[np.float64]
    new_s: NDArray[np.float64]

    @property
    def middle_s(self) -> NDArray[np.float64]:
        return 0.5 * (self.old_s + self.new_s)


def find_sensor_clock(
    times_s: NDArray[np.float64], values: NDArray[np.float64], nominal_period_s: float | None = None
) -> SensorClock | None:
    """Find the sensor's clock.

    Args:
        times_s: Times of the readings, ascending, shape (readings,).
        values: What was read: changes are fresh values.
        nominal_period_s: Period by the sensor's settings, which may be off by a tenth; None where unknown.

    Returns:
        The clock; None where the sensor is polled more slowly than it refreshes, or shows no periodicity.
    """
    changed = values[1:] != values[:-1]
    if np.count_nonzero(changed) < 16:
        return None
    poll_s = float(np.median(np.diff(times_s)))
    brackets = _Brackets(times_s[:-1][changed], times_s[1:][changed])
    narrow = brackets.new_s - brackets.old_s < 4 * poll_s
    brackets = _Brackets(brackets.old_s[narrow], brackets.new_s[narrow])
    best: tuple[float, SensorClock] | None = None
    for period_s in _candidate_periods(times_s, changed, poll_s, nominal_period_s):
        fitted = _fit_clock(brackets, period_s, times_s)
        if fitted is not None and (best is None or fitted[0] > best[0]):
            best = fitted
    return None if best is None else best[1]


def _candidate_periods(
    times_s: NDArray[np.float64], changed: NDArray[np.bool_], poll_s: float, nominal_s: float | None
) -> list[float]:
    """Periods with which changes come and stay away, best first.

    The indicator of a change is a box of the clock's phase, as wide as a polling interval. Its first harmonic makes a
    line in the periodogram, averaged over blocks in which drift cannot smear it. The box's mean is taken out.
    """
    middle = 0.5 * (times_s[1:] + times_s[:-1])
    lowest_s = _LEAST_PERIOD_POLLS * poll_s
    if nominal_s is not None and nominal_s * 1.1 < lowest_s:
        return []
    longest_s = min(_MOST_PERIOD_S, float(np.ptp(middle)) / 8)
    step_s = poll_s / 8
    block = 1 << int(np.ceil(np.log2(_BLOCK_S / step_s)))
    signal = changed - changed.mean()
    position = ((middle - middle[0]) / step_s).astype(np.int64)
    blocks = int(position[-1] // block) + 1
    grid = np.bincount(position, weights=signal, minlength=blocks * block)[: blocks * block].reshape(blocks, block)
    padded = 8 * block
    power = np.zeros(padded // 2 + 1)
    for row in grid:
        power += np.abs(np.fft.rfft(row, padded)) ** 2
    frequency = np.fft.rfftfreq(padded, step_s)
    wanted = (frequency <= 1 / lowest_s) & (frequency >= 1 / longest_s)
    if nominal_s is not None:
        wanted &= np.abs(frequency * nominal_s - 1) < 0.15
    power = np.where(wanted, power, 0.0)
    found: list[float] = []
    noise = float(np.median(power[wanted])) if wanted.any() else 0.0
    for _ in range(_CANDIDATES):
        peak = int(np.argmax(power))
        if power[peak] <= 20 * noise or power[peak] == 0:
            break
        found.append(1 / float(frequency[peak]))
        power[max(0, peak - 32) : peak + 33] = 0.0
    return found


def _fit_clock(brackets: _Brackets, period_s: float, times_s: NDArray[np.float64]) -> tuple[float, SensorClock] | None:
    """Fit ticks to brackets, from a period that is right within a block's resolution.

    Returns:
        The log-likelihood, and the clock; None where the brackets do not follow the period.
    """
    phase = _track_phase(brackets.middle_s, period_s)
    if phase is None:
        return None
    number = np.rint((brackets.middle_s - phase) / period_s)
    # A first straight line per tick, then a spline whose residual from it is fitted by likelihood.
    scale = float(number[-1] - number[0])
    if scale < 16:
        return None
    x = (number - number[0]) / scale
    width = float(np.median(brackets.new_s - brackets.old_s))
    start_s, end_s = brackets.old_s, brackets.new_s
    best: tuple[float, int, NDArray[np.float64], float, float] | None = None
    span_s = float(brackets.middle_s[-1] - brackets.middle_s[0])
    for pieces in piece_counts(len(x), span_s):
        basis = curve_basis(x, pieces)
        coefficients, softness, loglik, error = _maximise(basis, start_s, end_s, width)
        criterion = loglik - 0.5 * basis.shape[1] * np.log(len(x))
        if best is None or criterion > best[0]:
            best = (criterion, pieces, coefficients, softness, error)
    assert best is not None
    criterion, pieces, coefficients, softness, error = best
    first = int(np.floor((times_s[0] - brackets.middle_s[0]) / period_s)) - 1
    last = int(np.ceil((times_s[-1] - brackets.middle_s[0]) / period_s)) + 1
    ticks = np.arange(first, last + 1) / scale
    tick_s = extended(ticks, pieces, coefficients)
    inside = (tick_s > times_s[0]) & (tick_s <= times_s[-1])
    tick_s = tick_s[inside]
    criterion += _occupancy(len(tick_s), len(x))
    periods = np.diff(tick_s)
    mean = float(periods.mean())
    return criterion, SensorClock(
        tick_s=tick_s,
        period_s=mean,
        drift=float(np.abs(periods / mean - 1).max()),
        uncertainty_s=error,
        softness_s=softness,
        brackets=len(x),
    )


def _occupancy(ticks: int, changes: int) -> float:
    """Log-likelihood of how many ticks brought a change: a clock of twice the rate leaves half of them without."""
    share = min(max(changes / ticks, 1e-6), 1 - 1e-6)
    return ticks * float(share * np.log(share) + (1 - share) * np.log1p(-share))


def _track_phase(middle_s: NDArray[np.float64], period_s: float) -> NDArray[np.float64] | None:
    """Time of a tick near each bracket: phase of the brackets' middles, followed from block to block."""
    block_s = max(2.0, _BLOCK_TICKS * period_s)
    origin = middle_s[0]
    blocks = max(1, int((middle_s[-1] - origin) / block_s))
    block = np.minimum(((middle_s - origin) / block_s).astype(np.int64), blocks - 1)
    turn = np.exp(2j * np.pi * (middle_s - origin) / period_s)
    count = np.bincount(block, minlength=blocks)
    vector = np.bincount(block, turn.real, blocks) + 1j * np.bincount(block, turn.imag, blocks)
    clear = np.abs(vector) / np.maximum(count, 1)
    if float(np.median(clear)) < 0.1:
        return None
    # The period is only known to a block's resolution: take the mean turn from block to block out before unwrapping.
    filled = np.flatnonzero(count > 0)
    steps = vector[filled[1:]] * np.conj(vector[filled[:-1]])
    turn_by_block = float(np.angle(steps.sum())) if steps.size else 0.0
    angles = np.angle(vector[filled] * np.exp(-1j * turn_by_block * filled))
    unwrapped = np.unwrap(angles) + turn_by_block * filled
    centre = np.bincount(block, middle_s - origin, blocks)[filled] / count[filled]
    shift: NDArray[np.float64]
    if len(filled) > 1:
        slope = (unwrapped[-1] - unwrapped[0]) / (centre[-1] - centre[0])
        rest = unwrapped - slope * centre
        shift = np.interp(middle_s - origin, centre, rest) + slope * (middle_s - origin)
    else:
        shift = np.full(len(middle_s), unwrapped[0])
    near: NDArray[np.float64] = origin + shift / (2 * np.pi) * period_s
    return near


def _maximise(
    basis: NDArray[np.float64], old_s: NDArray[np.float64], new_s: NDArray[np.float64], width_s: float
) -> tuple[NDArray[np.float64], float, float, float]:
    """Most likely ticks that lie in brackets whose ends are blurred by a logistic distribution.

    Returns:
        Coefficients, the blur's scale in s, the log-likelihood, and the root mean square error of a tick in s.
    """
    coefficients = np.asarray(np.linalg.lstsq(basis, 0.5 * (old_s + new_s), rcond=None)[0], dtype=np.float64)
    best: tuple[float, NDArray[np.float64], float] | None = None
    for softness in width_s * np.array([0.3, 0.1, 0.03, 0.01, 0.003, 0.001]):
        coefficients, loglik = _newton(basis, old_s, new_s, coefficients, float(softness))
        if best is not None and loglik < best[0]:
            break
        best = (loglik, coefficients, float(softness))
    assert best is not None
    loglik, coefficients, softness = best
    _, curvature = _slopes(basis @ coefficients, old_s, new_s, softness)
    information = basis.T @ (basis * np.maximum(curvature, 0)[:, None])
    covariance = np.linalg.pinv(information, hermitian=True)
    error = float(np.sqrt(np.mean(np.einsum("ij,jk,ik->i", basis, covariance, basis))))
    return coefficients, softness, loglik, error


def _log_likelihood(
    tick: NDArray[np.float64], old: NDArray[np.float64], new: NDArray[np.float64], soft: float
) -> float:
    # log of P(old < tick < new) = expit((tick - old) / soft) x expit((new - tick) / soft), up to a constant
    return float(np.sum(log_expit((tick - old) / soft) + log_expit((new - tick) / soft)))


def _slopes(
    tick: NDArray[np.float64], old: NDArray[np.float64], new: NDArray[np.float64], soft: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """First derivative of the log-likelihood by each tick, and the negative second."""
    below, above = expit(-(tick - old) / soft), expit(-(new - tick) / soft)
    return (below - above) / soft, (below * (1 - below) + above * (1 - above)) / soft**2


def _newton(
    basis: NDArray[np.float64],
    old_s: NDArray[np.float64],
    new_s: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    softness_s: float,
) -> tuple[NDArray[np.float64], float]:
    """Damped Newton steps on a concave likelihood."""
    current = _log_likelihood(basis @ coefficients, old_s, new_s, softness_s)
    for _ in range(50):
        slope, curvature = _slopes(basis @ coefficients, old_s, new_s, softness_s)
        information = basis.T @ (basis * curvature[:, None])
        information[np.diag_indices_from(information)] += 1e-9 * np.trace(information) + 1e-12
        step = np.linalg.solve(information, basis.T @ slope)
        size = 1.0
        while size > 1e-4:
            trial = coefficients + size * step
            value = _log_likelihood(basis @ trial, old_s, new_s, softness_s)
            if value >= current:
                break
            size /= 2
        else:
            break
        gained = value - current
        coefficients, current = trial, value
        if gained < 1e-4:
            break
    return coefficients, current
