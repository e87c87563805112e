"""Cross-validation predicts every row by a predictor that has not seen it, nor its network."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.baselines import MeanPredictor
from edgewatt.predictors.evaluation import cross_validate


class _Spy(MeanPredictor):
    """Remembers the networks that it was trained on, and fails when it predicts one of them."""

    fitted: int = 0

    def fit(self, table: Any, y: Any, groups: Any = None) -> _Spy:
        _Spy.fitted += 1
        self.seen = set(zip(table["network"].to_list(), table["layer_name"].to_list(), strict=True))
        assert {name for name, _ in self.seen} == set(groups)
        assert len(table) == len(y) == len(groups)
        super().fit(table, y)
        return self

    def predict(self, table: Any) -> Any:
        rows = set(zip(table["network"].to_list(), table["layer_name"].to_list(), strict=True))
        assert not rows & self.seen
        self.predicted_networks = {name for name, _ in rows}
        return super().predict(table)


class _NetworkSpy(_Spy):
    def predict(self, table: Any) -> Any:
        result = super().predict(table)
        assert not self.predicted_networks & {name for name, _ in self.seen}
        return result


@pytest.mark.parametrize(("networks", "grouping", "spy"), [(6, "network", _NetworkSpy), (4, "row", _Spy)])
def test_never_sees_what_it_predicts(dense_layers: Any, networks: int, grouping: str, spy: type[_Spy]) -> None:
    names = np.array([f"net{index % networks}" for index in range(40)])
    table = dense_layers(40).with_columns(pl.Series("network", names))
    _Spy.fitted = 0
    found = cross_validate(lambda: spy("dense"), table, np.arange(1.0, 41.0), names)
    assert found.grouping == grouping
    assert _Spy.fitted == (networks if grouping == "network" else 10)
    assert found.scores.rows == 40
    assert found.scores.networks == networks


def test_leave_one_row_out_by_hand(dense_layers: Any) -> None:
    y = np.array([1.0, 2.0, 4.0])
    found = cross_validate(lambda: MeanPredictor(LayerKind.DENSE), dense_layers(3), y, ["a", "a", "b"])
    # The geometric mean of the other two.
    assert found.predicted == pytest.approx([np.sqrt(8), 2.0, np.sqrt(2)])
    assert found.scores.mape == pytest.approx((np.sqrt(8) - 1 + 0 + 1 - np.sqrt(2) / 4) / 3)
