"""Results of every source: recordings, mapped recordings and predictions, whole and with parts missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError, EdgewattWarning, FormatError
from edgewatt.mapping.run import map_recordings
from edgewatt.results.collect import collect, find_results, read_result
from edgewatt.results.network_result import Source, Weight
from recording_builder import RecordingBuilder

Builder = Callable[[str], RecordingBuilder]


def test_a_recording_tells_runtimes_powers_and_the_trace(builder: Builder, tmp_path: Path) -> None:
    recording = builder("net").write()
    map_recordings(recording.raw_dir, tmp_path / "pre", method="window")
    (result,) = collect([recording.folder, tmp_path / "pre"]).done
    assert (result.name, result.source, result.cycles) == ("net", Source.RECORDING, 1)
    conv, dense = result.layers
    assert (conv.name, conv.kind.value, dense.kind.value) == ("conv0", "convolutional", "dense")
    assert conv.runtime_s is not None
    assert conv.runtime_s.value == pytest.approx(0.4)
    # Readings of 5 V at 1.1, 1.2, ... A from 05:20:01 on, five a second; conv0 runs from 01.1 to 01.5.
    assert conv.power_w is not None
    assert conv.power_w.value == pytest.approx((6.0 + 6.5) / 2)
    assert conv.power_above_idle_w is not None
    assert conv.power_above_idle_w.value == pytest.approx(6.25 - 4.0)
    assert conv.energy_j is not None
    assert conv.energy_j.value == pytest.approx(6.25 * 0.4)
    assert conv.layer is not None
    assert conv.layer.macs == 4 * 8 * 8 * 3 * 9
    assert result.trace is not None
    assert result.trace.time_s.tolist() == pytest.approx([0.2 * i for i in range(11)])
    assert result.trace.power_w[0] == pytest.approx(5.5)
    # The only cycle: from the first layer's start to the last one's end.
    assert (result.trace.start_s.tolist(), result.trace.end_s.tolist()) == ([0.1], [1.7])


def test_energy_of_a_run_is_the_integral_of_the_held_readings(builder: Builder) -> None:
    result = read_result(builder("net").write().folder)
    # From 0.1 s to 1.7 s: each reading of 5.5 + 0.5 i W holds from 0.2 i s on.
    held = 5.5 * 0.1 + sum((5.5 + 0.5 * i) * 0.2 for i in range(1, 8)) + 9.5 * 0.1
    assert result.run_energy_j is not None
    assert result.run_energy_j.value == pytest.approx(held)
    assert result.run_power_w is not None
    assert result.run_power_w.value == pytest.approx(held / 1.6)


def test_a_recording_that_cannot_be_mapped_keeps_its_runtimes(builder: Builder) -> None:
    # One cycle, and seven readings in it: too little to tell layers apart.
    result = read_result(builder("net").write().folder)
    assert [layer.runtime_s.value for layer in result.layers if layer.runtime_s] == pytest.approx([0.4, 0.8])
    assert all(layer.power_w is None for layer in result.layers)
    assert any(f.weight is Weight.BAD and "could not be mapped" in f.text for f in result.findings)


def test_without_a_power_log_runtimes_remain(builder: Builder) -> None:
    recording = builder("net").write()
    recording.log_path.unlink()
    result = read_result(recording.folder)
    assert result.trace is None
    assert [layer.power_w for layer in result.layers] == [None, None]
    assert [layer.runtime_s.value for layer in result.layers if layer.runtime_s] == pytest.approx([0.4, 0.8])
    assert any("no power log" in finding.text for finding in result.findings)


def test_without_idle_power_there_is_a_warning_and_no_layer_power(builder: Builder) -> None:
    recording = builder("net")
    recording.idle = None
    recording.write()
    with pytest.warns(EdgewattWarning, match="no idle power"):
        result = read_result(recording.folder)
    assert result.idle_power_w is None
    assert all(layer.power_w is None for layer in result.layers)
    assert result.trace is not None


def test_without_times_of_layers_their_means_remain(builder: Builder) -> None:
    recording = builder("net")
    recording.latency = {"conv0": [0.25, 0.35], "fc0": [0.5, 0.7]}
    result = read_result(recording.write().folder)
    assert [layer.runtime_s.value for layer in result.layers if layer.runtime_s] == pytest.approx([0.3e-3, 0.6e-3])
    assert result.cycles == 2
    assert any("no time of each layer" in finding.text for finding in result.findings)


def test_an_engine_without_details_leaves_layers_without_kinds(builder: Builder) -> None:
    recording = builder("net")
    recording.engine = {"Layers": ["conv0", "fc0"], "Bindings": []}
    with pytest.warns(EdgewattWarning):
        result = read_result(recording.write().folder)
    assert [layer.layer for layer in result.layers] == [None, None]
    assert [layer.kind.value for layer in result.layers] == ["other", "other"]


def test_what_run_json_says_against_a_recording_is_told(builder: Builder) -> None:
    recording = builder("net").write()
    run = {
        "schema_version": 1,
        "model": "net",
        "board": "Jetson Orin Nano",
        "power_mode": "15W",
        "precision": "float16",
    }
    run |= {"verdict": ["clocks were not locked (cpu0)"], "clocks": {"locked": False}, "interrupted": True}
    (recording.folder / "run.json").write_text(json.dumps(run))
    result = read_result(recording.folder)
    texts = {finding.text: finding.weight for finding in result.findings}
    assert texts["Clocks were not locked (cpu0)"] is Weight.CAUTION
    assert any(text.startswith("The recording was interrupted") for text in texts)
    assert (result.environment.board, result.environment.power_mode) == ("Jetson Orin Nano", "15W")
    assert result.environment.clocks == "not locked"
    run["verdict"] = []
    (recording.folder / "run.json").write_text(json.dumps(run))
    good = [finding.text for finding in read_result(recording.folder).findings if finding.weight is Weight.GOOD]
    assert any(text.startswith("Stability") for text in good)


def test_a_recording_and_what_it_was_mapped_to_become_one(builder: Builder, tmp_path: Path) -> None:
    recording = builder("net").write()
    map_recordings(recording.raw_dir, tmp_path / "pre", method="window")
    both = collect([recording.folder, tmp_path / "pre"]).done
    assert [result.source for result in both] == [Source.RECORDING]
    assert both[0].trace is not None
    assert both[0].layers[0].power_w == read_result(tmp_path / "pre" / "net").layers[0].power_w


def test_another_recording_of_that_name_stays_apart(builder: Builder, tmp_path: Path) -> None:
    recording = builder("net").write()
    map_recordings(recording.raw_dir, tmp_path / "pre", method="window")
    other = RecordingBuilder(tmp_path / "again", "net")
    other.latency = {"conv0": [[300.0, "20241121-05:20:01.5"]], "fc0": [[800.0, "20241121-05:20:02.7"]]}
    other.write()
    found = collect([other.folder, tmp_path / "pre"]).done
    assert [result.source for result in found] == [Source.RECORDING, Source.MAPPED]


def test_a_folder_of_several_goes_on_after_a_broken_one(builder: Builder) -> None:
    builder("good").write()
    broken = builder("broken").write()
    broken.latency_path.write_text("{")
    found = collect([broken.raw_dir])
    assert [result.name for result in found.done] == ["good"]
    assert [Path(name).name for name in found.failed] == ["broken"]
    assert found.exit_status == 1


def test_results_keep_the_order_in_which_they_were_named(builder: Builder, tmp_path: Path) -> None:
    first, second = builder("b").write(), builder("a").write()
    map_recordings(first.raw_dir, tmp_path / "pre", method="window", models=["b"])
    found = collect([tmp_path / "pre" / "b", second.folder]).done
    assert [result.name for result in found] == ["b", "a"]


@pytest.mark.parametrize("name", ["nothing", "empty", "notes.txt"])
def test_what_holds_no_result_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(EdgewattError, match="Name the folder"):
        find_results(tmp_path / name)


CSV = """"layer_name","layer_type","power_prediction (W)","runtime_prediction (ms)","energy_prediction (mJ)"
"conv0","convolutional",2.0,0.5,1.0
"fc0","dense",,,
"""


def test_predictions_from_csv(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text(CSV)
    result = read_result(tmp_path / "net.csv")
    assert (result.name, result.source, result.idle_power_w) == ("net", Source.PREDICTION, None)
    conv, dense = result.layers
    assert conv.runtime_s is not None
    assert conv.runtime_s.value == pytest.approx(0.5e-3)
    assert conv.energy_above_idle_j is not None
    assert conv.energy_above_idle_j.value == pytest.approx(1e-3)
    assert (conv.energy_j, dense.runtime_s) == (None, None)
    assert any("covers 1 of 2 layers" in finding.text for finding in result.findings)


def test_predictions_from_json_with_intervals_and_idle(tmp_path: Path) -> None:
    layer = {
        "layer_name": "conv0",
        "layer_type": "convolutional",
        "operation": "convolution",
        "status": "predicted",
        "power_w": 2.0,
        "runtime_ms": 0.5,
        "energy_mj": 1.0,
        "outside_training_range": ["macs"],
        "power_interval_w": [1.5, 3.0],
        "runtime_interval_ms": [0.4, 0.6],
        "energy_interval_mj": [0.7, 1.5],
    }
    value = {"network": "net.onnx", "layers": [layer], "totals": {"idle_power_w": 4.0}, "origin": {"prior": False}}
    value["whole_network"] = {"runtime_ms": 0.7, "energy_mj": 4.0, "calibrated_on_networks": 9}
    (tmp_path / "p.json").write_text(json.dumps(value))
    result = read_result(tmp_path / "p.json")
    conv = result.layers[0]
    assert result.name == "net"
    assert conv.energy_above_idle_j is not None
    assert (conv.energy_above_idle_j.low, conv.energy_above_idle_j.high) == pytest.approx((0.7e-3, 1.5e-3))
    # 4 W over 0.5 ms (0.4 to 0.6) on top.
    assert conv.energy_j is not None
    assert (conv.energy_j.value, conv.energy_j.low, conv.energy_j.high) == pytest.approx((3.0e-3, 2.3e-3, 3.9e-3))
    assert conv.remarks == ("extrapolated: macs",)
    assert result.runtime_s is not None
    assert result.runtime_s.value == pytest.approx(0.7e-3)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("p.csv", "a,b\n1,2\n", "holds no predictions"),
        ("p.csv", CSV.replace("2.0", "two"), "not a number"),
        ("p.csv", CSV.replace("convolutional", "quantum"), "no kind of layer"),
        ("p.csv", CSV.splitlines()[0] + "\n", "holds no layer"),
        ("p.json", "[]", "holds no predictions"),
        ("p.json", '{"layers": [1], "totals": {}}', "no object"),
        ("p.json", '{"layers": [{"layer_name": 1}], "totals": {}}', "no name"),
    ],
)
def test_what_is_no_prediction_is_told(tmp_path: Path, name: str, text: str, what: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=what):
        read_result(tmp_path / name)
