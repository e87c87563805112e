from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from edgewatt.dataset.run import build_dataset
from edgewatt.errors import EdgewattError, EdgewattWarning, FormatError
from edgewatt.formats.layer_power import read_layer_power
from edgewatt.formats.mapping_info import read_mapping_info
from edgewatt.mapping.run import map_recordings
from edgewatt.networks.layer import LayerKind
from recording_builder import RecordingBuilder

Builder = Callable[..., RecordingBuilder]


def test_files_of_a_mapped_recording(builder: Builder, tmp_path: Path) -> None:
    raw = builder().write().raw_dir
    batch = map_recordings(raw, tmp_path / "pre", method="window")
    assert not batch.failed
    folder = tmp_path / "pre" / "net"
    assert sorted(path.name for path in folder.iterdir()) == [
        "layer_power.csv",
        "made_from.json",
        "mapping.json",
        "power_runtime_mapping_layerwise.csv",
        "trt_engine_info.json",
    ]
    rows = pl.read_csv(folder / "power_runtime_mapping_layerwise.csv").to_dicts()
    assert [row["layer_power_including_idle_power_micro_watt"] for row in rows] == [6.25e6, 8.75e6]
    powers = read_layer_power(folder / "layer_power.csv")
    assert [(layer.layer_name, layer.power_w, layer.power_above_idle_w) for layer in powers] == [
        ("conv0", 6.25, 2.25),
        ("fc0", 8.75, 4.75),
    ]
    assert [layer.energy_mj for layer in powers] == [2500.0, 7000.0]
    info = read_mapping_info(folder / "mapping.json")
    assert (info.method, info.cycles, info.layers, info.idle_power_w) == ("window", 1, 2, 4.0)
    assert info.readings == {"total": 11, "changed": 11}
    assert json.loads((folder / "trt_engine_info.json").read_text()) == json.loads(
        (raw / "net/trt_profiling/trt_engine_info.json").read_text()
    )


def test_a_batch_goes_on_after_a_broken_network(builder: Builder, tmp_path: Path) -> None:
    broken = builder("a").write()
    broken.latency_path.write_text("{")
    builder("b").write()
    told: list[str] = []
    batch = map_recordings(broken.raw_dir, tmp_path / "pre", method="window", progress=told.append)
    assert told == ["a", "b"]
    assert [network.model for network in batch.done] == ["b"]
    assert isinstance(batch.failed["a"], FormatError)
    assert batch.exit_status == 1
    assert not (tmp_path / "pre" / "a").exists()
    shutil.rmtree(broken.raw_dir / "b")
    assert map_recordings(broken.raw_dir, tmp_path / "pre", method="window").exit_status == 2


def test_warnings_are_kept_with_the_result(builder: Builder, tmp_path: Path) -> None:
    made = builder()
    made.latency = {**made.latency, "ghost": [[1.0, "20241121-05:20:02.7"]]}  # type: ignore[dict-item]
    with pytest.warns(EdgewattWarning, match="ghost"):
        batch = map_recordings(made.write().raw_dir, tmp_path / "pre", method="window")
    assert ["ghost" in warning for warning in batch.done[0].info.warnings] == [True]


def test_runtime_is_reconciled_with_the_benchmark(builder: Builder, tmp_path: Path) -> None:
    made = builder().write()
    (made.folder / "net_tensorrt.json").write_text('{"config": {}, "avg_latency": 1.5}')
    info = map_recordings(made.raw_dir, tmp_path / "pre", method="window").done[0].info
    assert info.runtime == {"sum_of_layers_s": 1.2, "network_s": 1.5, "ratio": pytest.approx(0.8)}


def test_nothing_without_idle_power(builder: Builder, tmp_path: Path) -> None:
    made = builder()
    made.idle = None
    with pytest.raises(FormatError, match="no idle power"):
        map_recordings(made.write().raw_dir, tmp_path / "pre", method="window")


def test_an_unknown_method(builder: Builder, tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match="no mapping method 'guess'"):
        map_recordings(builder().write().raw_dir, tmp_path, method="guess")  # type: ignore[arg-type]


RUN = {"schema_version": 1, "model": "net", "board": "b", "backend": "onnxruntime", "sensor": {}}


@pytest.mark.parametrize("stamped", [True, False])
def test_a_recording_without_a_sensor_gives_runtimes_alone(builder: Builder, tmp_path: Path, stamped: bool) -> None:
    made = builder()
    made.idle = None
    if not stamped:
        made.latency = {"conv0": [400.0], "fc0": [800.0]}
    made.write()
    made.log_path.unlink()
    (made.folder / "run.json").write_text(json.dumps(RUN))
    network = map_recordings(made.raw_dir, tmp_path / "pre", method="window").done[0]
    assert [(layer.layer_name, layer.runtime_ms, layer.power_w) for layer in network.layers] == [
        ("conv0", 400.0, None),
        ("fc0", 800.0, None),
    ]
    assert (network.info.method, network.info.idle_power_w) == ("none", None)
    tables = build_dataset(tmp_path / "pre", tmp_path / "train").done[0]
    assert tables.left_out == []
    assert tables.tables[LayerKind.DENSE].select("power", "runtime").rows() == [(None, 800.0)]


def test_trtexec_does_not_say_when_layers_ran(builder: Builder, tmp_path: Path) -> None:
    made = builder()
    made.latency = {"conv0": [400.0], "fc0": [800.0]}
    made.write()
    (made.folder / "run.json").write_text(json.dumps({**RUN, "backend": "trtexec", "sensor": {"name": "ina3221"}}))
    assert map_recordings(made.raw_dir, tmp_path / "pre", method="window").done[0].info.method == "none"


def test_a_lost_power_log_is_an_error(builder: Builder, tmp_path: Path) -> None:
    made = builder().write()
    made.log_path.unlink()
    (made.folder / "run.json").write_text(json.dumps({**RUN, "sensor": {"name": "ina3221"}}))
    assert "power_log.log" in str(map_recordings(made.raw_dir, tmp_path / "pre", method="window").failed["net"])


def test_mapping_again_leaves_nothing_of_the_other_method(builder: Builder, tmp_path: Path) -> None:
    made = builder().write()
    map_recordings(made.raw_dir, tmp_path / "pre", method="window")
    made.log_path.unlink()
    (made.folder / "run.json").write_text(json.dumps(RUN))
    map_recordings(made.raw_dir, tmp_path / "pre", method="window")
    assert not (tmp_path / "pre/net/power_runtime_mapping_layerwise.csv").exists()
    assert [path.name for path in (tmp_path / "pre").iterdir()] == ["net"]
