"""Which of trained predictors and a board's prior predicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.networks.architectures import network_layers
from edgewatt.predictors.choice import chosen_prediction
from edgewatt.predictors.prior import is_prior
from edgewatt.reports.predictions import prediction_lines
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


def test_the_report_shows_the_prior_and_its_intervals() -> None:
    chosen = chosen_prediction(network_layers("resnet18"), board="orin-nano")
    text, found = "\n".join(origin_lines(chosen)), origin_json(chosen)
    assert text.startswith("PRIOR of Jetson Orin Nano 8 GB")
    assert "So the network's runtime " in text
    low, high = found["runtime_interval_ms"]
    assert low < chosen.prediction.runtime_s * 1e3 < high
    assert high / low == pytest.approx(found["runtime_factor"] ** 2)
    assert all(found[key] for key in ("power_interval_w", "energy_interval_mj"))


def test_the_report_counts_the_layers_of_a_prior_as_executed() -> None:
    layers = network_layers("resnet18")
    lines = prediction_lines(chosen_prediction(layers, board="orin-nano").prediction)
    assert f"All {len(layers)} executed layers are predicted" in lines
