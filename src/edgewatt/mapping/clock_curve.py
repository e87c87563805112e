"""Smooth curves for a clock's slow drift: a straight line, or a cubic spline of equal pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline


def curve_basis(x: NDArray[np.float64], pieces: int) -> NDArray[np.float64]:
    """The curve's basis at x in [0, 1], shape (points, coefficients); a straight line for no pieces."""
    if pieces == 0:
        return np.column_stack((1 - x, x))
    knots = np.concatenate(([0.0] * 3, np.linspace(0, 1, pieces + 1), [1.0] * 3))
    return np.asarray(BSpline.design_matrix(np.clip(x, 0, 1), knots, 3).toarray())


def extended(x: NDArray[np.float64], pieces: int, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """A curve at any x: it goes on straight beyond its ends."""
    inside = curve_basis(np.clip(x, 0, 1), pieces) @ coefficients
    step = 1e-4
    ends = curve_basis(np.array([0.0, step, 1 - step, 1.0]), pieces) @ coefficients
    slopes = (ends[1] - ends[0]) / step, (ends[3] - ends[2]) / step
    curve: NDArray[np.float64] = inside + slopes[0] * np.minimum(x, 0) + slopes[1] * np.maximum(x - 1, 0)
    return curve


def piece_counts(points: int, span_s: float) -> list[int]:
    """Numbers of pieces worth trying: none, then doubling up to one in 5 s and 50 points."""
    counts = [0]
    pieces = 1
    while pieces <= min(points / 50, span_s / 5.0, 64):
        counts.append(pieces)
        pieces *= 2
    return counts
