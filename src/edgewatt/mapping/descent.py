"""Descending to the response that leaves the regression the least residual."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from edgewatt.mapping.response import Response
from edgewatt.mapping.solve import Prior, drift_basis, drift_columns, solve
from edgewatt.mapping.value_model import ValueModel

#: Parameters are fitted in units of 0.1 ms.
_UNIT_S = 1e-4
_MOST_STEPS = 40
#: Longest lag in s: an average over 16 conversions of 8.2 ms has one of 0.13 s and over more of them no layer is told.
_MOST_LAG_S = 0.2


@dataclass(frozen=True)
class Weighted:
    """Values of a regression.

    Attributes:
        rows: Ticks whose values are used, as indices.
        weight: Inverse variance of each value's noise in 1/W².
        level_w: A fit's levels, to which drift may be in proportion; None for none.
    """

    rows: NDArray[np.intp]
    weight: NDArray[np.float64]
    level_w: NDArray[np.float64] | None = None

    def part(self, every: int) -> Weighted:
        """Every so many of them."""
        some = slice(None, None, every)
        return Weighted(self.rows[some], self.weight[some], None if self.level_w is None else self.level_w[some])


def descend(
    model: ValueModel, prior: Prior, values: Weighted, start: Response, tolerance: float, *, with_lag: bool
) -> tuple[float, Response]:
    """Minimise the weighted residual over delay, length and lag.

    Args:
        model: The recording's regression.
        prior: Of the segments' powers.
        values: What is fitted.
        start: Where to begin; its other fields are kept.
        tolerance: Relative change of the parameters at which to end.
        with_lag: Whether there may be a lag.

    Returns:
        The weighted sum of squares, and the response.
    """
    value_w, period_s = model.fresh.power_w[values.rows], model.fresh.period_s
    drift = drift_columns(drift_basis(model.fresh.tick_s[values.rows]), values.level_w)
    root = np.sqrt(values.weight)

    def residual(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = model.shares(_response(parameters, start), values.rows)
        return root * solve(shares, drift, value_w, values.weight, prior).residual_w

    point = np.array([start.delay_s, start.length_s] + [start.lag_s] * with_lag) / _UNIT_S
    low = np.array([-0.5 * period_s, 0.02 * period_s] + [0.0] * with_lag) / _UNIT_S
    high = np.array([1.5 * period_s, 1.5 * period_s] + [_MOST_LAG_S] * with_lag) / _UNIT_S
    margin = 1e-6 * (high - low)
    found = least_squares(
        residual,
        np.clip(point, low + margin, high - margin),
        bounds=(low, high),
        diff_step=1e-3,
        xtol=tolerance,
        ftol=tolerance * 1e-2,
        max_nfev=_MOST_STEPS,
    )
    return 2 * float(found.cost), _response(found.x, start)


def _response(parameters: NDArray[np.float64], like: Response) -> Response:
    delay_s, length_s = float(parameters[0]) * _UNIT_S, float(parameters[1]) * _UNIT_S
    lag_s = float(parameters[2]) * _UNIT_S if len(parameters) > 2 else 0.0
    return replace(like, delay_s=delay_s, length_s=length_s, lag_s=lag_s)
