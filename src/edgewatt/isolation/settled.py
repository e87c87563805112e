"""Which readings of a loop or of a pause count: those after power has settled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.power_log import PowerLog

#: Nothing settles sooner: clocks, caches and a sensor's next value.
_LEAST_SETTLING_S = 0.1
#: Time constants after which an average has come to within a four-hundredth of a step.
_TIME_CONSTANTS = 6.0
#: Power is looked at in blocks of this length, and has settled where a block differs from the later ones by less than
#: this share, or this many standard deviations of their noise. Chosen: a hundredth is what the method is to be good to.
_BLOCK_S, _BLOCKS_AT_LEAST = 0.1, 4
_SHARE, _DEVIATIONS = 0.01, 4.0


@dataclass(frozen=True)
class SettledPower:
    """Power once it has settled.

    Attributes:
        start_us: When it had.
        mean_w: Mean power since then in W.
        spread_w: Standard deviation of the means of its blocks.
        values: Values of the sensor behind it.
        is_settled: Whether it had settled by the middle of the time.
    """

    start_us: float
    mean_w: float
    spread_w: float
    values: int
    is_settled: bool


def settling_s(averaging_s: float, value_every_s: float | None) -> float:
    """How long readings are left out, whatever they show.

    Args:
        averaging_s: Time constant of the sensor's average.
        value_every_s: Time from one of its values to the next, where it is known.
    """
    return max(_LEAST_SETTLING_S, _TIME_CONSTANTS * averaging_s + 2 * (value_every_s or 0.0))


def settled_power(
    log: PowerLog, start_us: float, end_us: float, *, averaging_s: float = 0.0, value_every_s: float | None = None
) -> SettledPower | None:
    """The settled part of a time in which one thing, or nothing, ran.

    Args:
        log: What the sensor showed.
        start_us: When that began, in microseconds since 1970.
        end_us: When it ended.
        averaging_s: As for `settling_s`.
        value_every_s: As for `settling_s`.

    Returns:
        The settled part; None where there are fewer than two readings in it.
    """
    first_us = start_us + settling_s(averaging_s, value_every_s) * 1e6
    begin, end = np.searchsorted(log.times_us, [first_us, end_us])
    if end - begin < 2:
        return None
    times_us, power_w = log.times_us[begin:end].astype(np.float64), log.power_uw[begin:end] / 1e6
    edges = _block_edges(first_us, end_us)
    means = _block_means(times_us, power_w, edges)
    from_block = _first_settled(means)
    kept = times_us >= edges[from_block]
    late = means[from_block:][np.isfinite(means[from_block:])]
    changed = int(np.count_nonzero(np.diff(power_w[kept])))
    converted = 0 if value_every_s is None else int((end_us - edges[from_block]) / 1e6 / value_every_s)
    return SettledPower(
        start_us=float(edges[from_block]),
        mean_w=float(power_w[kept].mean()),
        spread_w=float(late.std()),
        values=max(changed, converted),
        is_settled=bool(from_block <= len(means) // 2),
    )


def _block_edges(first_us: float, end_us: float) -> NDArray[np.float64]:
    count = max(_BLOCKS_AT_LEAST, int((end_us - first_us) / 1e6 / _BLOCK_S))
    return np.linspace(first_us, end_us, count + 1)


def _block_means(
    times_us: NDArray[np.float64], power_w: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean power of each block; NaN for one without readings."""
    block = np.clip(np.searchsorted(edges, times_us, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(block, minlength=len(edges) - 1)
    sums = np.bincount(block, weights=power_w, minlength=len(edges) - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: NDArray[np.float64] = sums / counts
    return means


def _first_settled(means: NDArray[np.float64]) -> int:
    """The block from which on all are like those of the last half."""
    late = means[len(means) // 2 :]
    late = late[np.isfinite(late)]
    if len(late) < 2:
        return 0
    # From neighbours, so that a trend does not pass for noise.
    middle, deviation = float(late.mean()), float(np.sqrt(np.mean(np.diff(late) ** 2) / 2))
    limit = max(_SHARE * abs(middle), _DEVIATIONS * deviation)
    unlike = np.flatnonzero(np.abs(means - middle) > limit)
    return min(int(unlike[-1]) + 1, len(means) - 1) if len(unlike) else 0
