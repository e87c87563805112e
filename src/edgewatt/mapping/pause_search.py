"""Looking for a pause before each layer, in which the profiler measured nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from edgewatt.mapping.descent import Weighted, descend
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.response import Response
from edgewatt.mapping.solve import Prior
from edgewatt.mapping.value_model import ValueModel

#: Pauses that are tried, and the fall of the weighted sum of squares from which one is believed.
_PAUSES_S = (0.0, 1e-6, 2e-6, 4e-6, 7e-6)
_CHI_SQUARE = 25.0
_TOLERANCE = 1e-3


def find_pause(
    model: ValueModel,
    respace: Callable[[float], Occupancy],
    prior: Prior,
    values: Weighted,
    response: Response,
    *,
    with_lag: bool,
) -> tuple[float, ValueModel, Response]:
    """Find the pause.

    Args:
        model: The recording's regression without pauses.
        respace: Gives the segments with a pause in s before each layer.
        prior: Of the segments' powers.
        values: What is fitted.
        response: A response that is about right.
        with_lag: Whether there may be a lag.

    Returns:
        The pause in s, 0 for none; the regression with it, and the response.
    """

    def paused(pause_s: float, start: Response) -> tuple[float, ValueModel, Response]:
        changed = replace(model, occupancy=respace(pause_s))
        cost, found = descend(changed, prior, values, start, _TOLERANCE, with_lag=with_lag)
        return cost, changed, found

    tried = [paused(pause_s, response) for pause_s in _PAUSES_S]
    # The residual is about a parabola of the pause around its least.
    costs, pauses_s = np.array([one[0] for one in tried]), np.array(_PAUSES_S)
    least = int(np.argmin(costs))
    first = int(np.clip(least - 1, 0, len(pauses_s) - 3))
    bend, slope, _ = np.polyfit(pauses_s[first : first + 3] * 1e6, costs[first : first + 3], 2)
    pause_s = float(np.clip(-0.5e-6 * slope / bend, 0.0, pauses_s[-1])) if bend > 0 else float(pauses_s[least])
    cost, changed, found = paused(pause_s, tried[least][2])
    if tried[0][0] - cost < _CHI_SQUARE:
        return 0.0, model, response
    return pause_s, changed, found
