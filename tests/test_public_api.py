from __future__ import annotations

from pathlib import Path

import pytest

import edgewatt


def test_every_public_name_can_be_had() -> None:
    assert [name for name in edgewatt.__all__ if not hasattr(edgewatt, name)] == []
    with pytest.raises(AttributeError, match="nothing"):
        edgewatt.nothing  # noqa: B018


def test_the_whole_flow_in_a_few_lines(tmp_path: Path) -> None:
    raw, pre, tables = tmp_path / "raw", tmp_path / "pre", tmp_path / "tables"
    edgewatt.simulate(raw, ["squeezenet1_1", "lenet"], cycles=400)
    assert not edgewatt.map_recordings(raw, pre).failed
    assert not edgewatt.build_dataset(pre, tables, min_samples=1).failed
    edgewatt.train(tables, tmp_path / "predictors", settings={"degree": 1})
    prediction = edgewatt.predict(edgewatt.network_layers("lenet"), edgewatt.load_predictors(tmp_path / "predictors"))
    assert prediction.predicted_layers == 7
    assert prediction.energy_including_idle_j is not None
    assert prediction.energy_including_idle_j > prediction.energy_above_idle_j > 0
