"""Scores of settings over networks, and whether a gain is more than luck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student_t

from edgewatt.tuning.folds import Errors, NetworkErrors

#: Probability, at most, of keeping settings that are no better than the usual ones.
LEVEL = 0.05

#: With fewer networks nothing can be said of others.
LEAST_NETWORKS = 5


@dataclass(frozen=True)
class Score:
    """Errors of networks that were not trained on, each counted once.

    Attributes:
        log: Mean over networks of the mean |log(predicted / measured)| of their layers: what is minimised. Near a
            relative error where it is small, and a prediction of half counts as much as one of twice.
        mape: Mean over networks of the mean absolute relative error of their layers, a fraction.
        networks: Number of networks.
    """

    log: float
    mape: float
    networks: int


def combined(parts: Sequence[NetworkErrors]) -> NetworkErrors:
    """The errors of all folds together."""
    found: dict[str, Errors] = {}
    for part in parts:
        for name, one in part.items():
            found[name] = found[name] + one if name in found else one
    return found


def score(errors: Mapping[str, Errors]) -> Score:
    """The score of errors; of no network it is infinite."""
    if not errors:
        return Score(float("inf"), float("inf"), 0)
    log = [one.log / one.layers for one in errors.values()]
    relative = [one.relative / one.layers for one in errors.values()]
    return Score(float(np.mean(log)), float(np.mean(relative)), len(errors))


def chance_of_luck(usual: Mapping[str, Errors], tuned: Mapping[str, Errors], trials: int) -> float | None:
    """The probability that settings which are no better look so much better, as the best of several trials.

    A one-sided paired t-test over networks, its probability times the number of trials (Bonferroni's bound, which
    also holds for trials that resemble each other).

    Args:
        usual: Errors with the usual settings.
        tuned: Errors with the tuned ones, of the same networks.
        trials: Number of trials that the tuned ones are the best of.

    Returns:
        The bound, at most 1; None for fewer than `LEAST_NETWORKS` networks.
    """
    names = sorted(usual.keys() & tuned.keys())
    if len(names) < LEAST_NETWORKS:
        return None
    gains = np.array([usual[n].log / usual[n].layers - tuned[n].log / tuned[n].layers for n in names])
    deviation = float(gains.std(ddof=1))
    if deviation == 0.0:
        return 0.0 if gains[0] > 0.0 else 1.0
    statistic = float(gains.mean()) / (deviation / np.sqrt(len(gains)))
    return min(1.0, trials * float(student_t.sf(statistic, len(gains) - 1)))
