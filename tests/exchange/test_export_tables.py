from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from edgewatt.dataset.run import build_dataset
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.exchange.export import export
from edgewatt.formats.trtexec_profile import read_profile
from edgewatt.mapping.run import map_recordings
from edgewatt.networks.architectures import network_layers
from edgewatt.predictors.predictions_file import write_predictions
from edgewatt.predictors.prior import prior_prediction
from edgewatt.reports.predictions import prediction_json
from recording_builder import RecordingBuilder

# Worked out from the recording's readings by hand: those within 1.1 to 1.5 s, and within 1.9 to 2.7 s.
_POWERS = [6.25, 8.75]
_NAMES = ["conv0", "fc0"]


@pytest.fixture
def flow(tmp_path: Path, builder: Callable[..., RecordingBuilder]) -> Path:
    """Two recordings, mapped, and as training tables."""
    builder().write()
    builder("other").write()
    map_recordings(tmp_path / "raw", tmp_path / "pre", method="window")
    build_dataset(tmp_path / "pre", tmp_path / "train", min_samples=1)
    return tmp_path


def test_the_layers_of_a_mapped_network(flow: Path) -> None:
    done = export(flow / "pre/net", flow / "out.parquet")
    assert (done.file_format, done.source, done.rows) == ("parquet", "a mapped network", 2)
    table = pl.read_parquet(flow / "out.parquet")
    assert table["layer_name"].to_list() == _NAMES
    assert table["power_w"].to_list() == pytest.approx(_POWERS)
    assert (table.schema["samples"], table.schema["identifiable"]) == (pl.Int64, pl.Boolean)


def test_every_network_of_a_folder_with_its_name(flow: Path) -> None:
    export(flow / "pre", flow / "out.json")
    rows = json.loads((flow / "out.json").read_text())
    assert [(row["network"], row["layer_name"]) for row in rows] == [
        (network, layer) for network in ("net", "other") for layer in _NAMES
    ]
    assert rows[0]["identifiable"] is None


def test_cycles_of_a_mapped_network(flow: Path) -> None:
    export(flow / "pre/net", flow / "out.csv", table="cycles")
    table = pl.read_csv(flow / "out.csv")
    assert table["layer_power_including_idle_power_micro_watt"].to_list() == pytest.approx([6.25e6, 8.75e6])


def test_training_tables_of_every_kind_and_of_one(flow: Path) -> None:
    export(flow / "train", flow / "all.parquet")
    table = pl.read_parquet(flow / "all.parquet")
    assert table.select("network", "kind", "layer_name").rows() == [
        (network, kind, layer)
        for network in ("net", "other")
        for kind, layer in (("convolutional", "conv0"), ("dense", "fc0"))
    ]
    assert table["kernel_0"].to_list() == [3, None, 3, None]
    assert table["power"].to_list() == pytest.approx([2.25e6, 4.75e6] * 2)  # less 4 W of idle power
    export(flow / "train/net", flow / "dense.csv", table="dense")
    assert pl.read_csv(flow / "dense.csv")["input_size"].to_list() == [256]


def test_tables_of_a_recording(flow: Path) -> None:
    export(flow / "raw/net", flow / "cycles.parquet")
    cycles = pl.read_parquet(flow / "cycles.parquet")
    assert cycles.select("cycle", "layer_name", "runtime_ms").rows() == [(1, "conv0", 400.0), (1, "fc0", 800.0)]
    assert str(cycles["reported"][0]) == "2024-11-21 05:20:01.500000"
    export(flow / "raw/net", flow / "readings.csv", table="readings")
    readings = pl.read_csv(flow / "readings.csv")
    assert readings["power_w"].to_list() == pytest.approx([5.5 + 0.5 * number for number in range(11)])


_PREDICTION = (
    '"layer_name","layer_type","power_prediction (W)","runtime_prediction (ms)","energy_prediction (mJ)","note"\n'
    '"a ""b""","dense",2.5,0.5,1.25,"fine"\n"c","other",,0.25,,\n'
)


def test_a_prediction_keeps_its_types(tmp_path: Path) -> None:
    (tmp_path / "predictions.csv").write_text(_PREDICTION)
    export(tmp_path / "predictions.csv", tmp_path / "out.parquet")
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert table["layer_name"].to_list() == ['a "b"', "c"]
    assert table["power_prediction (W)"].to_list() == [2.5, None]
    assert table["note"].to_list() == ["fine", None]


def test_what_predict_printed_as_json_is_the_same_table(tmp_path: Path) -> None:
    layers = network_layers("lenet")
    prediction = prior_prediction(layers, "orin-nano")
    write_predictions(tmp_path / "p.csv", prediction)
    (tmp_path / "p.json").write_text(json.dumps(prediction_json("lenet", prediction)))
    for name in ("p.csv", "p.json"):
        export(tmp_path / name, tmp_path / f"{name}.parquet")
    text, printed = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("p.csv", "p.json"))
    assert set(printed.columns) == set(text.columns)
    for name in ("power_prediction (W)", "runtime_prediction (ms)", "energy_prediction (mJ)"):
        assert printed[name].to_list() == pytest.approx(text[name].to_list())
    assert printed["layer_name"].to_list() == text["layer_name"].to_list()
    export(tmp_path / "p.json", tmp_path / "p.trace.json")
    (tmp_path / "other.json").write_text(
        '[{"count": 3}, {"name": "a", "timeMs": 1, "averageMs": 1, "percentage": 100}]'
    )
    with pytest.raises(FormatError, match="trtexec"):
        export(tmp_path / "other.json", tmp_path / "x.csv")


def test_profiles_of_a_recording_a_mapped_network_and_a_prediction(flow: Path) -> None:
    for source in ("raw/net", "pre/net"):
        assert export(flow / source, flow / "a.profile.json").rows == 2
        profile = read_profile(flow / "a.profile.json")
        assert (profile.names, profile.cycles) == (tuple(_NAMES), 1)
        assert profile.total_ms.tolist() == [400.0, 800.0]
        assert profile.median_ms is not None
    (flow / "pre/net/power_runtime_mapping_layerwise.csv").unlink()
    export(flow / "pre/net", flow / "b.json", file_format="trtexec-profile")
    profile = read_profile(flow / "b.json")
    assert profile.mean_ms.tolist() == [400.0, 800.0]
    assert profile.median_ms is None
    (flow / "predictions.csv").write_text(_PREDICTION)
    export(flow / "predictions.csv", flow / "c.profile.json")
    assert json.loads((flow / "c.profile.json").read_text())[1]["percentage"] == pytest.approx(200 / 3)


@pytest.mark.parametrize(
    ("source", "out", "options", "message"),
    [
        ("raw", "x.csv", {}, "recordings of several networks.*raw/net"),
        ("nowhere", "x.csv", {}, "no such folder"),
        ("pre", "x.profile.json", {}, "holds several networks, and this format is of one.*pre/net"),
        ("train/net", "x.profile.json", {}, "no order of layers"),
        ("pre/net", "x.xlsx", {}, "no format 'xlsx'. Name one with --format: csv, json"),
        ("pre/net", "x", {}, "does not tell the format"),
        ("pre/net", "x.csv", {"table": "dense"}, "a mapped network has no table 'dense'. There are: layers, cycles"),
        ("pre/net", "x.profile.json", {"table": "layers"}, "holds no table"),
        ("pre/net", "x.csv", {"cycles": 3}, "not cut to a number of cycles"),
        ("raw/net/trt_profiling", "x.csv", {}, "nothing here to export"),
        ("raw/net/net_power_log.log", "x.csv", {}, "not a file of predictions. It looks like a power log"),
    ],
)
def test_what_cannot_be_exported(
    flow: Path, source: str, out: str, options: dict[str, str | int], message: str
) -> None:
    with pytest.raises(EdgewattError, match=message):
        export(flow / source, flow / out, **options)  # type: ignore[arg-type]
    assert not (flow / out).exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_PREDICTION.splitlines()[0] + "\n", "holds no layer"),
        (_PREDICTION.replace("0.25", "soon"), r"line 3: runtime_prediction \(ms\) is 'soon'"),
        ("layer_name,power\na,1\n", "not a file of predictions"),
    ],
)
def test_broken_predictions(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "predictions.csv").write_text(text)
    with pytest.raises(FormatError, match=message):
        export(tmp_path / "predictions.csv", tmp_path / "out.csv")
