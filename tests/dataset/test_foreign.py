"""Measurements of others become training tables, in the right units, or an error says what is wrong and where."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from edgewatt.dataset.foreign import ForeignTables, import_table
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.training_tables import read_table, table_path
from edgewatt.networks.layer import LayerKind

REPOSITORY = Path(__file__).parents[2]
EXAMPLE = REPOSITORY / "docs" / "examples" / "neurstrucenergy.toml"
MEASUREMENTS = REPOSITORY.parent / "shared" / "data" / "layers" / "neurstrucenergy" / "conv2d.txt"
CONV, POOL, DENSE = LayerKind.CONVOLUTIONAL, LayerKind.POOLING, LayerKind.DENSE

DENSE_MAPPING = """
[network]
name = "mine"
[kind]
name = "dense"
[features.dense]
batch_size = 2
input_size = "in"
output_size = "out"
[runtime]
column = "t"
unit = "us"
[power]
column = "p"
unit = "mW"
idle = "excluded"
"""
DENSE_TABLE = "in,out,t,p\n100,10,250,1500\n"


def imported(folder: Path, table: str, mapping: str, *, replace: bool = False) -> ForeignTables:
    (folder / "t.csv").write_text(table, encoding="utf-8")
    (folder / "m.toml").write_text(mapping, encoding="utf-8")
    return import_table(folder / "t.csv", folder / "training", folder / "m.toml", replace=replace)


def test_units_and_derived_columns(tmp_path: Path) -> None:
    mapping = DENSE_MAPPING.replace("batch_size = 2", 'batch_size = 2\nprecision = { text = "fp16" }')
    imported(tmp_path, DENSE_TABLE, mapping)
    row = read_table(table_path(tmp_path / "training" / "mine", DENSE), DENSE).row(0, named=True)
    # 250 us are 0.25 ms and 1500 mW are 1.5e6 uW.
    assert (row["runtime"], row["power"]) == (pytest.approx(0.25), pytest.approx(1.5e6))
    assert (row["macs"], row["precision"], row["operation"]) == (2000, "float16", "gemm")
    assert (row["weight_bytes"], row["input_bytes"], row["output_bytes"]) == (2000, 400, 40)
    assert (row["layer_name"], row["method"], row["idle_power_w"]) == ("line 2", "imported", None)


def test_bytes_are_not_guessed_without_a_precision(tmp_path: Path) -> None:
    tables = imported(tmp_path, DENSE_TABLE, DENSE_MAPPING).networks[0].tables
    assert tables[DENSE]["macs"].to_list() == [2000]
    assert tables[DENSE]["weight_bytes"].to_list() == [None]


def test_idle_power_is_taken_off(tmp_path: Path) -> None:
    mapping = DENSE_MAPPING.replace('"excluded"', '"included"') + '[idle]\nvalue = 0.25\nunit = "W"\n'
    table = imported(tmp_path, DENSE_TABLE, mapping).networks[0].tables[DENSE]
    assert table["power"].to_list() == [pytest.approx(1.25e6)]
    assert table["idle_power_w"].to_list() == [0.25]


def test_energy_of_many_calls(tmp_path: Path) -> None:
    mapping = DENSE_MAPPING.replace('unit = "us"', 'unit = "s"\ncalls = "n"').replace(
        '[power]\ncolumn = "p"\nunit = "mW"', '[energy]\ncolumn = "p"\nunit = "mJ"\ncalls = 10'
    )
    table = imported(tmp_path, "in,out,t,p,n\n100,10,4,30,2000\n", mapping).networks[0].tables[DENSE]
    # 4 s for 2000 calls are 2 ms; 30 mJ for 10 calls are 3 mJ, in 2 ms 1.5 W.
    assert table["runtime"].to_list() == [pytest.approx(2.0)]
    assert table["power"].to_list() == [pytest.approx(1.5e6)]


def test_networks_and_kinds_in_columns(tmp_path: Path) -> None:
    mapping = """
layer_name = "{model}/{layer}"
[table]
separator = "semicolon"
header = false
columns = ["model", "layer", "type", "c", "hw", "f", "hw_out", "k", "s", "g", "ms", "w"]
decimal = ","
[network]
column = "model"
[kind]
column = "type"
values = { Conv2d = "convolutional", MaxPool2d = "pooling" }
[features.convolutional]
batch_size = 1
input_size_0 = "c"
input_size_1 = "hw"
input_size_2 = "hw"
output_size_0 = "f"
output_size_1 = "hw_out"
output_size_2 = "hw_out"
kernel_0 = "k"
kernel_1 = "k"
padding_0 = 2
padding_1 = 2
stride_0 = "s"
stride_1 = "s"
groups = "g"
[features.pooling]
batch_size = 1
input_size_0 = "c"
input_size_1 = "hw"
input_size_2 = "hw"
output_size_0 = "f"
output_size_1 = "hw_out"
output_size_2 = "hw_out"
kernel_0 = "k"
kernel_1 = "k"
stride_0 = "s"
stride_1 = "s"
precision = { text = "int8" }
operation = { text = "max" }
[runtime]
column = "ms"
unit = "ms"
[power]
column = "w"
unit = "W"
idle = "excluded"
[[skip]]
column = "w"
equals = ""
"""
    rows = (
        "a;c1;Conv2d;8;6;8;6;3;1;8;0,5;1,25",
        "a;p1;MaxPool2d;8;6;8;3;2;2;1;0,1;1",
        "b;c1;Conv2d;4;6;8;6;3;1;2;1;2",
        "b;x;?;1;1;1;1;1;1;1;1;",
    )
    table = "\n".join(rows)
    found = imported(tmp_path, table, mapping)
    assert ([network.name for network in found.networks], found.skipped) == (["a", "b"], 1)
    first = found.networks[0].tables[CONV].row(0, named=True)
    assert (first["runtime"], first["power"], first["layer_name"]) == (0.5, pytest.approx(1.25e6), "a/c1")
    assert (first["operation"], first["macs"], first["dilation_0"]) == ("depthwise", 8 * 36 * 9, 1)
    assert found.networks[1].tables[CONV]["macs"].to_list() == [8 * 36 * 2 * 9]
    pool = found.networks[0].tables[POOL].row(0, named=True)
    assert (pool["operation"], pool["macs"], pool["input_bytes"], pool["output_bytes"]) == ("max", 0, 288, 72)
    assert table_path(tmp_path / "training" / "b", CONV).exists()
    assert not table_path(tmp_path / "training" / "b", POOL).exists()


def test_tables_that_are_there_are_kept(tmp_path: Path) -> None:
    imported(tmp_path, DENSE_TABLE, DENSE_MAPPING)
    with pytest.raises(EdgewattError, match="tables of the network mine already"):
        imported(tmp_path, DENSE_TABLE, DENSE_MAPPING)
    found = imported(tmp_path, DENSE_TABLE.replace("250", "500"), DENSE_MAPPING, replace=True)
    assert found.networks[0].tables[DENSE]["runtime"].to_list() == [pytest.approx(0.5)]


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('unit = "us"', 'unit = "minutes"', "runtime: unit: 'minutes' is none of s, ms, us"),
        ('unit = "us"', "", "runtime.unit: this key is missing"),
        ('unit = "mW"', 'unit = "mJ"', "power.unit: 'mJ' is none of W, mW, uW"),
        ('idle = "excluded"', "", "power.idle: this key is missing"),
        ('"excluded"', '"included"', r"\[idle\] is missing"),
        ('input_size = "in"', 'input_sizes = "in"', "features.dense.input_sizes: not a feature"),
        ('input_size = "in"', "", "features.dense: input_size missing"),
        ('name = "dense"', 'name = "pooling"', r"\[features.pooling\] is missing"),
        ("[runtime]", 'colour = "red"\n[runtime]', "features.dense.colour"),
        ("[network]", "[nets]", "nets: this key is not known|network: this key is missing"),
        ('name = "mine"', 'name = "../mine"', "network.name: '../mine' cannot be a folder's name"),
        ('[power]\ncolumn = "p"', '[power]\ncolumn = "p"\nvalue = 3', "power: either column or value"),
        ("[network]", "[network", "not TOML"),
    ],
)
def test_mistakes_in_the_mapping_name_their_key(tmp_path: Path, old: str, new: str, key: str) -> None:
    with pytest.raises(FormatError, match=f"m.toml: .*({key})"):
        imported(tmp_path, DENSE_TABLE, DENSE_MAPPING.replace(old, new, 1))
    assert not (tmp_path / "training").exists()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("100,10,x,1500", "line 3, column t: 'x' is not a number"),
        ("100,10,nan,1500", "line 3, column t: 'nan' is not a finite number"),
        ("100,10,0,1500", "line 3, column t: the runtime is 0 s"),
        ("100,10,-1,1500", "line 3, column t: the runtime is -1e-06 s"),
        ("0,10,1,1500", "line 3, column in: input_size is 0"),
        ("2.5,10,1,1500", "line 3, column in: input_size is 2.5, which is no whole number"),
        (",10,1,1500", "line 3, column in: '' is not a number"),
        ("100,10,1", "line 3: 3 fields, not 4"),
    ],
)
def test_mistakes_in_the_table_name_their_place(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        imported(tmp_path, DENSE_TABLE + row + "\n", DENSE_MAPPING)
    assert not (tmp_path / "training").exists()


def test_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"there is no column 'in'.*There are: depth, out, t, p"):
        imported(tmp_path, DENSE_TABLE.replace("in,", "depth,", 1), DENSE_MAPPING)


def test_empty_and_missing_tables(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="empty"):
        imported(tmp_path, "", DENSE_MAPPING)
    with pytest.raises(FormatError, match="no rows"):
        imported(tmp_path, "in,out,t,p\n", DENSE_MAPPING)
    with pytest.raises(FormatError, match="cannot be read"):
        import_table(tmp_path / "none.csv", tmp_path / "training", tmp_path / "m.toml")


def test_split_column_of_another_length(tmp_path: Path) -> None:
    table = "data mean_power time forward_num energy silence_energy all_energy\n1,2,3 1 1 1 1 1 1\n"
    with pytest.raises(FormatError, match="line 2, column data: 3 values, not 19"):
        imported(tmp_path, table, EXAMPLE.read_text(encoding="utf-8"))


def test_the_worked_example_gives_the_table_of_the_benchmark(tmp_path: Path) -> None:
    if not MEASUREMENTS.exists():
        pytest.skip("the measured layers are not beside the repository")
    found = import_table(MEASUREMENTS, tmp_path / "training", EXAMPLE)
    script = runpy.run_path(str(REPOSITORY / "benchmarks" / "real_layers.py"))
    expected = script["read_measurements"](MEASUREMENTS)
    assert found.skipped == expected.void_rows == 1
    written = read_table(table_path(tmp_path / "training" / "neurstrucenergy", CONV), CONV)
    assert_frame_equal(found.networks[0].tables[CONV], expected.table, rel_tol=1e-12)
    assert written.height == expected.table.height == 999
