"""How well a fit knows each power, with the timing as uncertain as the powers.

The powers, the drift and the response's delay, length and lag are one vector of parameters with the columns

    J = [shares, drift, d value / d response]        H = J' W J + prior

An error of the delay is an error of every share at once, which the powers' own columns cannot see; in H it can. What
the weights take for independent noise may hang together from value to value: the middle of

    covariance = inverse(H) (sum over blocks of g g' + prior) inverse(H),       g = J' W residual in a block

is taken from the residuals in blocks of the recording, as a block bootstrap would draw them (the sandwich of Liang and
Zeger, Biometrika 73, 1986), without its draws.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from edgewatt.mapping.fit_response import Fit
from edgewatt.mapping.solve import Prior, prior_information

_BLOCKS = 60
#: A block holds at least this many values.
_LEAST_BLOCK = 8


def joint_covariance(fit: Fit, prior: Prior) -> NDArray[np.float64]:
    """Covariance of all parameters: segments' powers in W, the drift's coefficients, then the response's in s."""
    # The response's columns are in W/s: bring them to the size of the others.
    scale = np.maximum(np.sqrt(np.mean(fit.jacobian**2, axis=0)), 1e-12)
    columns = np.hstack((fit.shares, fit.drift, fit.jacobian / scale))
    known = prior_information(prior, columns.shape[1] - fit.shares.shape[1])
    weighted = columns * fit.weight[:, None]
    bread = np.linalg.inv(weighted.T @ columns + known)
    blocks = int(np.clip(len(fit.rows) // _LEAST_BLOCK, 2, _BLOCKS))
    borders = np.linspace(0, len(fit.rows), blocks + 1).astype(np.intp)[:-1]
    scores = np.add.reduceat(weighted * fit.solution.residual_w[:, None], borders, axis=0)
    middle = scores.T @ scores * (blocks / (blocks - 1))
    # With few blocks the sum is too rough for so many parameters; what the weights say is its floor.
    plain = bread
    robust = bread @ (middle + known) @ bread
    ratio = np.sqrt(np.maximum(np.diag(robust) / np.diag(plain), 1.0))
    covariance = plain * np.outer(ratio, ratio)
    units = np.concatenate((np.ones(columns.shape[1] - len(scale)), 1 / scale))
    return np.asarray(covariance * np.outer(units, units))


def half_width(deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half of the 90 % interval that goes with standard deviations from that many blocks."""
    return np.asarray(float(student_t.ppf(0.95, _BLOCKS - 1)) * deviation)
