"""A first response, from few of a recording's values.

The residual has many minima, one for about every layer that a conversion can be shifted by: a grid of delays and
lengths finds where to start, and the best of several descents counts.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from edgewatt.mapping.descent import Weighted, descend
from edgewatt.mapping.known_sensor import KnownSensor
from edgewatt.mapping.response import Response
from edgewatt.mapping.solve import Prior, drift_basis, solve
from edgewatt.mapping.value_model import ValueModel

#: Lengths of a conversion tried first, as shares of the period: one of 1, 2 or 3 channels whose shunt and bus
#: conversions take the same time, and one that lasts the whole period.
_LENGTHS = (1 / 6, 1 / 4, 1 / 2, 1.0)
_GRID_STEP_S = 0.1e-3
_MOST_GRID_STEPS = 120
#: Lags tried first, as shares of the length. Long ones stand for a chip's average over conversions that the polls do
#: not tell apart.
_LAGS = (0.0, 0.1, 0.4)
_LONG_LAGS = (3.0, 20.0)
_LAGS_FROM_START = (0.3, 2.0)
#: How many of the grid's points are descended from, and on how many values the grid is tried.
_STARTS = 8
_GRID_VALUES = 1500
#: Values used to find a start.
_FEW = 4000
_TOLERANCE = 1e-3
#: Numbers of conversions that a chip averages over.
_SAMPLES = (1, 4, 16, 64, 128, 256, 512, 1024)


def first_response(
    model: ValueModel,
    prior: Prior,
    known: KnownSensor,
    step_w: float,
    *,
    start: Response | None = None,
    long_lag: bool = False,
) -> tuple[Response, NDArray[np.intp]]:
    """Find a response to refine.

    Args:
        model: The recording's regression.
        prior: Of the segments' powers.
        known: What is known of the sensor.
        step_w: Smallest step of the values.
        start: Where to begin; None for a search.
        long_lag: Whether the lag may be many times as long as a conversion.

    Returns:
        The response, and the rows that it was found on.

    Raises:
        EdgewattError: There are too few values.
    """
    few = _few(model)
    if start is None:
        lags = _LAGS + _LONG_LAGS * long_lag
        starts, samples = _grid(model, prior, known, step_w, few[:_GRID_VALUES], lags)
    else:
        lags_s = (start.lag_s,) if start.lag_s > 0 else tuple(lag * start.length_s for lag in _LAGS_FROM_START)
        starts, samples = [replace(start, lag_s=lag_s) for lag_s in (0.0, *lags_s)], start.samples
    if samples > 1:
        rows = model.rows(samples)
        few = rows[len(rows) // 2 :][:_FEW]
    values = Weighted(few, np.full(len(few), step_w**-2))
    found = [
        descend(model, prior, values, replace(one, samples=samples), _TOLERANCE, with_lag=one.lag_s > 0)
        for one in starts
    ]
    return min(found, key=lambda pair: pair[0])[1], few


def _few(model: ValueModel) -> NDArray[np.intp]:
    """Rows to start with: a run of neighbours from the middle, so that an average over several can be seen."""
    rows = model.rows(1)
    first = max(0, (len(rows) - _FEW) // 2)
    return rows[first : first + _FEW]


def _grid(
    model: ValueModel,
    prior: Prior,
    known: KnownSensor,
    step_w: float,
    rows: NDArray[np.intp],
    lags: tuple[float, ...],
) -> tuple[list[Response], int]:
    """The best points of a grid of delays, lengths and lags, and the number of samples that goes with them."""
    fresh = model.fresh
    value_w, period_s = fresh.power_w[rows], fresh.period_s
    extra = drift_basis(fresh.tick_s[rows])
    if known.samples is None:
        # With r[k] = (1 - 1/N) r[k - 1] + x[k] / N the value before tells N.
        mean_w = value_w.mean()
        before = np.maximum(rows - 1, 0)
        extra = np.column_stack((extra, np.where(fresh.seen[before], fresh.power_w[before], mean_w) - mean_w))
    samples = known.samples or 1
    lengths = _LENGTHS if known.length_s is None else (known.length_s / period_s,)
    steps = int(np.clip(period_s / _GRID_STEP_S, 12, _MOST_GRID_STEPS))
    weight = np.full(len(rows), step_w**-2)
    costs: list[tuple[float, Response, float]] = []
    for length, lag, delay in product(lengths, lags, np.linspace(-0.1 * period_s, period_s, steps)):
        response = Response(float(delay), length * period_s, lag * length * period_s, samples=samples)
        solution = solve(model.shares(response, rows), extra, value_w, weight, prior)
        kept = float(solution.drift[-1]) if known.samples is None else 0.0
        costs.append((float(np.sum(solution.residual_w**2)), response, kept))
    costs.sort(key=lambda cost: cost[0])
    if known.samples is None:
        keep = min(max(costs[0][2], 0.0), 0.9999)
        samples = min(_SAMPLES, key=lambda count: abs(np.log(count * (1 - keep))))
    return _apart([response for _, response, _ in costs], 2.5 * period_s / steps), samples


def _apart(responses: list[Response], delay_s: float) -> list[Response]:
    """The first of them that are apart from each other by a delay, or of other lengths or lags."""
    chosen: list[Response] = []
    for response in responses:
        alike = [other for other in chosen if (other.length_s, other.lag_s) == (response.length_s, response.lag_s)]
        if all(abs(response.delay_s - other.delay_s) > delay_s for other in alike):
            chosen.append(response)
        if len(chosen) == _STARTS:
            break
    return chosen
