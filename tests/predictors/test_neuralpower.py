"""NeuralPower's predictor finds what the truth is made of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors import neuralpower
from edgewatt.predictors.neuralpower import NeuralPowerPredictor
from edgewatt.predictors.terms import feature_columns

CONV = LayerKind.CONVOLUTIONAL


def _largest_terms(predictor: NeuralPowerPredictor, count: int) -> set[frozenset[tuple[str, int]]]:
    """The terms with the largest coefficients (of standardised terms), as sets of (feature, exponent)."""
    function = predictor.polynomial_
    order = np.argsort(-np.abs(function.coefficients))[:count]
    return {
        frozenset((name, int(e)) for name, e in zip(function.features, function.exponents[index], strict=True) if e)
        for index in order
    }


def test_recovers_a_sparse_polynomial(convolutions: Any) -> None:
    table = convolutions(300)
    x = {name: table[name].to_numpy().astype(float) for name in ("input_size_0", "output_size_0", "kernel_0")}
    y = 5.0 + 2e-3 * x["input_size_0"] * x["output_size_0"] + 3.0 * x["kernel_0"] ** 2
    predictor = NeuralPowerPredictor(CONV, degree=2, relative=False).fit(table, y)
    assert _largest_terms(predictor, 2) == {
        frozenset({("input_size_0", 1), ("output_size_0", 1)}),
        frozenset({("kernel_0", 2)}),
    }
    new = convolutions(100, seed=9)
    truth = (
        5.0 + 2e-3 * (new["input_size_0"] * new["output_size_0"]).to_numpy() + 3.0 * (new["kernel_0"] ** 2).to_numpy()
    )
    assert predictor.predict(new) == pytest.approx(truth, rel=0.03)
    function = predictor.polynomial_
    largest = np.argsort(-np.abs(function.coefficients))[:2]
    assert sorted((function.coefficients / function.scale)[largest]) == pytest.approx([2e-3, 3.0], rel=0.01)
    assert len(function.coefficients) < 10


def test_special_terms_reach_operations(convolutions: Any) -> None:
    table, new = convolutions(120), convolutions(60, seed=4)
    y = 0.02 + 1e-8 * feature_columns(CONV, table)["operations"]
    truth = 0.02 + 1e-8 * feature_columns(CONV, new)["operations"]
    with_special = NeuralPowerPredictor(CONV, degree=1, positive=True).fit(table, y)
    without = NeuralPowerPredictor(CONV, degree=1, positive=True, special_terms=False).fit(table, y)
    errors = [np.abs(predictor.predict(new) / truth - 1).mean() for predictor in (with_special, without)]
    assert errors[0] < 0.02
    assert errors[1] > 0.3
    assert "operations_per_input" in with_special.polynomial_.features


def test_log_target_recovers_a_power_law(convolutions: Any) -> None:
    table, new = convolutions(200), convolutions(50, seed=2)

    def truth(of: pl.DataFrame) -> Any:
        return (1.0 + of["input_size_0"].to_numpy()) ** 0.7 * (1.0 + of["kernel_0"].to_numpy()) ** 1.5

    predictor = NeuralPowerPredictor(CONV, degree=1, log_features=True, log_target=True).fit(table, truth(table))
    assert predictor.predict(new) == pytest.approx(truth(new), rel=0.01)


def test_relative_weights_lower_relative_errors(convolutions: Any) -> None:
    table = convolutions(300)
    operations = feature_columns(CONV, table)["operations"]
    # Saturating: no polynomial fits it, so where the error goes is a choice.
    y = 0.05 + 1e-8 * operations**0.8 * 10
    errors = {
        relative: np.sqrt(
            np.mean((NeuralPowerPredictor(CONV, degree=1, relative=relative).fit(table, y).predict(table) / y - 1) ** 2)
        )
        for relative in (True, False)
    }
    assert errors[True] < 0.7 * errors[False]


def test_targets_whose_squares_are_too_small_for_a_float(dense_layers: Any) -> None:
    """1 / target² leaves the range of floats long before the target does."""
    y = (1.0 + np.arange(12.0) % 5) * 1e-300
    predicted = NeuralPowerPredictor(LayerKind.DENSE, degree=1).fit(dense_layers(12), y).predict(dense_layers(12))
    assert np.isfinite(predicted).all()
    assert (predicted > 0).all()


def test_positive_has_no_negative_coefficient(convolutions: Any) -> None:
    table = convolutions(150)
    y = 3.0 - 0.01 * table["input_size_0"].to_numpy() + 0.01 * table["output_size_0"].to_numpy()
    assert (NeuralPowerPredictor(CONV, positive=True).fit(table, y).polynomial_.coefficients >= 0).all()
    assert (NeuralPowerPredictor(CONV).fit(table, y).polynomial_.coefficients < 0).any()


@pytest.mark.parametrize("scaler", ["standard", "minmax", "none"])
def test_scalers(convolutions: Any, scaler: str) -> None:
    table = convolutions(150)
    y = 1.0 + 0.02 * table["output_size_0"].to_numpy()
    predictor = NeuralPowerPredictor(CONV, degree=1, scaler=scaler, special_terms=False, relative=False).fit(table, y)
    assert predictor.predict(table) == pytest.approx(y, rel=0.03)


def test_limits_of_what_is_predicted(convolutions: Any) -> None:
    table = convolutions(100)
    y = 1.0 + 0.01 * table["input_size_0"].to_numpy()
    predictor = NeuralPowerPredictor(CONV, degree=2).fit(table, y)
    far = table.with_columns(input_size_0=pl.lit(10**6))
    assert (predictor.predict(far) == 10 * y.max()).all()
    falling = NeuralPowerPredictor(CONV, degree=1, special_terms=False).fit(table, 3.5 - y)
    assert (falling.predict(far) == (3.5 - y).min() / 10).all()


def test_targets_at_and_below_zero(convolutions: Any) -> None:
    table = convolutions(100)
    y = 0.02 * table["input_size_0"].to_numpy() - 0.2
    y[0] = 0.0
    for log_target in (False, True):
        predicted = NeuralPowerPredictor(CONV, log_target=log_target).fit(table, y).predict(table)
        assert np.isfinite(predicted).all()
        assert (predicted >= 0).all()


def test_choice_of_degree(convolutions: Any) -> None:
    table = convolutions(300)
    x = table["input_size_0"].to_numpy().astype(float)
    assert NeuralPowerPredictor(CONV, degree=(1, 2)).fit(table, 1 + 1e-3 * x**2).degree_ == 2
    noise = np.random.default_rng(1).normal(1, 0.1, 300)
    assert NeuralPowerPredictor(CONV, degree=(1, 2)).fit(table, (1 + 0.05 * x) * noise).degree_ == 1


def test_few_rows(dense_layers: Any) -> None:
    table = dense_layers(60)
    y = 1 + 0.01 * table["input_size"].to_numpy()
    for rows, degree in ((3, 1), (9, 1), (10, 2), (49, 2), (50, 3)):
        predictor = NeuralPowerPredictor("dense", degree=3).fit(table[:rows], y[:rows])
        assert predictor.degree_ == degree
        assert ("want of rows" in predictor.note_) == (rows < 50)
    for rows in (1, 2):
        predictor = NeuralPowerPredictor("dense", relative=False).fit(table[:rows], y[:rows])
        assert predictor.predict(table) == pytest.approx(np.full(60, y[:rows].mean()))
        assert predictor.note_.startswith("the mean")


def test_layers_that_are_all_the_same(dense_layers: Any) -> None:
    table = pl.concat([dense_layers(1)] * 8)
    predictor = NeuralPowerPredictor("dense", relative=False).fit(table, np.arange(1.0, 9.0))
    assert predictor.predict(table[:1]) == pytest.approx([4.5])
    assert predictor.note_.startswith("the mean")


def test_constant_target(dense_layers: Any) -> None:
    table = dense_layers(20)
    assert NeuralPowerPredictor("dense").fit(table, np.full(20, 2.5)).predict(table) == pytest.approx(np.full(20, 2.5))


def test_penalty_is_chosen_on_networks_left_out(convolutions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    lasso = neuralpower.LassoCV

    def spy(**settings: Any) -> Any:
        seen.append(settings["cv"])
        return lasso(**settings)

    monkeypatch.setattr(neuralpower, "LassoCV", spy)
    table = convolutions(60)
    networks = np.repeat(["a", "b", "c", "d"], 15)
    y = 1.0 + 0.01 * table["input_size_0"].to_numpy()
    NeuralPowerPredictor(CONV).fit(table, y, networks)
    assert len(seen[0]) == 4
    for training, validation in seen[0]:
        assert not set(networks[training]) & set(networks[validation])


def test_contract_of_scikit_learn(dense_layers: Any) -> None:
    predictor = NeuralPowerPredictor("dense", degree=(1, 2), scaler="minmax")
    assert clone(predictor).get_params() == predictor.get_params()
    table = dense_layers(40)
    array = table.select("batch_size", "input_size", "output_size").to_numpy().astype(float)
    y = 1.0 + 1e-3 * array[:, 1]
    assert cross_val_score(NeuralPowerPredictor("dense"), array, y, cv=4).min() > 0.99
    assert (predictor.fit(array, y).predict(array) == predictor.fit(table, y).predict(table)).all()


def test_no_convergence_warning_reaches_the_user(convolutions: Any) -> None:
    table = convolutions(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        NeuralPowerPredictor(CONV, degree=3).fit(table, np.random.default_rng(0).uniform(1, 2, 60))


@pytest.mark.parametrize("settings", [{"scaler": "robust"}, {"degree": 0}, {"degree": ()}, {"folds": 1}, {"alphas": 0}])
def test_impossible_settings(dense_layers: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(EdgewattError):
        NeuralPowerPredictor("dense", **settings).fit(dense_layers(5), np.ones(5))


@pytest.mark.parametrize("y", [np.zeros(0), np.array([1.0, np.nan, 1.0]), np.array([1.0, np.inf, 1.0])])
def test_impossible_targets(dense_layers: Any, y: Any) -> None:
    with pytest.raises(EdgewattError):
        NeuralPowerPredictor("dense").fit(dense_layers(len(y)), y)
