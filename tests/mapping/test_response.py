from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from edgewatt.mapping.response import lagged_ramp

TIMES = st.floats(-1e-3, 3e-3)


@given(TIMES)
def test_without_lag_and_blur_it_is_a_ramp(time_s: float) -> None:
    assert lagged_ramp(np.array([time_s]), 0.0, 0.0)[0] == max(time_s, 0.0)


@given(TIMES, st.floats(1e-5, 1e-3))
def test_with_lag_it_is_the_integral_of_the_step_response(time_s: float, lag_s: float) -> None:
    end = max(time_s, 0.0)
    expected, _ = quad(lambda t: 1 - np.exp(-t / lag_s), 0.0, end)
    assert lagged_ramp(np.array([time_s]), lag_s, 0.0)[0] == pytest.approx(expected, abs=1e-12, rel=1e-7)


@given(TIMES, st.sampled_from([0.0, 5e-5, 4e-4]), st.floats(5e-6, 5e-4))
def test_blur_is_the_mean_over_the_steps_time(time_s: float, lag_s: float, blur_s: float) -> None:
    def unblurred(shift_s: float) -> float:
        return float(lagged_ramp(np.array([time_s - shift_s]), lag_s, 0.0)[0])

    kink = [time_s] if abs(time_s) < blur_s / 2 else None
    integral, _ = quad(unblurred, -blur_s / 2, blur_s / 2, points=kink)
    assert lagged_ramp(np.array([time_s]), lag_s, blur_s)[0] == pytest.approx(integral / blur_s, abs=1e-10)
