"""Readings that fall on some phases of a network's cycle more often than on others, so that their mean is off.

A sensor that looks every few milliseconds at a power that repeats itself every few milliseconds may see the same part
of the cycle for the whole recording, where the two periods are near to a whole multiple of each other. Blocks of such
a recording agree with each other, and none of them is right.

Power in a cycle is taken for a mean and its first harmonics: a sum of `a_k cos(2 pi k phase) + b_k sin(2 pi k phase)`.
The readings' mean is then off by the sum of `a_k C_k + b_k S_k`, where C_k and S_k are the means of cosine and sine
over the readings. The harmonics are fitted to the readings: where these see all phases they are known, and C_k and S_k
are small; where they see few phases they are not known, and the error that they may make is as large as their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgewatt.results.network_result import PowerTrace

#: Harmonics of a cycle's power: a sensor's averaging takes the higher ones away.
_HARMONICS = 2
#: Fewer readings do not show them.
_FEWEST = 8 * _HARMONICS


def beat_error_w(trace: PowerTrace) -> float:
    """Standard error of the mean power that comes from the phases at which a cycle was read.

    Args:
        trace: Readings, of which those that repeat the one before are not new; and cycles.

    Returns:
        In W, at most the mean power; 0 where too few readings or cycles are there to tell.
    """
    if len(trace.start_s) < 2:
        return 0.0
    edges = np.append(trace.start_s, trace.end_s[-1:])
    new = np.flatnonzero(np.diff(trace.power_w)) + 1
    times, power = trace.time_s[new], trace.power_w[new]
    inside = (times >= edges[0]) & (times < edges[-1])
    times, power = times[inside], power[inside]
    if len(power) < _FEWEST:
        return 0.0
    cycle = np.searchsorted(edges, times, side="right") - 1
    angle = 2 * np.pi * (times - edges[cycle]) / np.diff(edges)[cycle]
    angles = np.outer(angle, np.arange(1, _HARMONICS + 1))
    waves: NDArray[np.float64] = np.hstack([np.cos(angles), np.sin(angles)])
    resultant = waves.mean(axis=0)
    centred = waves - resultant
    # The harmonics, as sure as the readings' scatter and the spread of their phases make it.
    spread = centred.T @ centred + 1e-9 * len(power) * np.eye(2 * _HARMONICS)
    inverse = np.linalg.inv(spread)
    harmonics = inverse @ (centred.T @ (power - power.mean()))
    noise = float(np.var(power - power.mean() - centred @ harmonics))
    squared = float((harmonics @ resultant) ** 2 + noise * (resultant @ inverse @ resultant))
    return min(float(np.sqrt(squared)), float(power.mean()))
