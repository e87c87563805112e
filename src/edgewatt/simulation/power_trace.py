"""A board's true power over time, piecewise constant, and exact integrals of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PowerTrace:
    """Power of a board, constant in each of n segments; before the first and after the last it stays as it is there.

    Attributes:
        edges_s: Borders of the segments in s, ascending, shape (n + 1,); equal ones enclose an empty segment.
        power_w: Power in each segment in W, shape (n,).
    """

    edges_s: NDArray[np.float64]
    power_w: NDArray[np.float64]

    @property
    def duration_s(self) -> float:
        """Time from the first edge to the last."""
        return float(self.edges_s[-1] - self.edges_s[0])

    def energy_j(self) -> float:
        """Energy from the first edge to the last in J."""
        return float(np.dot(self.power_w, np.diff(self.edges_s)))

    def mean_power_w(
        self, start_s: NDArray[np.float64], end_s: NDArray[np.float64], lag_s: float = 0.0
    ) -> NDArray[np.float64]:
        """Mean power in windows, as seen through a first-order lag.

        Args:
            start_s: Starts of the windows in s.
            end_s: Their ends, later than their starts.
            lag_s: Time constant of the lag in s; 0 for none. Before the first edge the lag has settled.

        Returns:
            Mean power in W, of the windows' shape.
        """
        borders_s = np.stack([start_s, end_s])
        energy_j = self._lagged_integral(borders_s, lag_s) if lag_s > 0 else self._integral(borders_s)
        mean: NDArray[np.float64] = (energy_j[1] - energy_j[0]) / (end_s - start_s)
        return mean

    def _integral(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Energy from the first edge to each time (negative before it)."""
        segment = self._segment(times_s)
        at_edges = np.concatenate(([0.0], np.cumsum(self.power_w * np.diff(self.edges_s))))
        integral: NDArray[np.float64] = at_edges[segment] + self.power_w[segment] * (times_s - self.edges_s[segment])
        return integral

    def _lagged_integral(self, times_s: NDArray[np.float64], lag_s: float) -> NDArray[np.float64]:
        """The same of the lagged power y.

        lag x dy/dt = power - y, so the integral of y is that of the power less lag x (y - its start).
        """
        segment = self._segment(times_s)
        exponent = -np.diff(self.edges_s) / lag_s
        at_edges = affine_scan(np.exp(exponent), -self.power_w * np.expm1(exponent), float(self.power_w[0]))
        settled = self.power_w[segment]
        since = np.maximum(times_s - self.edges_s[segment], 0.0)  # before the first edge all has settled
        lagged = settled + (at_edges[segment] - settled) * np.exp(-since / lag_s)
        integral: NDArray[np.float64] = self._integral(times_s) - lag_s * (lagged - self.power_w[0])
        return integral

    def _segment(self, times_s: NDArray[np.float64]) -> NDArray[np.intp]:
        segment = np.searchsorted(self.edges_s, times_s, side="right") - 1
        return np.clip(segment, 0, len(self.power_w) - 1)


def affine_scan(factor: NDArray[np.float64], term: NDArray[np.float64], initial: float) -> NDArray[np.float64]:
    """Values of y[k + 1] = factor[k] y[k] + term[k].

    The steps are cut into about as many blocks as a block has steps. All blocks advance together from 0, then
    each is started with what the one before it ended with: numpy calls of the order of the square root of n.

    Args:
        factor: Shape (n,), each from 0 to 1.
        term: Shape (n,).
        initial: y[0].

    Returns:
        y, shape (n + 1,).
    """
    steps = len(factor)
    length = isqrt(steps) + 1
    blocks = -(-steps // length)
    padded = np.ones((2, blocks * length))
    padded[1] = 0.0
    padded[0, :steps], padded[1, :steps] = factor, term
    # Step first, so that one step of all blocks is contiguous.
    factors, values = (np.ascontiguousarray(row.reshape(blocks, length).T) for row in padded)
    for step in range(1, length):
        values[step] += factors[step] * values[step - 1]
        factors[step] *= factors[step - 1]
    starts = np.empty(blocks)
    carried = initial
    for block in range(blocks):
        starts[block] = carried
        carried = factors[-1, block] * carried + values[-1, block]
    values += factors * starts
    return np.concatenate(([initial], values.T.reshape(-1)[:steps]))
