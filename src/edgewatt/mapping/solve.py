"""The regression of sensor values on the segments' shares.

    value = shares @ powers + drift(t) + factor(t) (shares @ powers - mean) + noise

Drift and factor are low polynomials of time with mean zero: a board that warms draws more, in part the same whatever
runs and in part in proportion to it.

A prior of each segment's power - the mean power, give or take what the network itself draws - does nothing to what the
recording tells and keeps the system solvable where it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import lsq_linear

#: Fresh values for each polynomial of the drift, and the most of them.
_VALUES_PER_DRIFT = 400
_MOST_DRIFT = 5


@dataclass(frozen=True)
class Prior:
    """What is known of the segments' powers without the recording's phases.

    Attributes:
        mean_w: Mean, shape (segments,).
        deviation_w: Standard deviation, shape (segments,).
    """

    mean_w: NDArray[np.float64]
    deviation_w: NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """A regression's result.

    Attributes:
        power_w: Power of each segment, shape (segments,).
        drift: Coefficients of the drift's columns.
        fitted_w: The values that follow, shape (values,).
        residual_w: What is left of the values.
    """

    power_w: NDArray[np.float64]
    drift: NDArray[np.float64]
    fitted_w: NDArray[np.float64]
    residual_w: NDArray[np.float64]


def drift_basis(time_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Polynomials of time with mean zero, shape (values, polynomials)."""
    degree = int(np.clip(len(time_s) // _VALUES_PER_DRIFT, 0, _MOST_DRIFT))
    span = float(np.ptp(time_s)) or 1.0
    x = 2 * (time_s - time_s[0]) / span - 1
    basis = np.polynomial.legendre.legvander(x, degree)[:, 1:]
    return np.asarray(basis - basis.mean(axis=0))


def drift_columns(basis: NDArray[np.float64], level_w: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The drift's columns: additive, and where a fit's levels are given those in proportion to them."""
    if level_w is None:
        return basis
    return np.hstack((basis, basis * (level_w - level_w.mean())[:, None]))


def solve(
    shares: NDArray[np.float64],
    drift: NDArray[np.float64],
    value_w: NDArray[np.float64],
    weight: NDArray[np.float64],
    prior: Prior,
    least_w: NDArray[np.float64] | None = None,
) -> Solution:
    """Weighted least squares with a prior.

    Args:
        shares: Shape (values, segments).
        drift: Columns of the drift, shape (values, columns).
        value_w: Values, shape (values,).
        weight: Inverse variance of each value's noise in 1/W², shape (values,).
        prior: Of the segments' powers.
        least_w: Lower bound of each segment's power; None for none.
    """
    columns = np.hstack((shares, drift))
    weighted = columns * weight[:, None]
    information = weighted.T @ columns + prior_information(prior, drift.shape[1])
    segments = shares.shape[1]
    centred = value_w - shares @ prior.mean_w
    right = weighted.T @ centred
    factor = cho_factor(information)
    coefficients = cho_solve(factor, right)
    if least_w is not None and bool(np.any(coefficients[:segments] < least_w - prior.mean_w)):
        upper = np.linalg.cholesky(information).T
        least = np.concatenate((least_w - prior.mean_w, np.full(drift.shape[1], -np.inf)))
        target = np.linalg.solve(upper.T, right)
        coefficients = lsq_linear(upper, target, bounds=(least, np.inf), method="bvls").x
    power_w = coefficients[:segments] + prior.mean_w
    fitted = shares @ power_w + drift @ coefficients[segments:]
    return Solution(power_w, coefficients[segments:], fitted, value_w - fitted)


def posterior(
    shares: NDArray[np.float64], drift: NDArray[np.float64], weight: NDArray[np.float64], prior: Prior
) -> NDArray[np.float64]:
    """Covariance of the segments' powers in W², with the response taken as known; arguments as for `solve`."""
    columns = np.hstack((shares, drift))
    information = (columns * weight[:, None]).T @ columns + prior_information(prior, drift.shape[1])
    segments = shares.shape[1]
    covariance: NDArray[np.float64] = np.linalg.inv(information)[:segments, :segments]
    return covariance


def effective_parameters(covariance: NDArray[np.float64], prior: Prior) -> float:
    """Number of powers that the values decide: each segment counts by how much of its prior's variance is gone."""
    return float(np.sum(1 - np.diag(covariance) / prior.deviation_w**2))


def prior_information(prior: Prior, drift_columns: int) -> NDArray[np.float64]:
    """The prior's inverse covariance; next to nothing for the drift, whose columns are in W."""
    return np.diag(np.concatenate((prior.deviation_w**-2, np.full(drift_columns, 1e-6))))
