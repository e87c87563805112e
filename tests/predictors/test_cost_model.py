"""Non-negative costs find what made the values."""

from __future__ import annotations

import numpy as np
import pytest

from edgewatt.predictors.cost_model import CostMean, CostModel, fit_cost_model


def _terms(rows: int = 60) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    return {
        "launch": np.ones(rows),
        "macs": 10.0 ** random.uniform(4, 9, rows),
        "bytes": 10.0 ** random.uniform(3, 7, rows),
        "none": np.zeros(rows),
    }


def test_finds_the_truth_over_decades() -> None:
    terms = _terms()
    found = fit_cost_model(terms, 0.01 + 1e-8 * terms["macs"] + 1e-6 * terms["bytes"])
    assert found.coefficients == pytest.approx({"launch": 0.01, "macs": 1e-8, "bytes": 1e-6}, rel=1e-6)


def test_one_odd_layer_does_not_bend_it() -> None:
    terms = _terms()
    y = 0.01 + 1e-8 * terms["macs"]
    y[7] *= 20.0
    found = fit_cost_model(terms, y)
    assert found.coefficients["macs"] == pytest.approx(1e-8, rel=0.02)


def test_no_cost_is_negative_and_no_sum_zero() -> None:
    terms = _terms()
    found = fit_cost_model(terms, 1.0 / (1.0 + 1e-8 * terms["macs"]))
    assert min(found.coefficients.values()) > 0.0
    pair = CostMean((CostModel({"macs": 1.0}, 0.1), CostModel({"macs": 4.0}, 0.1)))
    assert pair.predict({"macs": np.array([3.0])}).item() == pytest.approx(6.0)
    assert CostModel({"macs": 1.0}, 0.5).predict({"macs": np.array([0.0, 2.0])}).tolist() == [0.5, 2.0]
