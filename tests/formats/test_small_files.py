"""Idle power, benchmark result, run.json, mapping.json and the engine's JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattWarning, FormatError
from edgewatt.formats.benchmark import BenchmarkResult, read_benchmark_result, write_benchmark_result
from edgewatt.formats.engine_info import EngineInfo, read_engine_info, write_engine_info
from edgewatt.formats.idle_power import IdlePower, read_idle_power, write_idle_power
from edgewatt.formats.mapping_info import MappingInfo, read_mapping_info, write_mapping_info
from edgewatt.formats.run_info import RunInfo, read_run_info, write_run_info


def written(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_idle_power_is_in_microwatts(tmp_path: Path) -> None:
    path = written(tmp_path / "idle.json", {"timestamp": "20241121-051743", "avg_idle_power": 4234560.155322008})
    assert read_idle_power(path).power_w == 4.234560155322008
    write_idle_power(path, IdlePower(timestamp="20241121-051743", avg_idle_power=5e6))
    assert json.loads(path.read_text()) == {"timestamp": "20241121-051743", "avg_idle_power": 5e6}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"avg_idle_power": 4.23}, "another unit"),
        ({"avg_idle_power": 4234.5}, "another unit"),
        ({"avg_idle_power": 4.2e12}, "another unit"),
        ({"avg_idle_power": -4.2e6}, "another unit"),
        ('{"avg_idle_power": NaN}', "not valid JSON"),
        ({"avg_idle_power": "4234560"}, "avg_idle_power: .*valid number"),
        ({"avg_idle_power": None}, "avg_idle_power"),
        ({"idle": 1}, "avg_idle_power: this key is missing"),
        ([], "the file"),
        ("", "empty"),
        ('{"avg_idle', "not valid JSON at line 1"),
    ],
)
def test_wrong_idle_power(tmp_path: Path, value: object, message: str) -> None:
    path = written(tmp_path / "idle.json", value)
    with pytest.raises(FormatError, match=message) as error:
        read_idle_power(path)
    assert str(path) in str(error.value)


def test_missing_idle_power_says_how_to_measure_it(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="edgewatt idle"):
        read_idle_power(tmp_path / "idling_power.json")


def test_idle_power_of_zero_is_warned_about(tmp_path: Path) -> None:
    with pytest.warns(EdgewattWarning, match="idle power is 0"):
        assert read_idle_power(written(tmp_path / "idle.json", {"avg_idle_power": 0})).power_w == 0


def test_benchmark_result(tmp_path: Path) -> None:
    base = {"config": {"model": "alexnet", "runs": 2}, "total_time": 0.2, "latencies": [0.1, 0.1], "avg_latency": 0.1}
    path = written(tmp_path / "b.json", base | {"avg_throughput": 10.0, "gpu": "Orin"})
    result = read_benchmark_result(path)
    assert (result.avg_latency, result.latencies, result.config["model"]) == (0.1, [0.1, 0.1], "alexnet")
    write_benchmark_result(path, result)
    assert json.loads(path.read_text())["gpu"] == "Orin"
    with pytest.raises(FormatError, match="avg_latency"):
        read_benchmark_result(written(path, base | {"avg_latency": 0}))
    assert BenchmarkResult(avg_latency=1.0).latencies == []


def test_run_info(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    info = RunInfo(model="a@b4", board="orin-nano", cycle_start_us=[1, 5], cycle_end_us=[4, 8], clocks={"gpu": 625})
    write_run_info(path, info)
    assert read_run_info(path) == info
    with pytest.raises(FormatError, match="schema version 99"):
        read_run_info(written(path, json.loads(path.read_text()) | {"schema_version": 99}))
    with pytest.raises(FormatError, match="board"):
        read_run_info(written(path, {"schema_version": 1, "model": "a"}))


def test_mapping_info(tmp_path: Path) -> None:
    path = tmp_path / "mapping.json"
    info = MappingInfo(edgewatt_version="1", model="a", method="window", cycles=3, layers=2, energy_closure=0.01)
    write_mapping_info(path, info)
    assert read_mapping_info(path) == info
    with pytest.raises(FormatError, match="schema version 2"):
        read_mapping_info(written(path, json.loads(path.read_text()) | {"schema_version": 2}))


def test_engine_info(tmp_path: Path) -> None:
    layers = [{"Name": 'a "b",\x1e', "LayerType": "CaskConvolution"}, {"Name": "c"}, {"Name": "c"}, {"Name": "c (2)"}]
    path = tmp_path / "engine.json"
    write_engine_info(path, EngineInfo(tuple(layers), ("x",)))
    info = read_engine_info(path)
    assert info.layers == tuple(layers)
    assert info.bindings == ("x",)
    assert info.names == ['a "b",\x1e', "c", "c", "c (2)"]
    assert info.unique_names == ['a "b",\x1e', "c", "c (3)", "c (2)"]
    assert info.types == ["CaskConvolution", "", "", ""]
    assert not info.names_only
    twice = read_engine_info(written(path, json.dumps(json.dumps({"Layers": layers}))))
    assert twice.layers == info.layers


def test_an_engine_of_names_only(tmp_path: Path) -> None:
    info = read_engine_info(written(tmp_path / "e.json", {"Layers": ["a", "b", "a"], "Bindings": []}))
    assert info.names_only
    assert info.unique_names == ["a", "b", "a (2)"]
    assert info.types == ["", "", ""]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Layers": []}, "no layers"),
        ({"layers": []}, "not an engine inspector's JSON"),
        ([{"name": "a", "timeMs": 1}], "not an engine inspector's JSON"),
        ('"{"', "text that is not JSON"),
        ({"Layers": [{"Name": "a"}, {"LayerType": "x"}]}, "layer 2: the layer has no name"),
        ({"Layers": [{"Name": 3}]}, "layer 1: the layer has no name"),
        ("", "empty"),
    ],
)
def test_broken_engines(tmp_path: Path, value: object, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_engine_info(written(tmp_path / "engine.json", value))


def test_real_engines(data_dir: Path) -> None:
    found = [*data_dir.glob("engines/*/*.engine_info.json"), *data_dir.glob("engines/*/*.graph.json")]
    assert {path.name: len(read_engine_info(path).layers) for path in found if path.parent.name == "a100_trtexec"} == {
        "resnet18_fp16.graph.json": 36,
        "mobilenet_int8.graph.json": 73,
    }
    assert len(found) == 9
    assert all(len(set(read_engine_info(path).unique_names)) == len(read_engine_info(path).layers) for path in found)
