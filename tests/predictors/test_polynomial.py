"""Polynomials by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.polynomial import Polynomial, constant

# Columns batch_size, input_size, output_size.
ROWS = np.array([[1.0, 4.0, 10.0], [2.0, 3.0, 5.0]])


@pytest.fixture
def polynomial() -> Polynomial:
    """3 x ((input_size^2 - 2) / 4) - (operations - 0) / 2 + 100."""
    return Polynomial(
        kind=LayerKind.DENSE,
        features=("input_size", "operations"),
        exponents=np.array([[2, 0], [0, 1]]),
        centre=np.array([2.0, 0.0]),
        scale=np.array([4.0, 2.0]),
        coefficients=np.array([3.0, -1.0]),
        intercept=100.0,
    )


def test_sum_of_scaled_terms(polynomial: Polynomial) -> None:
    assert polynomial.predict(ROWS).tolist() == [3 * 14 / 4 - 40 / 2 + 100, 3 * 7 / 4 - 30 / 2 + 100]


def test_limits(polynomial: Polynomial) -> None:
    assert replace(polynomial, lower=90.6).predict(ROWS).tolist() == [90.6, 90.6]
    assert replace(polynomial, upper=90.3).predict(ROWS).tolist() == [90.3, 90.25]


def test_logarithms(polynomial: Polynomial) -> None:
    logarithmic = replace(polynomial, log_features=True, log_target=True, intercept=1.0)
    expected = np.exp(3 * (np.log(5) ** 2 - 2) / 4 - np.log(41) / 2 + 1.0)
    assert logarithmic.predict(ROWS)[0] == pytest.approx(expected, rel=1e-12)


def test_exponential_stays_finite(polynomial: Polynomial) -> None:
    assert np.isfinite(replace(polynomial, log_target=True, intercept=1e6).predict(ROWS)).all()


def test_a_row_alone_predicts_what_it_does_among_others(polynomial: Polynomial) -> None:
    many = np.tile(ROWS, (500, 1))
    assert polynomial.predict(many)[:2].tolist() == [*polynomial.predict(ROWS[:1]), *polynomial.predict(ROWS[1:])]


def test_constant() -> None:
    assert constant(LayerKind.DENSE, 2.5).predict(ROWS).tolist() == [2.5, 2.5]
    assert constant(LayerKind.DENSE, np.log(2.0), log_target=True).predict(ROWS) == pytest.approx([2.0, 2.0])
