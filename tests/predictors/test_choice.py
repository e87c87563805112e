"""Which of trained predictors and a board's prior predicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.networks.architectures import network_layers
from edgewatt.predictors.choice import chosen_prediction
from edgewatt.predictors.prior import is_prior
from edgewatt.reports.prior import origin_json, origin_lines


def test_board_without_predictors_is_a_prior(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Predictors that merely lie there do not win over a board that was named.
    (tmp_path / "predictors").mkdir()
    chosen = chosen_prediction(network_layers("lenet"), board="orin_nano")
    assert (chosen.prior_of, chosen.predictors) == ("orin-nano", None)
    assert is_prior(chosen.prediction)
    assert "PRIOR" in origin_lines(chosen)[0]
    assert origin_json(chosen)["prior"] is True


def test_named_predictors_win(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"holds no predictors\.json"):
        chosen_prediction(network_layers("lenet"), predictors=tmp_path, board="orin-nano")


def test_nothing_to_predict_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EdgewattError, match=r"no predictors.*--board: orin-nano"):
        chosen_prediction(network_layers("lenet"))
