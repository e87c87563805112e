from __future__ import annotations

import numpy as np
import pytest

from edgewatt.mapping.noise import estimate_noise, robust_weights
from edgewatt.mapping.solve import Prior, drift_basis, drift_columns, posterior, solve

TRUTH_W = np.array([6.0, 9.0, 11.0, 5.0])
LOOSE = Prior(np.full(4, 7.0), np.full(4, 1e3))


def _shares(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(4), rows)


def test_powers_are_found_through_drift_in_sum_and_in_proportion() -> None:
    shares = _shares(2000)
    time = np.linspace(0, 60, 2000)
    level = shares @ TRUTH_W
    ramp = np.linspace(-1, 1, 2000)
    value = level * (1 + 0.05 * ramp) + 0.2 * ramp
    columns = drift_columns(drift_basis(time), level)
    found = solve(shares, columns, value, np.ones(2000), LOOSE)
    np.testing.assert_allclose(found.power_w, TRUTH_W, atol=1e-3)


def test_segments_that_never_part_share_by_the_prior() -> None:
    shares = _shares(500)
    shares[:, 1] = shares[:, 0]
    shares /= shares.sum(axis=1, keepdims=True)
    prior = Prior(np.full(4, 7.0), np.full(4, 2.0))
    found = solve(shares, np.empty((500, 0)), shares @ TRUTH_W, np.full(500, 1e6), prior)
    np.testing.assert_allclose(found.power_w[:2], 7.5, atol=1e-3)
    np.testing.assert_allclose(found.power_w[2:], TRUTH_W[2:], atol=1e-3)
    deviation = np.sqrt(np.diag(posterior(shares, np.empty((500, 0)), np.full(500, 1e6), prior)))
    # Of two independent priors only the difference is open: sqrt(2) / 2 of one.
    np.testing.assert_allclose(deviation[:2], 2.0 / np.sqrt(2), rtol=1e-2)


def test_no_power_falls_below_its_bound() -> None:
    shares = _shares(300)
    value = shares @ np.array([6.0, 9.0, 11.0, 3.0])
    least = np.array([-np.inf, -np.inf, -np.inf, 4.0])
    found = solve(shares, np.empty((300, 0)), value, np.ones(300), LOOSE, least)
    assert found.power_w[3] == pytest.approx(4.0)


def test_noise_of_the_sensor_and_of_timing_are_told_apart() -> None:
    random = np.random.default_rng(0)
    slope = np.where(random.uniform(size=20_000) < 0.3, 0.0, random.uniform(1e3, 6e3, 20_000))
    residual = random.normal(0, 0.015, 20_000) + slope * random.uniform(-20e-6, 20e-6, 20_000)
    noise = estimate_noise(residual, slope, 1e-3)
    assert noise.sensor_w == pytest.approx(0.015, rel=0.05)
    assert noise.timing_s == pytest.approx(40e-6 / np.sqrt(12), rel=0.05)


def test_far_values_count_less() -> None:
    weights = robust_weights(np.array([0.0, 1.0, 30.0]), np.full(3, 1.0))
    np.testing.assert_allclose(weights, [1.0, 1.0, 0.1])
