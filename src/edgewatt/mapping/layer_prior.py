"""What the layers of a network draw, learned from those that the recording tells well (empirical Bayes).

A kernel's start costs time in which little power is drawn, so that a layer's energy is about a straight line of its
time, and its power

    power = level - loss / time

The recording's own estimates, without what an earlier prior gave to them, are fitted with it. A layer that is told
badly is then expected on that line, give or take what layers differ from it by and what the line itself leaves open
at its time: the shortest layers of a network lie far out, and their expectation is a wide one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgewatt.mapping.solve import Prior

#: Layers from which on a line is learned.
_LEAST_LAYERS = 5
#: A layer's own information counts from this share of its prior's.
_LEAST_INFORMATION = 1e-3


def learned_prior(
    power_w: NDArray[np.float64], covariance: NDArray[np.float64], time_s: NDArray[np.float64], prior: Prior
) -> Prior:
    """Learn a prior of the layers from their powers.

    Args:
        power_w: Power of each segment, with the prior.
        covariance: Their covariance.
        time_s: Time of each layer, shape (layers,).
        prior: The prior that the powers were found with; the gaps' part of it is kept.
    """
    layers = len(time_s)
    executed = np.flatnonzero(time_s > 0)
    if len(executed) < _LEAST_LAYERS:
        return prior
    own_w, variance = _own(power_w[executed], np.diag(covariance)[executed], prior, executed)
    # The spread between layers is about as large as the median of what is seen of it.
    between = float(np.median((own_w - np.median(own_w)) ** 2)) / 0.455
    weight = 1 / (variance + between + 1e-9)
    inverse = 1 / time_s[executed]
    columns = np.column_stack((np.ones(len(executed)), inverse / inverse.mean()))
    open_line = np.linalg.inv((columns * weight[:, None]).T @ columns)
    mean_w = columns @ (open_line @ (columns.T @ (weight * own_w)))
    spread = float(weight @ (own_w - mean_w) ** 2 / weight.sum())
    of_line = np.einsum("ij,jk,ik->i", columns, open_line, columns)
    # A layer that does nothing but wait draws about what gaps do.
    least_w = min(float(power_w[layers]), float(mean_w.max()))
    learned = Prior(prior.mean_w.copy(), prior.deviation_w.copy())
    learned.mean_w[executed] = np.maximum(mean_w, least_w)
    learned.deviation_w[executed] = np.maximum(np.sqrt(spread + of_line), 1e-6)
    return learned


def _own(
    power_w: NDArray[np.float64], variance: NDArray[np.float64], prior: Prior, executed: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What the recording alone says of each layer, and its variance; next to nothing where it is all the prior's."""
    before = prior.deviation_w[executed] ** -2
    information = 1 / variance - before
    least = _LEAST_INFORMATION * before
    own_w = (power_w / variance - prior.mean_w[executed] * before) / np.maximum(information, least)
    return np.where(information > least, own_w, prior.mean_w[executed]), 1 / np.maximum(information, least)
