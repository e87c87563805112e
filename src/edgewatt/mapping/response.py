"""How a sensor's value follows from the power before it.

    value(u) = mean over [u - delay - length, u - delay] of the power behind a first-order lag

    lag dy/dt = power - y
    with the chip's averaging over N conversions  r[k] = r[k - 1] + (x[k] - r[k - 1]) / N

(the averaging of Texas Instruments' INA3221, data sheet SBOS576). Everything is integrated in closed form over powers
that are constant in each segment. A segment that begins at time 0 and lasts has added, by time t,

    ramp(t) = t - lag (1 - exp(-t / lag))      for t > 0, else 0

to the integral of y. Where an inference's time is only known give or take, the expectation is wanted: the mean of the
ramp over a uniform distribution of that width, again in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Response:
    """What lies between the power and a fresh value.

    Attributes:
        delay_s: From the end of a conversion to the tick at which its value appears in the log. It holds what cannot
            be told from it: the mean delay of the profiler's reports, which makes it smaller.
        length_s: Length of a conversion.
        lag_s: Time constant of the first-order lag; 0 for none.
        blur_s: Full width of the uniform distribution of an inference's time around what is taken for it.
        samples: Number of conversions in the chip's exponential average.
    """

    delay_s: float
    length_s: float
    lag_s: float = 0.0
    blur_s: float = 0.0
    samples: int = 1


def lagged_ramp(time_s: NDArray[np.float64], lag_s: float, blur_s: float) -> NDArray[np.float64]:
    """Time integral of the lagged response to a unit step at time 0, blurred.

    Args:
        time_s: Times, of any shape.
        lag_s: Time constant; 0 for none.
        blur_s: Full width of the step's uniform distribution; 0 for none.
    """
    half = 0.5 * blur_s
    # How much of the distribution lies before each time, and how long ago all of it has passed.
    since = np.maximum(time_s - half, 0.0)
    if half > 0:
        entered = np.clip(time_s + half, 0.0, blur_s)
        ramp = entered * entered / (2 * blur_s) + since
    else:
        ramp = since
    if lag_s <= 0:
        return ramp
    if half > 0:
        settled = (entered + lag_s * np.expm1(-entered / lag_s) * np.exp(-since / lag_s)) / blur_s
    else:
        settled = -np.expm1(-since / lag_s)
    lagged: NDArray[np.float64] = ramp - lag_s * settled
    return lagged
