"""Evaluation by network, family and row, and training with the default predictor."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from edgewatt.errors import EdgewattError
from edgewatt.formats.csv_file import write_csv
from edgewatt.formats.network_info import NetworkInfo, write_network_info
from edgewatt.formats.training_tables import read_table, table_path
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.evaluate import evaluate
from edgewatt.predictors.folder import load_predictors
from edgewatt.predictors.metrics import rank_correlation
from edgewatt.predictors.prediction import predict
from edgewatt.predictors.training import train
from edgewatt.reports.evaluation import evaluation_json

CONV = LayerKind.CONVOLUTIONAL


@pytest.fixture
def measured_dir(training_dir: Path) -> Path:
    """The training tables with whole networks: 0.9 of the layers' time, and 3 W of idle power.

    The networks a to f are recorded at 10 tables of 12 convolutions by repeating them under other names.
    """
    for path in sorted(training_dir.iterdir()):
        for copy in ("", "x"):
            folder = training_dir / f"{path.name}{copy}"
            table = read_table(table_path(path, CONV), CONV)
            if copy:
                table = table.with_columns(pl.col("output_size_0") + 1)
                write_csv(table_path(folder, CONV), table)
            runtime_s = float(table["runtime"].sum()) * 1e-3
            energy_j = float((table["runtime"] * table["power"]).sum()) * 1e-9
            info = NetworkInfo(
                edgewatt_version="0",
                model=folder.name,
                runtime_s=0.9 * runtime_s,
                energy_j=energy_j + 3.0 * 0.9 * runtime_s,
                time_share=1.0,
                idle_power_w=3.0,
                run={"board": "orin-nano", "power_mode": "15W", "versions": {"tensorrt": "10.3"}},
            )
            write_network_info(folder / "network.json", info)
            dense = table_path(folder, LayerKind.DENSE)
            dense.unlink(missing_ok=True)
    return training_dir


@pytest.mark.usefixtures("quick_polynomials")
def test_each_protocol_is_scored_beside_the_baselines(measured_dir: Path) -> None:
    for name in ("bx", "cx", "dx", "ex", "fx"):
        shutil.rmtree(measured_dir / name)
    steps: list[str] = []
    found = evaluation_json(evaluate(measured_dir, progress=steps.append, named_families={"ax": "second"}))
    assert set(found["protocols"]) == {"network", "family", "row"}
    assert found["networks_measured_whole"]
    assert found["families"]["ax"] == "second"
    assert steps
    for protocol, scored in found["protocols"].items():
        layers = scored["layers"]["convolutional"]["runtime"]
        assert set(layers) == {"physics", "neuralpower", "mean"}
        assert layers["physics"]["grouping"] == protocol
        assert layers["physics"]["mape"] < 0.2 * layers["mean"]["mape"]
        energy = scored["network"]["energy"]
        assert set(energy["baselines"]) == {"sum of layers", "neuralpower", "macs+bytes+layers", "mean"}
        assert energy["cv"]["mape"] < energy["baselines"]["mean"]["cv"]["mape"]
        assert energy["cv"]["rank_correlation"] > 0.8
        # Seven networks of 12 convolutions, all predicted by the predictor of their kind.
        assert scored["coverage"] == {"predicted_layers": 84, "fallback_layers": 0, "uncovered_layers": 0}


@pytest.mark.usefixtures("quick_polynomials")
def test_training_with_whole_networks(measured_dir: Path, tmp_path: Path) -> None:
    result = train(measured_dir, tmp_path / "predictors")
    metrics = json.loads((tmp_path / "predictors" / "metrics.json").read_text())
    assert metrics == result.metrics
    entry = metrics["convolutional"]["runtime"]
    assert entry["predictor"] == "physics"
    assert set(entry["baselines"]) == {"mean", "neuralpower"}
    assert 0.8 < entry["interval"]["coverage"]["mean"] < 0.97
    assert metrics["network"]["energy"]["cv"]["mape"] < 0.1
    assert metrics["network"]["energy"]["interval"]["covered"] >= 0.75
    predictors = load_predictors(tmp_path / "predictors")
    assert predictors.calibration is not None
    assert predictors.calibration.networks == 12
    assert set(predictors.calibration.intervals) == {"runtime", "energy", "power"}
    assert predictors.calibration.runtime_scale == pytest.approx(0.9, rel=0.1)
    assert predictors.runs["board"] == ("orin-nano",)
    card = (tmp_path / "predictors" / "card.md").read_text()
    assert "orin-nano" in card
    assert "tensorrt 10.3" in card
    assert "| energy | 12 |" in card


@pytest.mark.usefixtures("quick_polynomials")
def test_every_executed_layer_is_predicted_with_an_interval(measured_dir: Path, tmp_path: Path) -> None:
    train(measured_dir, tmp_path / "predictors")
    found = predict(network_layers("lenet"), load_predictors(tmp_path / "predictors"))
    assert found.uncovered_layers == 0
    assert found.fallback_layers > 0
    convolutions = [layer for layer in found.layers if layer.kind is CONV]
    for layer in convolutions:
        for value, ends in (
            (layer.power_w, layer.power_interval_w),
            (layer.runtime_s, layer.runtime_interval_s),
            (layer.energy_j, layer.energy_interval_j),
        ):
            assert value is not None
            assert ends is not None
            assert ends.low < value < ends.high
    assert found.whole is not None
    assert found.whole.runtime_interval_s is not None
    assert found.whole.runtime_interval_s.low < found.whole.runtime_s < found.whole.runtime_interval_s.high


def test_what_cannot_be_evaluated(training_dir: Path) -> None:
    with pytest.raises(EdgewattError, match="no predictor 'magic'"):
        evaluate(training_dir, predictor="magic")
    with pytest.raises(EdgewattError, match="no network 'z'"):
        evaluate(training_dir, named_families={"z": "y"})


def test_rank_correlation() -> None:
    true = pl.Series([1.0, 2.0, 3.0, 4.0]).to_numpy()
    assert rank_correlation(true, true**3) == pytest.approx(1.0)
    assert rank_correlation(true, -true) == pytest.approx(-1.0)
    # Ranks 1, 2.5, 2.5, 4 against 1 to 4: 1 - 6 x 0.5 / 60, corrected for the tie, is 0.9487.
    assert rank_correlation(true, pl.Series([1.0, 2.0, 2.0, 9.0]).to_numpy()) == pytest.approx(0.9487, abs=1e-4)
    assert rank_correlation(true[:2], true[:2]) is None
    assert rank_correlation(true, true * 0) is None
