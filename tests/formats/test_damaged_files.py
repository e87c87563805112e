"""Files that were cut short, come from an editor, or hold numbers that no board has: never a wrong number of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgewatt.dataset.tables import build_tables
from edgewatt.errors import EdgewattWarning, FormatError
from edgewatt.formats.csv_file import read_csv, write_csv
from edgewatt.formats.engine_info import read_engine_info
from edgewatt.formats.layer_latency import read_layer_latencies
from edgewatt.formats.layer_metrics import read_layer_metrics
from edgewatt.formats.layer_power import read_layer_power
from edgewatt.formats.power_log import read_power_log
from edgewatt.formats.recording import RecordingPaths, read_recording
from edgewatt.formats.run_info import read_run_info
from edgewatt.formats.training_tables import read_table, table_path
from edgewatt.mapping.run import map_recordings
from edgewatt.networks.layer import LayerKind
from recording_builder import CONV, RecordingBuilder

Builder = Callable[..., RecordingBuilder]
BOM = b"\xef\xbb\xbf"
LAYER_POWER = (
    "layer_name,layer_type,runtime_ms,power_w,power_above_idle_w,power_low_w,power_high_w,energy_mj,samples,"
    "identifiable\n"
)
METRICS = "cycle,layer_name,layer_type,layer_power_including_idle_power_micro_watt,layer_run_time\n"
DENSE = "batch_size,input_size,output_size,power,runtime,layer_name"


@pytest.mark.parametrize("folder", ["a[1]", "what?", "all*", "[bold]"])
def test_a_path_is_no_pattern(tmp_path: Path, folder: str) -> None:
    """Brackets, question marks and asterisks mean themselves, also beside files that a pattern would fit."""
    (tmp_path / folder).mkdir()
    (tmp_path / "a1").mkdir()
    for name, current in (("a1", "1.0"), (folder, "2.0")):
        (tmp_path / name / "log").write_text(f"20241121-05:20:04.261448,5000.0,{current}\n")
        (tmp_path / name / "t.csv").write_text(f"v\n{current}\n")
    assert read_power_log(tmp_path / folder / "log").current_ma.tolist() == [2.0]
    table = read_csv(tmp_path / folder / "t.csv", {})
    assert table["v"].to_list() == ["2.0"]
    write_csv(tmp_path / folder / "written.csv", table)
    assert (tmp_path / folder / "written.csv").read_text() == '"v"\n"2.0"\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("20241121-05:20:04.3,1e300,1000.0", "line 2: a voltage of 1e300 mV is none of a board"),
        ("20241121-05:20:04.3,5000000.0,1000.0", "line 2: a voltage of 5000000.0 mV is none of a board"),
        ("20241121-05:20:04.3,5000.0,-1e9", "line 2: a current of -1e9 mA is none of a board"),
        ("20241121-05:20:04.3,5000.0,١٢", "line 2: the current is not a number"),
    ],
)
def test_readings_of_no_board(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(BOM + f"20241121-05:20:04.2,5000.0,1000.0\n{line}\n".encode())
    with pytest.raises(FormatError, match=message):
        read_power_log(path)


@pytest.mark.parametrize("latency", ["1e300", "99999999999999999999999", "86400001.0"])
@pytest.mark.parametrize("blank", ["", "\n"])
def test_a_latency_of_more_than_a_day(tmp_path: Path, latency: str, blank: str) -> None:
    path = tmp_path / "latency.json"
    path.write_text(f'{{"a": [[1.0, "20241121-05:20:01.500000"],{blank} [{latency}, "20241121-05:20:02.500000"]]}}')
    with pytest.raises(FormatError, match=r"layer 'a': the latency in cycle 2 is .*, not a number of milliseconds"):
        read_layer_latencies(path)


def test_a_byte_order_mark_is_passed_over(builder: Builder) -> None:
    made = builder().write()
    for path in (made.log_path, made.latency_path, made.engine_path):
        path.write_bytes(BOM + path.read_bytes())
    recording = read_recording(RecordingPaths(made.folder))
    assert recording.layers.names == ("conv0", "fc0")
    assert recording.layers.latency_ms.tolist() == [[400.0], [800.0]]
    assert recording.power_log.current_ma[0] == 1100.0


@pytest.mark.parametrize("bindings", [True, 1, 1.5, {"a": 1}, "text", None])
def test_bindings_of_another_type_are_none(tmp_path: Path, bindings: object) -> None:
    path = tmp_path / "engine.json"
    path.write_text(json.dumps({"Layers": ["a"], "Bindings": bindings}))
    assert read_engine_info(path).bindings == ()


@pytest.mark.parametrize("last", ["b,T,2.0,3.0,1.0,2.0,4.0,6.", "b,T,2.0,3.0,1.0,2.0,4.0,6.0,12,tru", "b"])
def test_layer_power_cut_short(tmp_path: Path, last: str) -> None:
    path = tmp_path / "layer_power.csv"
    path.write_text(LAYER_POWER + "a,T,2.0,3.0,1.0,2.0,4.0,6.0,12,true\n" + last)
    with pytest.raises(FormatError, match=r"cut short|truth value"):
        read_layer_power(path)


def test_layer_power_without_layers(tmp_path: Path) -> None:
    (tmp_path / "layer_power.csv").write_text(LAYER_POWER)
    with pytest.raises(FormatError, match="holds no layer"):
        read_layer_power(tmp_path / "layer_power.csv")


def test_layer_power_of_a_layer_twice(tmp_path: Path) -> None:
    rows = "".join(f"{name},T,2.0,3.0,1.0,2.0,4.0,6.0,12,true\n" for name in "abac")
    (tmp_path / "layer_power.csv").write_text(LAYER_POWER + rows)
    with pytest.raises(FormatError, match="line 4: the layer comes twice"):
        read_layer_power(tmp_path / "layer_power.csv")


@pytest.mark.parametrize("column", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("value", ["NaN", "inf", "1e400"])
def test_layer_power_that_is_not_finite(tmp_path: Path, column: int, value: str) -> None:
    fields = ["a", "T", "2.0", "3.0", "1.0", "2.0", "4.0", "6.0", "12", "true"]
    fields[column] = value
    (tmp_path / "layer_power.csv").write_text(LAYER_POWER + ",".join(fields) + "\n")
    with pytest.raises(FormatError, match=f"line 2: {LAYER_POWER.split(',')[column]} is"):
        read_layer_power(tmp_path / "layer_power.csv")


def test_layers_lost_after_the_mapping(builder: Builder, tmp_path: Path) -> None:
    made = builder().write()
    map_recordings(made.raw_dir, tmp_path / "pre", method="window")
    path = tmp_path / "pre/net/layer_power.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(FormatError, match=r"holds 1 layers where mapping\.json tells of 2"):
        build_tables(tmp_path / "pre/net", 1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "holds no layer"),
        ("1,a,T,5e6,0.03", "cut short"),
        ("1,a,T,5e6,NaN\n", "line 2: layer_run_time is nan"),
        ("1,a,T,5e6,0.1\n2,a,T,5e6,1e400\n", "line 3: layer_run_time is inf"),
        ("1,a,T,5e6,-0.1\n", "line 2: layer_run_time is -0.1"),
        ("1,a,T,inf,0.1\n", "line 2: layer_power_including_idle_power_micro_watt is inf"),
    ],
)
def test_wrong_layer_metrics(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "m.csv").write_text(METRICS + rows)
    with pytest.raises(FormatError, match=message):
        read_layer_metrics(tmp_path / "m.csv")


def test_a_power_of_nan_is_no_power(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(METRICS + "1,a,T,NaN,0.1\n2,a,T,0.0,0.3\n")
    (layer,) = read_layer_metrics(tmp_path / "m.csv")
    np.testing.assert_array_equal(layer.power_uw, [np.nan, 0.0])
    assert layer.latency_ms.tolist() == [0.1, 0.3]


@pytest.mark.parametrize("last", ["1,4096,1000,1e6,0.", "1,4096,1000,1e6,0.2", "1,40"])
def test_a_training_table_cut_short(tmp_path: Path, last: str) -> None:
    path = table_path(tmp_path, LayerKind.DENSE)
    path.write_text(f"{DENSE}\n1,9216,4096,2e6,0.5,fc6\n{last}")
    with pytest.raises(FormatError, match="line 3: the last line was cut short"):
        read_table(path, LayerKind.DENSE)


def test_a_training_table_whose_last_line_has_no_end(tmp_path: Path) -> None:
    path = table_path(tmp_path, LayerKind.DENSE)
    path.write_text(f'{DENSE}\n1,9216,4096,2e6,0.5,"fc6, the first"')
    assert read_table(path, LayerKind.DENSE)["runtime"].to_list() == [0.5]


@pytest.mark.parametrize(
    ("extra", "value", "message"),
    [
        ("macs", "-1", "line 2: macs is -1"),
        ("idle_power_w", "NaN", "line 2: idle_power_w is nan"),
        ("idle_power_w", "-4", "line 2: idle_power_w is -4"),
        ("samples", "-3", "line 2: samples is -3"),
        ("power", "5", "the column power comes twice"),
    ],
)
def test_further_columns_are_checked(tmp_path: Path, extra: str, value: str, message: str) -> None:
    path = table_path(tmp_path, LayerKind.DENSE)
    path.write_text(f"{DENSE},{extra}\n1,9216,4096,2e6,0.5,fc6,{value}\n")
    with pytest.raises(FormatError, match=message):
        read_table(path, LayerKind.DENSE)


@pytest.mark.parametrize(
    ("power", "runtime", "message"),
    [
        ("2e6", "1e300", r"runtime is 1e\+300"),
        ("2e6", "86400001", r"runtime is 86400001\.0"),
        ("-1e300", "0.5", r"power is -1e\+300"),
        ("NaN", "0.5", "power is nan"),
    ],
)
def test_training_values_of_no_layer(tmp_path: Path, power: str, runtime: str, message: str) -> None:
    path = table_path(tmp_path, LayerKind.DENSE)
    path.write_text(f"{DENSE}\n1,9216,4096,{power},{runtime},fc6\n")
    with pytest.raises(FormatError, match=f"line 2: {message}"):
        read_table(path, LayerKind.DENSE)


def test_groups_of_zero(tmp_path: Path) -> None:
    path = table_path(tmp_path, LayerKind.CONVOLUTIONAL)
    path.write_text(
        "batch_size,input_size_0,input_size_1,input_size_2,output_size_0,output_size_1,output_size_2,kernel_0,kernel_1,"
        "padding_0,padding_1,stride_0,stride_1,power,runtime,layer_name,groups\n1,3,8,8,4,8,8,3,3,0,0,1,1,1,0.1,c,0\n"
    )
    with pytest.raises(FormatError, match="line 2: groups is 0"):
        read_table(path, LayerKind.CONVOLUTIONAL)


def test_a_recorded_name_like_that_of_a_repeated_layer(builder: Builder) -> None:
    """The engine has `conv0` twice, and the recording a `conv0 (2)` that the engine does not know."""
    made = builder()
    made.engine = {"Layers": [CONV, CONV]}
    entries = [[float(i), f"20241121-05:20:0{i}.5"] for i in (1, 2)]
    made.latency = {"conv0": entries, "conv0 (2)": entries[:1]}
    made.write()
    with pytest.warns(EdgewattWarning, match="the engine does not know 1 of the 2 recorded layers"):
        layers = read_recording(RecordingPaths(made.folder)).layers
    assert len(set(layers.names)) == 3
    assert layers.names[:2] == ("conv0", "conv0 (2)")
    assert layers.latency_ms.tolist() == [[1.0], [2.0], [1.0]]


def test_a_benchmark_of_another_unit(builder: Builder) -> None:
    made = builder().write()
    (made.folder / "net_tensorrt.json").write_text('{"avg_latency": 1300.0}')
    with pytest.warns(EdgewattWarning, match=r"avg_latency is 1300 s where the layers take 1\.2 s"):
        read_recording(RecordingPaths(made.folder))


def test_cycles_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"model": "m", "board": "b", "cycle_start_us": [1, 2], "cycle_end_us": [2]}')
    with pytest.raises(FormatError, match="2 cycles have a start and 1 an end"):
        read_run_info(path)
