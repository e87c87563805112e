from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.configurations import configurations
from edgewatt.predictors.folds import network_folds, row_folds
from edgewatt.predictors.repeat_error import repeat_error, repeat_errors
from edgewatt.predictors.targets import Target
from small_training import convolutions

CONV = LayerKind.CONVOLUTIONAL


def table(network: str, layers: int, again: int, noise: float = 0.0) -> pl.DataFrame:
    """Layers, each measured several times."""
    rows = pl.concat([convolutions(layers, seed=3)] * again).with_columns(pl.lit(network).alias("network"))
    factors = np.exp(noise * np.random.default_rng(5).standard_normal(rows.height))
    return rows.with_columns(pl.col("runtime") * pl.Series(factors))


def test_rows_of_the_same_features_are_of_one_configuration() -> None:
    numbers = configurations(CONV, table("sweep@seed0", 7, 2))
    assert numbers[:7].tolist() == numbers[7:].tolist()
    assert len(set(numbers.tolist())) == 7


def test_the_repeat_error_is_what_a_perfect_predictor_is_off_by() -> None:
    found = repeat_error(CONV, table("sweep@seed0", 600, 3, noise=0.02), Target.RUNTIME)
    assert found is not None
    assert (found.layers, found.rows) == (600, 1800)
    # Of a normal error of 2 % the mean of the absolute values is 2 % x sqrt(2 / pi), and the median 0.6745 of it.
    assert found.mape == pytest.approx(0.02 * np.sqrt(2 / np.pi), rel=0.04)
    assert found.median == pytest.approx(0.02 * 0.6745, rel=0.06)


def test_layers_of_networks_are_no_repeats() -> None:
    both = pl.concat([table("resnet18", 5, 3, 0.1), table("sweep@seed1", 5, 1)])
    assert repeat_errors({CONV: both}) == {"power": None, "runtime": None}


def test_the_same_layer_in_two_sweeps_is_no_repeat() -> None:
    both = pl.concat([table("sweep@seed0", 5, 1), table("sweep@seed1", 5, 1)])
    assert repeat_error(CONV, both, Target.RUNTIME) is None


@pytest.mark.parametrize("name", ["sweep@seed0", "board/sweep@seed0"])
def test_repeats_are_left_out_together(name: str) -> None:
    tables = {CONV: table(name, 20, 3)}
    for folds in (network_folds(tables, 5), row_folds(tables, 5)):
        numbers = folds.numbers[CONV].reshape(3, 20)
        assert (numbers == numbers[0]).all()
        assert np.unique(numbers[0], return_counts=True)[1].tolist() == [4] * 5
    assert network_folds(tables, 5).grouping[CONV] == "configuration"


def test_a_sweep_beside_networks_is_divided_and_they_are_not() -> None:
    networks = [table(f"net{index}", 9, 1) for index in range(6)]
    tables = {CONV: pl.concat([table("sweep@seed0", 20, 2), *networks])}
    folds = network_folds(tables, 5)
    numbers = folds.numbers[CONV]
    assert folds.grouping[CONV] == "network"
    assert len(set(numbers[:40].tolist())) > 1
    assert numbers[:20].tolist() == numbers[20:40].tolist()
    assert all(len(set(part.tolist())) == 1 for part in np.split(numbers[40:], 6))
