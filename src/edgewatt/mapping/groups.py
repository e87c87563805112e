"""Layers that a recording cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: A layer's power is told if its 90 % interval is no wider, either way, than this share of the layers' mean power above
#: idle: about what neighbouring layers of a network differ by.
_OF_MEAN = 0.06
#: A layer of which the recording leaves more than this share of the spread between layers open is hidden: it shares
#: its power. Between told and hidden it keeps its own.
_OF_SPREAD = 0.5


@dataclass(frozen=True)
class Grouped:
    """Powers of layers, those that cannot be told apart sharing theirs.

    Attributes:
        power_w: Power of each layer, shape (layers,).
        deviation_w: Its standard deviation.
        identifiable: Whether the recording tells the layer's own power.
        groups: Indices of the layers of each group that shares its power.
    """

    power_w: NDArray[np.float64]
    deviation_w: NDArray[np.float64]
    identifiable: NDArray[np.bool_]
    groups: list[list[int]]


def told_deviation(mean_above_idle_w: float) -> float:
    """Standard deviation up to which a power counts as told, in W."""
    return _OF_MEAN * mean_above_idle_w / 1.645


def group_layers(
    power_w: NDArray[np.float64],
    covariance: NDArray[np.float64],
    time_s: NDArray[np.float64],
    most_deviation_w: float,
    spread_w: float,
) -> Grouped:
    """Let neighbours of which the recording says next to nothing share their mean power.

    A run of such layers is cut into groups, each as long as it takes for its own mean to be told. The mean is by time,
    so that energy stays. The interval of a layer that shares says how far its own power may be from the group's.

    Args:
        power_w: Power of each layer.
        covariance: Their covariance.
        time_s: Time of each layer; layers that take none belong to no group.
        most_deviation_w: Standard deviation up to which a power counts as told.
        spread_w: Standard deviation of the powers of different layers.
    """
    deviation = np.sqrt(np.diag(covariance))
    executed = time_s > 0
    told = executed & (deviation <= most_deviation_w)
    power, spread = power_w.copy(), deviation.copy()
    groups: list[list[int]] = []
    hidden_from = max(most_deviation_w, _OF_SPREAD * spread_w)
    for run in _runs(np.flatnonzero(executed), deviation <= hidden_from):
        groups += _cut(run, covariance, time_s, most_deviation_w)
    for group in groups:
        share = time_s[group] / time_s[group].sum()
        mean = float(share @ power_w[group])
        spread[group] = np.hypot(deviation[group], power_w[group] - mean)
        power[group] = mean
    return Grouped(power, spread, told, groups)


def one_group(
    power_w: NDArray[np.float64], covariance: NDArray[np.float64], time_s: NDArray[np.float64], spread_w: float
) -> Grouped:
    """Let all layers share their mean power by time, where a recording tells nothing of single ones.

    Args:
        power_w: Power of each layer.
        covariance: Their covariance.
        time_s: Time of each layer.
        spread_w: Standard deviation by which the powers of layers may differ from their mean.
    """
    group = np.flatnonzero(time_s > 0)
    share = time_s[group] / time_s[group].sum()
    variance = float(share @ covariance[np.ix_(group, group)] @ share)
    power, deviation = power_w.copy(), np.sqrt(np.diag(covariance))
    power[group], deviation[group] = float(share @ power_w[group]), np.hypot(np.sqrt(variance), spread_w)
    return Grouped(power, deviation, np.zeros(len(power_w), dtype=np.bool_), [group.tolist()])


def _runs(layers: NDArray[np.intp], clear: NDArray[np.bool_]) -> list[list[int]]:
    """Runs of neighbours that are hidden; a layer that takes no time does not part its neighbours."""
    runs: list[list[int]] = []
    open_run = False
    for layer in layers.tolist():
        if clear[layer]:
            open_run = False
        elif open_run:
            runs[-1].append(layer)
        else:
            runs.append([layer])
            open_run = True
    return runs


def _cut(
    run: list[int], covariance: NDArray[np.float64], time_s: NDArray[np.float64], most_deviation_w: float
) -> list[list[int]]:
    groups: list[list[int]] = []
    current: list[int] = []
    for layer in run:
        current.append(layer)
        share = time_s[current] / time_s[current].sum()
        variance = float(share @ covariance[np.ix_(current, current)] @ share)
        if len(current) > 1 and variance <= most_deviation_w**2:
            groups.append(current)
            current = []
    if current and groups:
        groups[-1] += current
    elif current:
        groups.append(current)
    return groups
