from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from edgewatt.dataset.features import feature_frame, table_kind
from edgewatt.dataset.run import build_dataset
from edgewatt.dataset.tables import build_tables
from edgewatt.errors import EdgewattError, EdgewattWarning
from edgewatt.formats.training_tables import BASE_FEATURES, columns, read_table, table_path
from edgewatt.mapping.run import map_recordings
from edgewatt.networks.layer import Layer, LayerKind
from recording_builder import CONV, DENSE, RecordingBuilder

Builder = Callable[..., RecordingBuilder]
POOL = {
    "Name": "pool0",
    "LayerType": "CaskPooling",
    "ParameterType": "Pooling",
    "PoolingType": "MAX",
    "WindowSize": [3, 3],
    "Stride": [2, 2],
    "PrePadding": [1, 1],
    "PostPadding": [1, 1],
    "Inputs": [{"Name": "a", "Dimensions": [1, 64, 112, 112], "Format/Datatype": "Row major linear FP16 format"}],
    "Outputs": [{"Name": "b", "Dimensions": [1, 64, 56, 56], "Format/Datatype": "Row major linear FP16 format"}],
}
REFORMAT = {
    "Name": "Reformatting CopyNode",
    "LayerType": "Reformat",
    "ParameterType": "Reformat",
    "Inputs": [{"Name": "a", "Dimensions": [1, 3, 8, 8], "Format/Datatype": "Row major linear FP32"}],
    "Outputs": [{"Name": "b", "Dimensions": [1, 3, 8, 8], "Format/Datatype": "Row major linear FP16 format"}],
}


def mapped(made: RecordingBuilder, tmp_path: Path) -> Path:
    batch = map_recordings(made.write().raw_dir, tmp_path / "pre", method="window")
    assert not batch.failed
    return tmp_path / "pre"


def four_kinds(builder: Builder) -> RecordingBuilder:
    made = builder()
    made.engine = {"Layers": [REFORMAT, CONV, POOL, DENSE]}
    made.latency = {
        "Reformatting CopyNode": [[200.0, "20241121-05:20:01.3"]],
        "conv0": [[400.0, "20241121-05:20:01.5"]],
        "pool0": [[600.0, "20241121-05:20:02.2"]],
        "fc0": [[800.0, "20241121-05:20:02.7"]],
    }
    return made


def test_every_layer_ends_in_one_of_four_tables(builder: Builder, tmp_path: Path) -> None:
    batch = build_dataset(mapped(four_kinds(builder), tmp_path), tmp_path / "train", min_samples=1)
    tables = batch.done[0]
    assert {kind: table["layer_name"].to_list() for kind, table in tables.tables.items()} == {
        LayerKind.CONVOLUTIONAL: ["conv0"],
        LayerKind.POOLING: ["pool0"],
        LayerKind.DENSE: ["fc0"],
        LayerKind.OTHER: ["Reformatting CopyNode"],
    }
    assert tables.time_share == {
        LayerKind.CONVOLUTIONAL: pytest.approx(0.2),
        LayerKind.POOLING: pytest.approx(0.3),
        LayerKind.DENSE: pytest.approx(0.4),
        LayerKind.OTHER: pytest.approx(0.1),
    }
    assert tables.left_out == []


def test_base_columns_come_first_and_hold_what_the_layer_is(builder: Builder, tmp_path: Path) -> None:
    build_dataset(mapped(four_kinds(builder), tmp_path), tmp_path / "train", min_samples=1)
    header = (tmp_path / "train/net/convolutional.csv").read_text().splitlines()[0].replace('"', "").split(",")
    assert header[:16] == [*BASE_FEATURES[LayerKind.CONVOLUTIONAL], "power", "runtime", "layer_name"]
    assert header[:7] == ["batch_size", *(f"{side}_size_{i}" for side in ("input", "output") for i in range(3))]
    pooling = read_table(table_path(tmp_path / "train/net", LayerKind.POOLING), LayerKind.POOLING).to_dicts()[0]
    assert [pooling[name] for name in columns(LayerKind.POOLING)[:11]] == [1, 64, 112, 112, 64, 56, 56, 3, 3, 2, 2]
    dense = read_table(table_path(tmp_path / "train/net", LayerKind.DENSE), LayerKind.DENSE).to_dicts()[0]
    assert (dense["batch_size"], dense["input_size"], dense["output_size"]) == (1, 256, 10)
    # fc0 runs from 1.9 to 2.7 s: 1600, 1700, 1800, 1900 mA at 5 V are 8.75 W, 4 W of them idle.
    assert (dense["power"], dense["runtime"], dense["samples"]) == (4.75e6, 800.0, 1)
    assert (dense["idle_power_w"], dense["method"], dense["precision"]) == (4.0, "window", "float16")
    convolution = read_table(table_path(tmp_path / "train/net", LayerKind.CONVOLUTIONAL), LayerKind.CONVOLUTIONAL)
    row = convolution.to_dicts()[0]
    assert (row["padding_0"], row["groups"], row["macs"]) == (2, 1, 4 * 8 * 8 * 3 * 9)
    assert (row["weight_bytes"], row["input_bytes"], row["output_bytes"]) == (2 * 112, 2 * 192, 2 * 256)


def test_a_layer_with_few_samples_is_left_out_and_listed(builder: Builder, tmp_path: Path) -> None:
    made = builder()
    made.latency = {
        "conv0": [[400.0, "20241121-05:20:01.5"], [0.001, "20241121-05:20:01.55"]],
        "fc0": [[800.0, "20241121-05:20:02.7"], [100.0, "20241121-05:20:02.8"]],
    }
    tables = build_tables(mapped(made, tmp_path) / "net", min_samples=2)
    assert [(layer.layer_name, layer.reason) for layer in tables.left_out] == [("conv0", "1 power value, fewer than 2")]
    assert tables.tables[LayerKind.DENSE].height == 1
    assert tables.tables[LayerKind.CONVOLUTIONAL].height == 0


def test_empty_tables_are_warned_about(builder: Builder, tmp_path: Path) -> None:
    folder = mapped(builder(), tmp_path) / "net"
    with pytest.warns(EdgewattWarning, match=r"all its layers are left out.*--min-samples"):
        tables = build_tables(folder, min_samples=1000)
    assert sum(table.height for table in tables.tables.values()) == 0


def test_layers_that_share_a_name_get_a_row_each(builder: Builder, tmp_path: Path) -> None:
    wider = {
        **CONV,
        "OutMaps": 8,
        "Weights": {"Type": "Half", "Count": 216},
        "Outputs": [{**CONV["Outputs"][0], "Dimensions": [1, 8, 8, 8]}],
    }  # type: ignore[index]
    made = builder()
    made.engine = {"Layers": [CONV, wider]}
    made.latency = {"conv0": [[100.0, "20241121-05:20:01.5"], [300.0, "20241121-05:20:02.5"]]}
    table = build_tables(mapped(made, tmp_path) / "net", min_samples=1).tables[LayerKind.CONVOLUTIONAL]
    assert table.select("layer_name", "output_size_0", "runtime").rows() == [
        ("conv0", 4, 100.0),
        ("conv0 (2)", 8, 300.0),
    ]


def test_a_layer_that_the_engine_does_not_know_is_listed(builder: Builder, tmp_path: Path) -> None:
    made = builder()
    made.latency = {**made.latency, "ghost": [[100.0, "20241121-05:20:02.7"]]}  # type: ignore[dict-item]
    with pytest.warns(UserWarning, match="ghost"):
        folder = mapped(made, tmp_path)
    tables = build_tables(folder / "net", min_samples=1)
    assert [(layer.layer_name, layer.reason) for layer in tables.left_out] == [("ghost", "the engine does not know it")]


def test_a_folder_of_the_base_method_has_no_layer_power(builder: Builder, tmp_path: Path) -> None:
    folder = mapped(builder(), tmp_path) / "net"
    ours = build_tables(folder, min_samples=1)
    (folder / "layer_power.csv").unlink()
    (folder / "mapping.json").unlink()
    theirs = build_tables(folder, min_samples=1)
    assert theirs.time_share == ours.time_share
    for kind in LayerKind:
        assert theirs.tables[kind].equals(ours.tables[kind])


def test_a_batch_goes_on_after_an_engine_of_names_only(builder: Builder, tmp_path: Path) -> None:
    builder("good").write()
    folder = mapped(builder("names"), tmp_path)
    (folder / "names/trt_engine_info.json").write_text(json.dumps({"Layers": ["conv0", "fc0"]}))
    batch = build_dataset(folder, tmp_path / "train", min_samples=1)
    assert [network.model for network in batch.done] == ["good"]
    assert "profilingVerbosity=detailed" in str(batch.failed["names"])
    assert not (tmp_path / "train/names").exists()


def test_no_mapped_network(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match="no such folder"):
        build_dataset(tmp_path / "none", tmp_path / "train")
    with pytest.raises(EdgewattError, match="no mapped network"):
        build_dataset(tmp_path, tmp_path / "train")


def test_what_the_base_columns_cannot_describe_goes_to_other() -> None:
    flat = Layer("a", LayerKind.CONVOLUTIONAL, "convolution", (1, 3, 8, 8), (1, 4, 8, 8), (3, 3))
    deep = Layer("b", LayerKind.CONVOLUTIONAL, "convolution", (1, 3, 4, 8, 8), (1, 4, 4, 8, 8), None, macs=5)
    assert (table_kind(flat), table_kind(deep)) == (LayerKind.CONVOLUTIONAL, LayerKind.OTHER)
    assert feature_frame(LayerKind.OTHER, [deep]).to_dicts()[0]["macs"] == 5


@pytest.mark.parametrize(
    ("inputs", "outputs", "macs", "expected"),
    [
        ((1, 512, 1, 1), (1, 1000, 1, 1), 512_000, (1, 512, 1000)),
        ((32, 512, 1, 1), (32, 1000, 1, 1), 32 * 512_000, (32, 512, 1000)),
        ((4, 9216), (4, 4096), 4 * 9216 * 4096, (4, 9216, 4096)),
        ((2, 7, 64), (2, 7, 10), 2 * 7 * 640, (14, 64, 10)),
    ],
)
def test_dense_sizes(
    inputs: tuple[int, ...], outputs: tuple[int, ...], macs: int, expected: tuple[int, int, int]
) -> None:
    layer = Layer("a", LayerKind.DENSE, "gemm", inputs, outputs, macs=macs)
    row = feature_frame(LayerKind.DENSE, [layer]).to_dicts()[0]
    assert (row["batch_size"], row["input_size"], row["output_size"]) == expected


def test_empty_tables_keep_their_columns() -> None:
    for kind in LayerKind:
        frame = feature_frame(kind, [])
        assert frame.height == 0
        assert isinstance(frame, pl.DataFrame)
        assert "layer_name" in frame.columns
