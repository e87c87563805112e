"""Finding the response that explains a recording best.

For each delay, length and lag the regression gives the best powers; what it leaves unexplained is minimised over them
(variable projection: Golub and Pereyra, Inverse Problems 19, 2003), in turn with the noise and the layers' prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgewatt.mapping.descent import Weighted, descend
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fresh_values import FreshValues
from edgewatt.mapping.known_sensor import KnownSensor
from edgewatt.mapping.layer_prior import learned_prior
from edgewatt.mapping.noise import Noise, estimate_noise, robust_weights
from edgewatt.mapping.pause_search import find_pause
from edgewatt.mapping.response import Response
from edgewatt.mapping.response_starts import first_response
from edgewatt.mapping.solve import (
    Prior,
    Solution,
    drift_basis,
    drift_columns,
    effective_parameters,
    posterior,
    solve,
)
from edgewatt.mapping.value_model import ValueModel

#: Values that are enough to find weights with.
_MANY = 8000
_ROUNDS = 4
#: The round in which it is decided whether there are a lag and a pause.
_DECIDED = 1
#: Relative change of the parameters at which a descent ends: some 20 ns.
_TOLERANCE = 2e-5
#: A lag is believed from this fall of the weighted sum of squares.
_LAG_CHI_SQUARE = 10.0


@dataclass(frozen=True)
class Fit:
    """A recording explained.

    Attributes:
        occupancy: The segments that it is of.
        spacing_s: Pause before each layer, in which the profiler measured nothing.
        response: The response.
        solution: The regression with it.
        noise: The noise of the values.
        rows: Ticks whose values were used, as indices.
        value_w: Their values.
        shares: Their shares.
        drift: Their columns of the drift.
        weight: Their weights.
        response_names: Fields of the response that are uncertain.
        jacobian: Change of each value by each of them in W/s, shape (values, fields).
    """

    occupancy: Occupancy
    spacing_s: float
    response: Response
    solution: Solution
    noise: Noise
    rows: NDArray[np.intp]
    value_w: NDArray[np.float64]
    shares: NDArray[np.float64]
    drift: NDArray[np.float64]
    weight: NDArray[np.float64]
    response_names: tuple[str, ...]
    jacobian: NDArray[np.float64]


class ResponseFit:
    """One recording's fit; build it and call `run`.

    Args:
        occupancy: The timeline's segments.
        fresh: The sensor's values.
        known: What is known of the sensor.
        prior: Of the segments' powers.
        step_w: Smallest step of the values.
        progress: Called with what is done next.
        respace: Gives the segments with a pause in s before each layer; None where the layers' times are certain.
        blur_scale: The blur, as a share of what the timing's spread says.
    """

    def __init__(
        self,
        occupancy: Occupancy,
        fresh: FreshValues,
        known: KnownSensor,
        prior: Prior,
        step_w: float,
        progress: Callable[[str], None] | None = None,
        respace: Callable[[float], Occupancy] | None = None,
        blur_scale: float = 1.0,
    ) -> None:
        self._model = ValueModel(occupancy, fresh)
        self._known, self._prior = known, prior
        self._step_w, self._respace, self._blur_scale = step_w, respace, blur_scale
        self._progress = progress or (lambda _: None)
        self._pause_s = 0.0

    def run(self) -> tuple[Fit, Prior]:
        """Fit response, powers and noise together; with the prior that was learned on the way."""
        response, _ = first_response(self._model, self._prior, self._known, self._step_w)
        return self.run_from(response)

    def run_from(self, response: Response) -> tuple[Fit, Prior]:
        """The same from a response that is about right."""
        return self._refine(response), self._prior

    def rough(self, start: Response | None = None, *, long_lag: bool = False) -> tuple[Response, Solution]:
        """A first response, of a few of the values alone, and the regression with it.

        Args:
            start: Where to begin; None for a search.
            long_lag: Whether the lag may be many times as long as a conversion.
        """
        response, few = first_response(
            self._model, self._prior, self._known, self._step_w, start=start, long_lag=long_lag
        )
        fresh = self._model.fresh
        weight = np.full(len(few), self._step_w**-2)
        basis = drift_basis(fresh.tick_s[few])
        return response, solve(self._model.shares(response, few), basis, fresh.power_w[few], weight, self._prior)

    def _refine(self, response: Response) -> Fit:
        """Alternate between the response, the powers and the noise on all values."""
        rows = self._model.rows(response.samples)
        value_w, tick_s = self._model.fresh.power_w[rows], self._model.fresh.tick_s[rows]
        basis = drift_basis(tick_s)
        values = Weighted(rows, np.full(len(rows), 1.0 / max(self._step_w**2, 1e-6)))
        with_lag = True
        for number in range(_ROUNDS):
            self._progress(f"response, round {number + 1} of {_ROUNDS}")
            # Early rounds find weights, for which a part of many values is enough.
            early = number <= _DECIDED and response.samples == 1
            some = values.part(max(1, len(rows) // _MANY) if early else 1)
            cost, response = self._descend(some, response, with_lag=with_lag)
            if number == _DECIDED:
                plain, without = self._descend(some, response, with_lag=False)
                if plain - cost < _LAG_CHI_SQUARE:
                    response, with_lag = without, False
                if self._respace is not None:
                    self._pause_s, self._model, response = find_pause(
                        self._model, self._respace, self._prior, some, response, with_lag=with_lag
                    )
            shares = self._model.shares(response, rows)
            drift = drift_columns(basis, values.level_w)
            solution = solve(shares, drift, value_w, values.weight, self._prior)
            slope = self._model.slope(response, rows, solution.power_w)
            # Residuals are smaller than errors, by what was fitted to them.
            known = posterior(shares, drift, values.weight, self._prior)
            used = effective_parameters(known, self._prior) + drift.shape[1] + 2 + with_lag
            freedom = max(len(rows) - used, 0.1 * len(rows)) / len(rows)
            noise = estimate_noise(solution.residual_w / np.sqrt(freedom), slope, self._step_w / np.sqrt(12))
            weight = robust_weights(solution.residual_w, noise.variance(slope))
            values = Weighted(rows, weight, shares @ solution.power_w)
            known = posterior(shares, drift, weight, self._prior)
            layer_s = self._model.occupancy.time_s[: self._model.occupancy.layers]
            self._prior = learned_prior(solution.power_w, known, layer_s, self._prior)
            response = replace(response, blur_s=self._blur_scale * float(np.sqrt(12)) * noise.timing_s)
        return self._fit(values, response, noise, with_lag=with_lag)

    def _descend(self, values: Weighted, response: Response, *, with_lag: bool) -> tuple[float, Response]:
        return descend(self._model, self._prior, values, response, _TOLERANCE, with_lag=with_lag)

    def _fit(self, values: Weighted, response: Response, noise: Noise, *, with_lag: bool) -> Fit:
        rows = values.rows
        value_w = self._model.fresh.power_w[rows]
        shares = self._model.shares(response, rows)
        drift = drift_columns(drift_basis(self._model.fresh.tick_s[rows]), values.level_w)
        solution = solve(shares, drift, value_w, values.weight, self._prior)
        names = ("delay_s", "length_s", *("lag_s",) * with_lag, *("blur_s",) * (response.blur_s > 0))
        return Fit(
            occupancy=self._model.occupancy,
            spacing_s=self._pause_s,
            response=response,
            solution=solution,
            noise=noise,
            rows=rows,
            value_w=value_w,
            shares=shares,
            drift=drift,
            weight=values.weight,
            response_names=names,
            jacobian=self._model.jacobian(response, rows, solution.power_w, names),
        )
