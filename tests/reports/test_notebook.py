"""Results as dictionaries, data frames and HTML."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from page_results import named_layers, page_result

from edgewatt.comparison.compare import compare_results
from edgewatt.dataset.foreign import ForeignTables, ImportedNetwork
from edgewatt.dataset.tables import LeftOut, NetworkTables
from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.mapping_info import MappingInfo
from edgewatt.mapping.run import MappedNetwork
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.evaluate import PROTOCOLS, Evaluation
from edgewatt.predictors.network_prediction import LayerPrediction, NetworkPrediction, Status
from edgewatt.recording.idle import IdleMeasurement
from edgewatt.recording.power_summary import PowerSummary
from edgewatt.recording.recorded_run import RecordedRun
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import LayerResult
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


NAMED = replace(page_result("<i>net</i>"), layers=named_layers("<b>conv</b>", "fc"))
PROTOCOL = next(iter(PROTOCOLS))
SCORES = {"mape": 0.1, "rmspe": 0.2}
OTHERS = [
    NAMED,
    compare_results(NAMED, NAMED),
    ForeignTables((ImportedNetwork("<i>net</i>", {LayerKind.DENSE: TABLES.tables[LayerKind.DENSE]}),), 1),
    IdleMeasurement(Path("i.json"), "<i>net</i>", "s", ("VDD_IN",), PowerSummary(4.0, 0.1, 100, 50, 60.0), ()),
    Evaluation(
        predictor="linear",
        networks=("net",),
        families={},
        measured_whole=True,
        layers={PROTOCOL: {"dense": {"power": {"mean": SCORES}}}},
        intervals={PROTOCOL: {}},
        whole={PROTOCOL: {}},
        coverage={PROTOCOL: {}},
    ),
]


@pytest.mark.parametrize("result", [MAPPED, TABLES, PREDICTION, RUN, *OTHERS], ids=lambda result: type(result).__name__)
def test_every_result_shows_itself(result: Tabular) -> None:
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    assert result.to_polars().height >= 1
    html = result._repr_html_()
    assert "<table" in html
    assert "<b>conv" not in html
    assert "<i>net" not in html


def test_a_result_that_was_read_has_units_and_intervals() -> None:
    # The first layer takes 1 mJ with idle, 0.6 mJ above it, in 0.1 ms.
    row = NAMED.to_polars().row(0, named=True)
    assert (row["layer_name"], row["identifiable"]) == ("<b>conv</b>", False)
    assert row["runtime_ms"] == pytest.approx(0.1)
    assert (row["energy_mj"], row["energy_low_mj"], row["energy_high_mj"]) == pytest.approx((1.0, 0.9, 1.1))
    assert row["energy_above_idle_mj"] == pytest.approx(0.6)
    found = NAMED.to_dict()
    assert (found["name"], found["environment"]["power_mode"]) == ("<i>net</i>", "15W")
    assert found["runtime_ms"]["value"] == pytest.approx(1.6)


def test_a_result_without_powers_is_a_table_of_the_same_types() -> None:
    bare = replace(NAMED, layers=(LayerResult("a", LayerKind.OTHER, "x"),))
    assert bare.to_polars().schema == NAMED.to_polars().schema
    assert bare.to_polars()["energy_mj"].to_list() == [None]


def test_rows_of_a_comparison_say_what_changed() -> None:
    faster = replace(NAMED.layers[0], runtime_s=Estimate(5e-5, 4.9e-5, 5.1e-5, 19))
    frame = compare_results(NAMED, replace(NAMED, layers=(faster, *NAMED.layers[1:]))).to_polars()
    assert frame["runtime_ms_relative"].to_list() == pytest.approx([-0.5, 0.0])
    assert frame["runtime_ms_beyond_noise"].to_list() == [True, False]


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
