"""How uncertain each fresh value is.

A value whose conversion began or ended in a layer depends on when exactly that inference ran; one that began and ended
in gaps does not. With the sensor's own noise,

    variance = sensor² + timing² x slope²

where slope is the change of the value by a shift of the inference. Both are estimated from the regression's residuals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 10
#: Squared residuals count for no more than this many variances.
_MOST = 9.0
#: From this many standard deviations on a value counts less (Huber, Annals of Mathematical Statistics 35, 1964).
_HUBER = 3.0


@dataclass(frozen=True)
class Noise:
    """The noise of fresh values.

    Attributes:
        sensor_w: Standard deviation of a value apart from timing.
        timing_s: Standard deviation of an inference's time around what is taken for it.
    """

    sensor_w: float
    timing_s: float

    def variance(self, slope_w_per_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance of values in W²."""
        return self.sensor_w**2 + (self.timing_s * slope_w_per_s) ** 2


def estimate_noise(residual_w: NDArray[np.float64], slope_w_per_s: NDArray[np.float64], least_w: float) -> Noise:
    """Split the variance of residuals.

    Args:
        residual_w: Residuals of the regression, shape (values,).
        slope_w_per_s: Slope of each value.
        least_w: The sensor's noise is no smaller: rounding to its steps.
    """
    square = residual_w**2
    scale = float(np.mean(slope_w_per_s**2)) or 1.0
    columns = np.column_stack((np.ones(len(square)), slope_w_per_s**2 / scale))
    variance = np.full(len(square), max(float(np.median(square)) / 0.455, least_w**2))
    share = np.array([least_w**2, 0.0])
    for _ in range(_ROUNDS):
        # The variance of a squared normal residual is twice its variance squared: weighted least squares.
        weighted = columns / variance[:, None]
        target = np.minimum(square, _MOST * variance) / variance
        share = np.linalg.lstsq(weighted, target, rcond=None)[0]
        if share[1] < 0:
            share = np.array([float(np.mean(target) * np.mean(variance)), 0.0])
        share[0] = max(share[0], least_w**2)
        variance = columns @ share
    return Noise(float(np.sqrt(share[0])), float(np.sqrt(share[1] / scale)))


def robust_weights(residual_w: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse variances, smaller for residuals far outside of them: stalls that no stamp tells of."""
    deviation = np.sqrt(variance)
    far = np.abs(residual_w) / deviation
    weights: NDArray[np.float64] = np.minimum(1.0, _HUBER / np.maximum(far, 1e-12)) / variance
    return weights
