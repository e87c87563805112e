from __future__ import annotations

import numpy as np
import pytest

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.correction import (
    FEATURES,
    CorrectionRows,
    choose_strength,
    fit_corrections,
    log_factors,
)

CONV, POOL = LayerKind.CONVOLUTIONAL, LayerKind.POOLING


def _rows(groups: int, of_each: int, *, slope: float = 0.0, offset: float = 0.0, noise: float = 0.0) -> CorrectionRows:
    """Layers whose ratio is 2, times what a slope and an offset of pooling layers make of it."""
    random = np.random.default_rng(0)
    count = groups * of_each
    features = {name: random.standard_normal(count) for name in FEATURES}
    kinds = np.where(np.arange(count) % 3 == 0, POOL.value, CONV.value)
    ratio = np.log(2.0) + slope * features["log bytes rate"] + offset * (kinds == POOL.value)
    return CorrectionRows(
        features,
        kinds,
        np.repeat(np.arange(groups), of_each),
        ratio + noise * random.standard_normal(count),
        np.ones(count),
    )


def test_a_plain_scale_is_the_geometric_mean_every_network_counted_once() -> None:
    rows = _rows(2, 3)
    uneven = CorrectionRows(
        rows.features,
        rows.kinds,
        np.array([0, 0, 0, 0, 0, 1]),
        np.log(np.array([2.0, 2.0, 2.0, 2.0, 2.0, 8.0])),
        np.ones(6),
    )
    corrections = fit_corrections(uneven, float("inf"))
    assert np.exp(corrections[None].constant) == pytest.approx(4.0)
    assert corrections[CONV] == corrections[None]


def test_a_slope_and_an_offset_are_found_where_layers_are_many() -> None:
    rows = _rows(5, 60, slope=0.3, offset=-0.5)
    corrections = fit_corrections(rows, 0.3)
    assert corrections[CONV].slopes["log bytes rate"] == pytest.approx(0.3, rel=0.02)
    assert corrections[POOL].constant - corrections[CONV].constant == pytest.approx(-0.5, rel=0.02)
    assert log_factors(rows, corrections) == pytest.approx(rows.log_ratio, abs=0.02)


def test_the_penalty_is_strong_for_noise_and_weak_for_what_is_there() -> None:
    assert choose_strength(_rows(5, 8, noise=0.3)) >= 30.0
    assert choose_strength(_rows(5, 60, slope=0.3)) <= 1.0
    assert choose_strength(_rows(2, 60, slope=0.3)) == float("inf"), "two networks tell no more than a scale"


def test_no_factor_goes_beyond_those_that_were_measured() -> None:
    rows = _rows(5, 60, slope=0.3)
    correction = fit_corrections(rows, 0.3)[CONV]
    far = {name: np.array([100.0, -100.0]) for name in FEATURES}
    assert correction.log_factor(far) == pytest.approx([rows.log_ratio.max(), rows.log_ratio.min()])
