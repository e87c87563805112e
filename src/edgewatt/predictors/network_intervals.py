"""Intervals of whole networks, from how far off networks were that were not calibrated on."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from edgewatt.predictors.intervals import LEVEL, conformal_factor
from edgewatt.predictors.terms import Array

#: From so many networks on there is an interval: each is then left out of a calibration on three.
LEAST_NETWORKS = 4


def network_factor(log_errors: Array) -> float | None:
    """How far the logarithm of 90 % of new networks is off at most; None for fewer than four networks.

    From nine networks on it is the conformal quantile of the errors' sizes, which holds whatever their distribution.
    Fewer cannot tell one in ten: they are taken to be normal around 0, and the factor is that of Student's prediction
    interval for one more (for instance G. Hahn and W. Meeker, "Statistical Intervals", 1991), or the largest error.

    Args:
        log_errors: Logarithms of true over predicted, of networks that were left out, shape (n,).
    """
    count = len(log_errors)
    if count < LEAST_NETWORKS:
        return None
    factor = conformal_factor(np.abs(log_errors))
    if factor is not None:
        return factor
    from scipy.stats import t as student  # predicting needs numpy alone

    spread = sqrt(float(np.mean(log_errors**2)) * (1.0 + 1.0 / count))
    reach = float(student.ppf(0.5 + 0.5 * LEVEL, count - 1)) * spread
    return max(reach, float(np.abs(log_errors).max()), 1e-6)


def network_coverage(log_errors: Array, groups: NDArray[np.int64]) -> float | None:
    """Share of networks that lie in an interval made from the networks of other groups; None for too few.

    Args:
        log_errors: As for `network_factor`.
        groups: Networks of one number are left out together, shape (n,).
    """
    held = []
    for number in np.unique(groups):
        factor = network_factor(log_errors[groups != number])
        if factor is None:
            return None
        held.extend(np.abs(log_errors[groups == number]) <= factor)
    return float(np.mean(held)) if held else None
