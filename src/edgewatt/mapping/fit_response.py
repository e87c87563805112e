"""Finding the response that explains a recording best.

For each delay, length and lag the regression gives the best powers; what it leaves unexplained is minimised over them
(variable projection: Golub and Pereyra, Inverse Problems 19, 2003). The residual has many minima, one for about every
layer that a conversion can be shifted by: a grid finds where to start, and the best of several descents counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from edgewatt.errors import EdgewattError
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fresh_values import FreshValues
from edgewatt.mapping.known_sensor import KnownSensor
from edgewatt.mapping.noise import Noise, estimate_noise, robust_weights
from edgewatt.mapping.response import Response
from edgewatt.mapping.solve import (
    Prior,
    Solution,
    drift_basis,
    drift_columns,
    effective_parameters,
    learned_prior,
    posterior,
    solve,
)

#: Lengths of a conversion tried first, as shares of the period: one of 1, 2 or 3 channels whose shunt and bus
#: conversions take the same time, and one that lasts the whole period.
_LENGTHS = (1 / 6, 1 / 4, 1 / 2, 1.0)
_GRID_STEP_S = 0.1e-3
_MOST_GRID_STEPS = 120
_STARTS = 4
#: Lags tried first, as shares of the length, and from how many of the starts.
_LAG_STARTS = (0.05, 0.3)
_LAGGED = 2
#: Fresh values without which nothing can be said.
_LEAST_VALUES = 12
#: Values used to find a start.
_FEW = 4000
#: Values that are enough to find weights with.
_MANY = 8000
_ROUNDS = 4
#: Relative change of the parameters at which a descent ends: some 20 ns.
_TOLERANCE = 2e-5
#: A lag is believed from this fall of the weighted sum of squares.
_LAG_CHI_SQUARE = 10.0
#: Parameters are fitted in units of 0.1 ms.
_UNIT_S = 1e-4
#: Pauses before each layer that are tried, and the fall of the sum of squares from which one is believed.
_SPACINGS_S = (0.0, 1e-6, 2e-6, 4e-6, 7e-6)
_SPACING_CHI_SQUARE = 25.0
_SAMPLES = (1, 4, 16, 64, 128, 256, 512, 1024)


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
        slope_w_per_s: Their slopes.
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
    slope_w_per_s: NDArray[np.float64]
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
        self._respace = respace
        self._occupancy, self._fresh, self._known, self._prior = occupancy, fresh, known, prior
        self._step_w, self._progress = step_w, progress
        self._blur_scale = blur_scale
        self._age_s = 0.0
        self._spacing_s = 0.0

    def run(self, age_s: float = 0.0) -> tuple[Fit, Prior]:
        """Fit response, powers and noise together; with the prior that was learned on the way.

        Args:
            age_s: Width of the unknown ages of the values; 0 where ticks are known.
        """
        self._age_s = age_s
        few = self._few()
        starts, samples = self._starts(few)
        rows = self._rows(samples)
        few = few if samples == 1 else rows[len(rows) // 2 :][:_FEW]
        response = self._best_descent(starts, samples, few)
        return self._refine(response, rows), self._prior

    def run_from(self, response: Response) -> tuple[Fit, Prior]:
        """The same from a response that is about right."""
        return self._refine(response, self._rows(response.samples)), self._prior

    def rough(self, start: Response | None = None) -> tuple[Response, Solution]:
        """A first response, of a few of the values alone, and the regression with it.

        Args:
            start: Where to begin; None for a search.
        """
        few = self._few()
        starts, samples = ([start], start.samples) if start is not None else self._starts(few)
        response = self._best_descent(starts, samples, few)
        weight = np.full(len(few), self._step_w**-2)
        basis = drift_basis(self._fresh.tick_s[few])
        return response, solve(self._shares(response, few), basis, self._fresh.power_w[few], weight, self._prior)

    def _best_descent(self, starts: list[Response], samples: int, rows: NDArray[np.intp]) -> Response:
        weight = np.full(len(rows), self._step_w**-2)
        begun = [replace(start, samples=samples, blur_s=self._age_s) for start in starts]
        plain = [self._descend(start, rows, weight, None, 1e-3, with_lag=False) for start in begun]
        plain.sort(key=lambda pair: pair[0])
        lagged = [
            self._descend(replace(start, lag_s=lag * start.length_s), rows, weight, None, 1e-3)
            for _, start in plain[:_LAGGED]
            for lag in _LAG_STARTS
        ]
        return min(plain + lagged, key=lambda pair: pair[0])[1]

    def _few(self) -> NDArray[np.intp]:
        """Rows to start with: a run of neighbours from the middle, so that an average over several can be seen."""
        rows = self._rows(1)
        first = max(0, (len(rows) - _FEW) // 2)
        return rows[first : first + _FEW]

    def _rows(self, samples: int) -> NDArray[np.intp]:
        """Ticks whose value depends on recorded cycles alone, with any delay up to a period and its average's past."""
        past = (2.5 + 10 * (samples - 1)) * self._fresh.period_s
        past = min(past, 0.5 * (self._occupancy.finish_s - self._occupancy.begin_s))
        tick = self._fresh.tick_s
        inside = (tick > self._occupancy.begin_s + past) & (tick < self._occupancy.finish_s)
        rows = np.flatnonzero(inside & self._fresh.seen)
        if len(rows) < _LEAST_VALUES:
            raise EdgewattError(
                f"the power log holds {len(rows)} fresh values during the run, too few to tell layers from",
                fix="Record more cycles, set the sensor to shorter conversions, or use --method window",
            )
        return rows

    def _shares(self, response: Response, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        if response.samples == 1:
            return self._occupancy.shares(self._fresh.tick_s[rows], response).segments
        # All of the ticks before count too, as far as they can be felt.
        first = max(0, int(rows[0]) - 12 * response.samples)
        last = int(rows[-1]) + 1
        return self._occupancy.shares(self._fresh.tick_s[first:last], response).segments[rows - first]

    def _starts(self, rows: NDArray[np.intp]) -> tuple[list[Response], int]:
        """The best points of a grid of delays and lengths, and the number of samples that goes with them."""
        value, period = self._fresh.power_w[rows], self._fresh.period_s
        basis = drift_basis(self._fresh.tick_s[rows])
        # With r[k] = (1 - 1/N) r[k - 1] + x[k] / N the value before tells N.
        before = self._fresh.power_w[np.maximum(rows - 1, 0)]
        before = np.where(self._fresh.seen[np.maximum(rows - 1, 0)], before, value.mean())
        extra = np.column_stack((basis, before - value.mean())) if self._known.samples is None else basis
        filtered = self._known.samples or 1
        unit = self._age_s or period
        lengths = _LENGTHS if self._known.length_s is None else (self._known.length_s / unit,)
        steps = int(np.clip(period / _GRID_STEP_S, 12, _MOST_GRID_STEPS))
        weight = np.full(len(rows), self._step_w**-2)
        costs: list[tuple[float, Response, float]] = []
        for length in lengths:
            for delay in np.linspace(-0.1 * period, period, steps):
                response = Response(float(delay), length * unit, blur_s=self._age_s, samples=filtered)
                solution = solve(self._shares(response, rows), extra, value, weight, self._prior)
                kept = float(solution.drift[-1]) if self._known.samples is None else 0.0
                costs.append((float(np.sum(solution.residual_w**2)), response, kept))
        costs.sort(key=lambda cost: cost[0])
        samples = filtered
        if self._known.samples is None:
            keep = min(max(costs[0][2], 0.0), 0.9999)
            samples = min(_SAMPLES, key=lambda count: abs(np.log(count * (1 - keep))))
        chosen: list[Response] = []
        for _, response, _ in costs:
            apart = all(
                abs(response.delay_s - other.delay_s) > 2.5 * period / steps or response.length_s != other.length_s
                for other in chosen
            )
            if apart:
                chosen.append(response)
            if len(chosen) == _STARTS:
                break
        return chosen, samples

    def _descend(
        self,
        start: Response,
        rows: NDArray[np.intp],
        weight: NDArray[np.float64],
        level_w: NDArray[np.float64] | None,
        tolerance: float,
        *,
        with_lag: bool = True,
    ) -> tuple[float, Response]:
        """Minimise the weighted residual over delay, length and lag."""
        value, period = self._fresh.power_w[rows], self._fresh.period_s
        drift = drift_columns(drift_basis(self._fresh.tick_s[rows]), level_w)
        root = np.sqrt(weight)

        def residual(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
            response = self._response(parameters, start)
            return root * solve(self._shares(response, rows), drift, value, weight, self._prior).residual_w

        point = np.array([start.delay_s, start.length_s] + [start.lag_s] * with_lag) / _UNIT_S
        low = np.array([-0.5 * period, 0.02 * period] + [0.0] * with_lag) / _UNIT_S
        high = np.array([1.5 * period, 1.5 * period] + [2 * period] * with_lag) / _UNIT_S
        margin = 1e-6 * (high - low)
        point = np.clip(point, low + margin, high - margin)
        found = least_squares(
            residual, point, bounds=(low, high), diff_step=1e-3, xtol=tolerance, ftol=tolerance * 1e-2, max_nfev=40
        )
        return 2 * float(found.cost), self._response(found.x, start)

    @staticmethod
    def _response(parameters: NDArray[np.float64], like: Response) -> Response:
        delay, length = float(parameters[0]) * _UNIT_S, float(parameters[1]) * _UNIT_S
        lag = float(parameters[2]) * _UNIT_S if len(parameters) > 2 else 0.0
        return replace(like, delay_s=delay, length_s=length, lag_s=lag)

    def _refine(self, response: Response, rows: NDArray[np.intp]) -> Fit:
        """Alternate between the response, the powers and the noise on all values."""
        value = self._fresh.power_w[rows]
        tick = self._fresh.tick_s[rows]
        basis = drift_basis(tick)
        weight = np.full(len(rows), 1.0 / max(self._step_w**2, 1e-6))
        level: NDArray[np.float64] | None = None
        with_lag = True
        plain_rows = response.samples == 1
        used = 0.0
        for number in range(_ROUNDS):
            if self._progress is not None:
                self._progress(f"response, round {number + 1} of {_ROUNDS}")
            # Early rounds find weights, for which a part of many values is enough.
            part = slice(None, None, 1 if number >= 2 else max(1, len(rows) // _MANY)) if plain_rows else slice(None)
            some, weights, levels = rows[part], weight[part], None if level is None else level[part]
            cost, response = self._descend(response, some, weights, levels, _TOLERANCE, with_lag=with_lag)
            if with_lag and number == 1:
                plain, without = self._descend(response, some, weights, levels, _TOLERANCE, with_lag=False)
                if plain - cost < _LAG_CHI_SQUARE:
                    response, with_lag = without, False
            if number == 1 and self._respace is not None:
                response = self._find_spacing(response, some, weights, levels, with_lag=with_lag)
            shares = self._shares(response, rows)
            drift = drift_columns(basis, level)
            solution = solve(shares, drift, value, weight, self._prior)
            slope = self._slope(response, rows, solution.power_w)
            # Residuals are smaller than errors, by what was fitted to them.
            freedom = max(len(rows) - used, 0.1 * len(rows)) / len(rows)
            noise = estimate_noise(solution.residual_w / np.sqrt(freedom), slope, self._step_w / np.sqrt(12))
            weight = robust_weights(solution.residual_w, noise.variance(slope))
            level = shares @ solution.power_w
            known = posterior(shares, drift, weight, self._prior)
            used = effective_parameters(known, self._prior) + drift.shape[1] + 2 + with_lag
            self._prior = learned_prior(
                solution.power_w, known, self._occupancy.time_s[: self._occupancy.layers], self._prior
            )
            response = replace(
                response, blur_s=max(self._blur_scale * float(np.sqrt(12)) * noise.timing_s, self._age_s)
            )
        shares = self._shares(response, rows)
        drift = drift_columns(basis, level)
        solution = solve(shares, drift, value, weight, self._prior)
        names = ["delay_s", "length_s"] + ["lag_s"] * with_lag + ["blur_s"] * (response.blur_s > 0)
        jacobian = self._jacobian(response, rows, solution.power_w, names)
        return Fit(
            self._occupancy,
            self._spacing_s,
            response,
            solution,
            noise,
            rows,
            value,
            shares,
            drift,
            weight,
            slope,
            tuple(names),
            jacobian,
        )

    def _find_spacing(
        self,
        response: Response,
        rows: NDArray[np.intp],
        weight: NDArray[np.float64],
        level_w: NDArray[np.float64] | None,
        *,
        with_lag: bool,
    ) -> Response:
        """Look for a pause before each layer, and keep it if the residual falls by it."""
        assert self._respace is not None
        before = self._occupancy
        tried = []
        for spacing in _SPACINGS_S:
            self._occupancy = self._respace(spacing)
            cost, found = self._descend(response, rows, weight, level_w, 1e-3, with_lag=with_lag)
            tried.append((cost, spacing, found))
        # The residual is about a parabola of the pause around its least.
        costs, spacings = np.array([one[0] for one in tried]), np.array(_SPACINGS_S)
        least = int(np.argmin(costs))
        first = int(np.clip(least - 1, 0, len(spacings) - 3))
        bend, slope, _ = np.polyfit(spacings[first : first + 3] * 1e6, costs[first : first + 3], 2)
        spacing = float(np.clip(-0.5e-6 * slope / bend, 0.0, spacings[-1])) if bend > 0 else float(spacings[least])
        self._occupancy = self._respace(spacing)
        cost, found = self._descend(tried[least][2], rows, weight, level_w, 1e-3, with_lag=with_lag)
        if tried[0][0] - cost < _SPACING_CHI_SQUARE:
            self._occupancy = before
            return response
        self._spacing_s = spacing
        return found

    def _slope(self, response: Response, rows: NDArray[np.intp], power_w: NDArray[np.float64]) -> NDArray[np.float64]:
        first = max(0, int(rows[0]) - 12 * response.samples) if response.samples > 1 else int(rows[0])
        ticks = self._fresh.tick_s[first : int(rows[-1]) + 1]
        return self._occupancy.slope_w_per_s(ticks, response, power_w)[rows - first]

    def _jacobian(
        self, response: Response, rows: NDArray[np.intp], power_w: NDArray[np.float64], names: list[str]
    ) -> NDArray[np.float64]:
        columns = []
        for name in names:
            at = getattr(response, name)
            step = 1e-7 if name in ("delay_s", "length_s") else min(1e-6, 0.5 * at)
            more, less = (self._shares(replace(response, **{name: at + sign * step}), rows) for sign in (1, -1))
            columns.append((more - less) @ power_w / (2 * step))
        return np.column_stack(columns)
