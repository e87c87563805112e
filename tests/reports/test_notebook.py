"""Results as dictionaries, data frames and HTML."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from edgewatt.dataset.tables import LeftOut, NetworkTables
from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.mapping_info import MappingInfo
from edgewatt.mapping.run import MappedNetwork
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.network_prediction import LayerPrediction, NetworkPrediction, Status
from edgewatt.recording.recorded_run import RecordedRun
from edgewatt.tabular import Tabular

_CONV = Layer("<b>conv</b>", LayerKind.CONVOLUTIONAL, "convolution", (1, 3, 8, 8), (1, 4, 8, 8), (3, 3))
MAPPED = MappedNetwork(
    "<i>net</i>",
    Path("pre/net"),
    [LayerPower("<b>conv</b>", "Conv", 0.5, 8.0, 4.0, 7.0, 9.0, 4.0, 12, True)],
    MappingInfo(edgewatt_version="0", model="net", method="window", cycles=10, layers=1),
)
TABLES = NetworkTables(
    "net",
    {
        LayerKind.CONVOLUTIONAL: pl.DataFrame({"layer_name": ["<b>conv</b>"], "kernel_0": [3], "power": [4e6]}),
        LayerKind.DENSE: pl.DataFrame({"layer_name": ["fc"], "input_size": [10], "power": [3e6]}),
        LayerKind.OTHER: pl.DataFrame({"layer_name": []}, schema={"layer_name": pl.String}),
    },
    dict.fromkeys(LayerKind, 0.25),
    [LeftOut("pool", "2 power values, fewer than 10")],
)
PREDICTION = NetworkPrediction(
    (LayerPrediction(_CONV, LayerKind.CONVOLUTIONAL, Status.PREDICTED, 4.0, 5e-4),), idle_power_w=4.0
)
RUN = RecordedRun("net", Path("raw/net"), "onnxruntime", 100, 2, 1e-3, None, None, None, ("a doubt",), None, None)


@pytest.mark.parametrize("result", [MAPPED, TABLES, PREDICTION, RUN], ids=lambda result: type(result).__name__)
def test_every_result_shows_itself(result: Tabular) -> None:
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    assert result.to_polars().height >= 1
    html = result._repr_html_()
    assert "<table" in html
    assert "<b>conv" not in html
    assert "<i>net" not in html


def test_layers_are_rows() -> None:
    assert MAPPED.to_polars().select("layer_name", "energy_mj").rows() == [("<b>conv</b>", 4.0)]
    predicted = PREDICTION.to_polars()
    # 4 W for 0.5 ms is 2 mJ.
    assert predicted["energy_prediction (mJ)"].to_list() == [2.0]
    assert "network" not in PREDICTION.to_dict()
    assert PREDICTION.to_dict()["totals"]["energy_mj"] == pytest.approx(4.0)


def test_tables_of_all_kinds_become_one() -> None:
    frame = TABLES.to_polars()
    assert frame.select("layer_name", "kind", "kernel_0", "input_size").rows() == [
        ("<b>conv</b>", "convolutional", 3, None),
        ("fc", "dense", None, 10),
    ]


def test_a_run_is_one_row() -> None:
    row = RUN.to_polars().to_dicts()[0]
    assert (row["model"], row["cycle_ms"], row["mean_power_w"]) == ("net", 1.0, None)
    assert RUN.to_dict()["verdict"] == ["a doubt"]


def test_scores_are_rows(tmp_path: Path) -> None:
    """On tables that are made by hand: runtime is the input's size in µs, power 4 W."""
    from edgewatt.predictors.training import train

    for network, sizes in (("a", range(100, 1100, 100)), ("b", range(150, 1150, 100))):
        (tmp_path / "tables" / network).mkdir(parents=True)
        rows = "".join(f"1,{size},{size},4000000,{size / 1e3},fc{size}\n" for size in sizes)
        text = "batch_size,input_size,output_size,power,runtime,layer_name\n" + rows
        (tmp_path / "tables" / network / "dense.csv").write_text(text)
    result = train(tmp_path / "tables", tmp_path / "predictors", predictor="mean")
    frame = result.to_polars()
    assert {("dense", "power"), ("dense", "runtime")} <= set(frame.select("kind", "target").rows())
    of_runtime = frame.filter((pl.col("kind") == "dense") & (pl.col("target") == "runtime")).to_dicts()[0]
    assert of_runtime["rows"] == 20
    assert of_runtime["cv_mape"] == result.metrics["dense"]["runtime"]["cv"]["mape"]
    assert "<table" in result._repr_html_()
