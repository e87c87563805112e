"""CSV files: training tables, layer metrics, layer powers; and files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.atomic import replacing, write_bytes
from edgewatt.formats.csv_file import read_csv, write_csv
from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.layer_metrics import read_layer_metrics, write_layer_metrics
from edgewatt.formats.layer_power import COLUMNS, LayerPower, read_layer_power, write_layer_power
from edgewatt.formats.training_tables import read_table, table_path
from edgewatt.networks.layer import LayerKind

text = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.one_of(st.none(), text), min_size=1, max_size=8))
def test_any_text_survives_csv(tmp_path_factory: pytest.TempPathFactory, names: list[str | None]) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    write_csv(
        path,
        pl.DataFrame({"layer_name": names, "v": list(range(len(names)))}, schema_overrides={"layer_name": pl.String}),
    )
    back = read_csv(path, {"v": pl.Int64})
    assert back["layer_name"].to_list() == names
    assert back["v"].to_list() == list(range(len(names)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("v\n1\nx\n", "line 3: 'x' in the column v is not a number"),
        ("v,w\n1,2\n1,2,3\n", "not a CSV file"),
    ],
)
def test_broken_csv(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(FormatError, match=message):
        read_csv(tmp_path / "t.csv", {"v": pl.Float64})


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_bytes(path, b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as beside:
        beside.write_bytes(bytes(1 // 0))
    assert path.read_bytes() == b"old"
    assert [found.name for found in path.parent.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EdgewattError, match="cannot be written"):
        write_bytes(tmp_path / "file" / "x", b"")


CONVOLUTIONS = (
    "batch_size,input_size_0,input_size_1,input_size_2,output_size_0,output_size_1,output_size_2,kernel_0,kernel_1,"
    "padding_0,padding_1,stride_0,stride_1,power,runtime,layer_name\n"
)


def convolutions(tmp_path: Path, *rows: str) -> Path:
    path = table_path(tmp_path, LayerKind.CONVOLUTIONAL)
    path.write_text(CONVOLUTIONS + "".join(f"{row}\n" for row in rows))
    return path


def test_a_table_with_the_base_columns_alone(tmp_path: Path) -> None:
    path = convolutions(
        tmp_path, "1,3,224,224,64,55,55,11,11,4,4,4,4,1202832.6,0.1039,conv0", "1.0,3,8,8,4,8,8,3,3,0,0,1,1,,0.1,c"
    )
    table = read_table(path, LayerKind.CONVOLUTIONAL)
    assert table["power"].to_list() == [1202832.6, None]
    assert table["batch_size"].to_list() == [1, 1]
    assert "groups" not in table.columns


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,3,8,8,4,8,8,3,3,0,0,1,1,1,0.1,c", "line 2: batch_size is 0"),
        ("1,3,8,8,4,8,8,3,,0,0,1,1,1,0.1,c", "line 2: kernel_1 is None"),
        ("1,3,8,8,4,8,8,3,3,-1,0,1,1,1,0.1,c", "line 2: padding_0 is -1"),
        ("1,3,8,8,4,8,8,3,3,0,0,1,1,1,-0.1,c", "line 2: runtime is -0.1"),
        ("1,3,8,8,4,8,8,3,3,0,0,1,1,1,NaN,c", "line 2: runtime is nan"),
        ("1,3,8,8,4,8,8,3,3,0,0,1,1,inf,0.1,c", "line 2: power is inf"),
        ("1,3,8.5,8,4,8,8,3,3,0,0,1,1,1,0.1,c", "'8.5' in the column input_size_1 is not a whole number"),
    ],
)
def test_wrong_values_in_a_table(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_table(convolutions(tmp_path, row), LayerKind.CONVOLUTIONAL)


def test_a_table_without_a_base_column(tmp_path: Path) -> None:
    path = table_path(tmp_path, LayerKind.DENSE)
    path.write_text("batch_size,input_size,power,runtime,layer_name\n1,2,3,4,a\n")
    with pytest.raises(FormatError, match="the columns output_size are missing"):
        read_table(path, LayerKind.DENSE)


def test_layer_metrics_by_hand(tmp_path: Path) -> None:
    layers = LayerCycles(
        names=('a, "b"\x1e', "c"),
        types=("CaskConvolution", ""),
        latency_ms=np.array([[0.5, 0.25], [1.0, 2.0]]),
        end_us=np.zeros((2, 2), dtype=np.int64),
    )
    power = np.array([[5e6, np.nan], [0.0, 3e6]])
    path = tmp_path / "m.csv"
    write_layer_metrics(path, layers, power, 4e6)
    assert path.read_text() == (
        '"cycle","layer_name","layer_type","layer_power_including_idle_power_micro_watt",'
        '"layer_power_excluding_idle_power_micro_watt","layer_run_time"\n'
        '1,"a, ""b""\x1e","CaskConvolution",5000000.0,1000000.0,0.5\n'
        '1,"c","",0.0,-4000000.0,1.0\n'
        '2,"a, ""b""\x1e","CaskConvolution",,,0.25\n'
        '2,"c","",3000000.0,-1000000.0,2.0\n'
    )
    first, second = read_layer_metrics(path)
    assert (first.name, first.backend_type, first.idle_power_w) == ('a, "b"\x1e', "CaskConvolution", 4.0)
    np.testing.assert_array_equal(first.power_uw, power[0])
    np.testing.assert_array_equal(second.latency_ms, [1.0, 2.0])


def test_layer_metrics_in_several_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewatt.formats.layer_metrics._ROWS_AT_ONCE", 4)
    layers = LayerCycles(("a", "b", "c"), ("", "", ""), np.arange(21.0).reshape(3, 7), np.zeros((3, 7), dtype=np.int64))
    write_layer_metrics(tmp_path / "m.csv", layers, np.arange(21.0).reshape(3, 7), 0.0)
    table = pl.read_csv(tmp_path / "m.csv")
    assert table["cycle"].to_list() == [cycle for cycle in range(1, 8) for _ in range(3)]
    assert table["layer_run_time"].to_list() == np.arange(21.0).reshape(3, 7).T.ravel().tolist()


def test_older_metrics_with_a_repeated_name(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(
        "cycle,layer_name,layer_type,layer_power_including_idle_power_micro_watt,layer_run_time\n"
        "1,a,T,1.0,0.1\n1,a,T,2.0,0.2\n2,a,T,3.0,0.3\n2,a,T,,0.4\n"
    )
    first, second = read_layer_metrics(tmp_path / "m.csv")
    assert (first.name, second.name, first.idle_power_w) == ("a", "a (2)", None)
    assert first.power_uw.tolist() == [1.0, 3.0]
    assert second.latency_ms.tolist() == [0.2, 0.4]


def test_metrics_whose_cycles_differ_in_their_order(tmp_path: Path) -> None:
    header = "cycle,layer_name,layer_type,layer_power_including_idle_power_micro_watt,layer_run_time\n"
    (tmp_path / "m.csv").write_text(header + "1,a,T,1.0,0.1\n1,b,,2.0,0.2\n2,b,,3.0,0.3\n2,a,T,,0.4\n3,a,T,5,0.5\n")
    first, second = read_layer_metrics(tmp_path / "m.csv")
    assert [(layer.name, layer.backend_type) for layer in (first, second)] == [("a", "T"), ("b", "")]
    np.testing.assert_array_equal(first.power_uw, [1.0, np.nan, 5.0])
    assert (first.latency_ms.tolist(), second.latency_ms.tolist()) == ([0.1, 0.4, 0.5], [0.2, 0.3])


def test_layer_power_and_back(tmp_path: Path) -> None:
    layers = [
        LayerPower("a,\n", "T", 0.1, 5.0, 1.0, 4.9, 5.1, 0.5, 12, True, 0.09, 0.11),
        LayerPower("b", "", 0.0, None, None, None, None, None, 0, None),
    ]
    write_layer_power(tmp_path / "p.csv", layers)
    assert read_layer_power(tmp_path / "p.csv") == layers
    (tmp_path / "p.csv").write_text(",".join(name for name in COLUMNS if name != "identifiable") + "\n")
    with pytest.raises(FormatError, match="identifiable"):
        read_layer_power(tmp_path / "p.csv")


def test_layer_power_without_the_runtimes_interval(tmp_path: Path) -> None:
    """Files of earlier versions have none."""
    earlier = COLUMNS[: COLUMNS.index("runtime_low_ms")]
    (tmp_path / "p.csv").write_text(",".join(earlier) + "\na,T,0.1,5.0,1.0,4.9,5.1,0.5,12,true\n")
    (layer,) = read_layer_power(tmp_path / "p.csv")
    assert (layer.identifiable, layer.runtime_low_ms, layer.runtime_high_ms) == (True, None, None)
    (tmp_path / "p.csv").write_text(",".join(COLUMNS) + "\na,T,0.1,5.0,1.0,4.9,5.1,0.5,12,true,inf,0.2\n")
    with pytest.raises(FormatError, match="runtime_low_ms is inf"):
        read_layer_power(tmp_path / "p.csv")
