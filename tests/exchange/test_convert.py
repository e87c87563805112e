from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.exchange.convert import Options, convert
from edgewatt.formats.layer_latency import read_layer_latencies
from edgewatt.formats.power_log import read_power_log

_TEGRASTATS = (
    "01-24-2024 09:17:09 RAM 1508/6480MB VDD_IN 4915mW/4915mW VDD_CPU_GPU_CV 449mW/449mW VDD_SOC 1431mW/1431mW\n"
    "01-24-2024 09:17:10 RAM 1508/6480MB VDD_IN 5015mW/4965mW VDD_CPU_GPU_CV 549mW/499mW VDD_SOC 1431mW/1431mW\n"
)
_OLD = "RAM 385/3984MB AO@31C POM_5V_IN 933/933 POM_5V_GPU 0/0 POM_5V_CPU 84/84\n" * 2
_JTOP = "time,uptime,Power VDD_IN,Power VDD_SOC,Power TOT\n2024-11-21 05:20:04.25,0:10,4744,1234,4800\n"
_PROFILE = '[\n  { "count" : 2 }\n, { "name" : "a "b"", "timeMs" : 6, "averageMs" : 3, "percentage" : 100 }\n]\n'
_TIMES = '[{"startComputeMs": 1, "endComputeMs": 3}, {"startComputeMs": 4, "endComputeMs": 7}]'
_EVENTS = [
    {"cat": "Node", "name": "a_kernel_time", "ts": 100 * n + 1, "dur": 5, "args": {"op_name": "Conv"}} for n in (1, 2)
]
_RUNS = [{"cat": "Session", "name": "model_run", "ts": 100 * n, "dur": 10} for n in (1, 2)]
_ONNXRUNTIME = json.dumps(_EVENTS + _RUNS)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "source"


def test_tegrastats_becomes_a_power_log(source: Path, tmp_path: Path) -> None:
    source.write_text(_TEGRASTATS)
    out = tmp_path / "net_power_log.log"
    done = convert(source, out)
    assert (done.file_format, done.target, done.rows) == ("tegrastats", "power-log", 2)
    assert done.notes[0].startswith("The board's input is VDD_IN: ")
    # One reading a second, in the middle of it; 4915 mW are 1000 mV and 4915 mA.
    assert out.read_text() == "20240124-09:17:09.500000,1000.0,4915.0\n20240124-09:17:10.500000,1000.0,5015.0\n"
    assert read_power_log(out).power_uw.tolist() == [4_915_000.0, 5_015_000.0]
    convert(source, out, options=Options(rails=["VDD_CPU_GPU_CV", "VDD_SOC"]))
    assert read_power_log(out).power_uw.tolist() == [1_880_000.0, 1_980_000.0]


def test_an_old_log_gets_its_times_from_the_user(source: Path, tmp_path: Path) -> None:
    source.write_text(_OLD)
    convert(source, tmp_path / "a.log", options=Options(start="20241121-05:20:04", interval_ms=100))
    assert (tmp_path / "a.log").read_text().splitlines()[1] == "20241121-05:20:04.100000,1000.0,933.0"
    with pytest.raises(EdgewattError, match="the lines have no time"):
        convert(source, tmp_path / "b.log")
    with pytest.raises(EdgewattError, match=r"'noon' is not a time\. Write it as 2024"):
        convert(source, tmp_path / "b.log", options=Options(start="noon", interval_ms=1))


def test_jtop_goes_by_the_boards_rule_and_not_by_its_own_total(source: Path, tmp_path: Path) -> None:
    source.write_text(_JTOP)
    out = tmp_path / "a.log"
    convert(source, out)
    assert out.read_text() == "20241121-05:20:04.250000,1000.0,4744.0\n"
    convert(source, out, options=Options(rails=["TOT"]))
    assert out.read_text() == "20241121-05:20:04.250000,1000.0,4800.0\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (_TEGRASTATS, {"VDD_IN_mw": [4915.0, 5015.0], "VDD_CPU_GPU_CV_mw": [449.0, 549.0]}),
        (_JTOP, {"VDD_IN_mw": [4744.0], "TOT_mw": [4800.0]}),
        (_PROFILE, {"layer_name": ['a "b"'], "runtime_ms": [3.0], "median_ms": [None], "share": [1.0], "cycles": [2]}),
        (_TIMES, {"start_compute_ms": [1.0, 4.0], "end_compute_ms": [3.0, 7.0]}),
        (_ONNXRUNTIME, {"layer_name": ["a"], "operation": ["Conv"], "runtime_ms": [0.005], "cycles": [2]}),
    ],
)
def test_every_format_becomes_a_table_without_being_named(
    source: Path, tmp_path: Path, text: str, rows: dict[str, list[object]]
) -> None:
    source.write_text(text)
    done = convert(source, tmp_path / "out.parquet")
    assert done.target == "table"
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert {name: table[name].to_list() for name in rows} == rows


def test_a_profile_of_onnx_runtime_becomes_layer_latencies(source: Path, tmp_path: Path) -> None:
    source.write_text(_ONNXRUNTIME)
    out = tmp_path / "trt_layer_latency.json"
    convert(source, out, target="latencies", options=Options(start="20241121-05:20:04.5", skip=1))
    assert json.loads(out.read_text()) == {"a": [[0.005, "20241121-05:20:04.500206"]]}
    done = convert(source, out, target="latencies")
    assert "no power can be found" in done.notes[0]
    assert read_layer_latencies(out).end_us is None


def test_inferences_can_be_left_out(source: Path, tmp_path: Path) -> None:
    source.write_text(_TIMES)
    convert(source, tmp_path / "out.csv", options=Options(skip=1))
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["4.0,7.0"]
    with pytest.raises(EdgewattError, match="holds 2 inferences and 2 are to be left out"):
        convert(source, tmp_path / "out.csv", options=Options(skip=2))


@pytest.mark.parametrize(
    ("text", "out", "options", "message"),
    [
        ('{"Layers": ["a"]}', "x.csv", {}, "it looks like an engine inspector's JSON. Converted are"),
        ("hello", "x.csv", {}, "format is not recognised"),
        (_PROFILE, "x.csv", {"file_format": "trtexec"}, "no format 'trtexec'. There are: tegrastats, jtop"),
        (
            _PROFILE,
            "x.csv",
            {"file_format": "onnxruntime"},
            "not a profile of ONNX Runtime. It looks like a profile of",
        ),
        (_PROFILE, "x.csv", {"target": "latencies"}, "trtexec-profile cannot become 'latencies'"),
        (_PROFILE, "x.txt", {}, "no format 'txt'"),
        (_PROFILE, "x.csv", {"options": Options(skip=1)}, "--skip does not go with trtexec-profile"),
        (_TIMES, "x.csv", {"options": Options(interval_ms=1)}, "--interval does not go with trtexec-times"),
        (_TEGRASTATS, "x.csv", {"options": Options(rails=["VDD_IN"])}, "a table has every rail"),
        (_TEGRASTATS, "x.log", {"options": Options(rails=["VDD"])}, "no rail VDD. There are: VDD_IN"),
        (_ONNXRUNTIME, "x.csv", {"options": Options(start="20241121-05:20:04")}, "a table has no times"),
    ],
)
def test_what_does_not_go_together(
    source: Path, tmp_path: Path, text: str, out: str, options: dict[str, object], message: str
) -> None:
    source.write_text(text)
    with pytest.raises(EdgewattError, match=message):
        convert(source, tmp_path / out, **options)  # type: ignore[arg-type]
    assert not (tmp_path / out).exists()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match="there is no such file"):
        convert(tmp_path / "nothing", tmp_path / "x.csv")
    with pytest.raises(FormatError, match="cannot be read"):
        convert(tmp_path / "nothing", tmp_path / "x.log", file_format="tegrastats")
