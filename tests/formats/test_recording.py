from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError, EdgewattWarning, FormatError
from edgewatt.formats.recording import RecordingPaths, find_recordings, read_recording
from recording_builder import CONV, DENSE, RecordingBuilder

Builder = Callable[..., RecordingBuilder]


def stamps(count: int, first_ms: int = 0) -> list[list[object]]:
    return [[1.0, f"20241121-05:20:0{1 + i // 10}.{i % 10}{first_ms:05d}"] for i in range(count)]


def test_reads_what_was_written(builder: Builder) -> None:
    made = builder().write()
    recording = read_recording(RecordingPaths(made.folder))
    assert recording.paths.model == "net"
    assert recording.layers.names == ("conv0", "fc0")
    assert recording.layers.types == ("CaskConvolution", "CaskGemmConvolution")
    assert recording.layers.latency_ms.tolist() == [[400.0], [800.0]]
    assert (recording.layers.end_us[1] - recording.layers.end_us[0]).tolist() == [1_200_000]
    assert len(recording.power_log) == 11
    assert recording.benchmark is None
    assert recording.run_info is None


def test_layers_come_in_the_engines_order(builder: Builder) -> None:
    made = builder()
    made.latency = {"fc0": stamps(3), "conv0": stamps(3)}
    assert read_recording(RecordingPaths(made.write().folder)).layers.names == ("conv0", "fc0")


def test_two_layers_that_share_a_name_are_told_apart(builder: Builder) -> None:
    made = builder()
    made.engine = {"Layers": [CONV, DENSE, CONV]}
    shared = [[1.0, "20241121-05:20:01.1"], [3.0, "20241121-05:20:01.2"], [2.0, "20241121-05:20:01.3"]]
    shared += [[4.0, "20241121-05:20:01.4"]]
    made.latency = {"conv0": shared, "fc0": stamps(2)}
    layers = read_recording(RecordingPaths(made.write().folder)).layers
    assert layers.names == ("conv0", "fc0", "conv0 (2)")
    assert layers.latency_ms[0].tolist() == [1.0, 2.0]
    assert layers.latency_ms[2].tolist() == [3.0, 4.0]


def test_a_layer_that_the_engine_does_not_know(builder: Builder) -> None:
    made = builder()
    made.latency = {"conv0": stamps(2), "ghost \x1e": stamps(2), "fc0": stamps(2)}
    with pytest.warns(EdgewattWarning, match=r"does not know 1 of the 3 recorded layers: 'ghost \\\\x1e'"):
        layers = read_recording(RecordingPaths(made.write().folder)).layers
    assert layers.names == ("conv0", "fc0", "ghost \x1e")
    assert layers.types[2] == ""


def test_a_cut_last_cycle_is_left_out(builder: Builder) -> None:
    made = builder()
    made.latency = {"conv0": stamps(5), "fc0": stamps(4)}
    with pytest.warns(EdgewattWarning, match=r"layer 'fc0': the last cycle was cut off.*4 cycles remain"):
        layers = read_recording(RecordingPaths(made.write().folder)).layers
    assert layers.cycles == 4


@pytest.mark.parametrize(("conv", "fc"), [(4, 5), (5, 3), (0, 1)])
def test_a_layer_with_fewer_cycles(builder: Builder, conv: int, fc: int) -> None:
    made = builder()
    made.latency = {"conv0": stamps(conv), "fc0": stamps(fc)}
    short = "conv0" if conv < fc else "fc0"
    with pytest.raises(FormatError, match=f"layer '{short}': the layer has {min(conv, fc)} cycles where others have"):
        read_recording(RecordingPaths(made.write().folder))


def test_no_cycle(builder: Builder) -> None:
    made = builder()
    made.latency = {"conv0": [], "fc0": []}
    with pytest.raises(FormatError, match="no cycle was recorded"):
        read_recording(RecordingPaths(made.write().folder))


def test_latencies_without_timestamps_cannot_be_mapped(builder: Builder) -> None:
    made = builder()
    made.latency = {"conv0": [1.0], "fc0": [1.0]}
    with pytest.raises(FormatError, match="no timestamps"):
        read_recording(RecordingPaths(made.write().folder))


def test_names_only_is_warned_about(builder: Builder) -> None:
    made = builder()
    made.engine = {"Layers": ["conv0", "fc0"]}
    with pytest.warns(EdgewattWarning, match="profilingVerbosity=detailed"):
        assert read_recording(RecordingPaths(made.write().folder)).layers.types == ("", "")


def test_a_clock_set_back_between_cycles(builder: Builder) -> None:
    made = builder()
    made.latency = {"conv0": stamps(3)[::-1], "fc0": stamps(3)}
    with pytest.warns(EdgewattWarning, match="clock jumps back at cycle 2"):
        read_recording(RecordingPaths(made.write().folder))


def test_logs_of_different_times(builder: Builder) -> None:
    made = builder()
    made.log = [line.replace("20241121", "20241122") for line in made.log]
    with pytest.raises(FormatError, match="do not overlap"):
        read_recording(RecordingPaths(made.write().folder))


def test_find_recordings(builder: Builder, tmp_path: Path) -> None:
    builder("b").write()
    raw = builder("a").write().raw_dir
    (raw / "truth").mkdir()
    assert [paths.model for paths in find_recordings(raw)] == ["a", "b"]
    assert [paths.model for paths in find_recordings(raw, ["b", "b"])] == ["b"]
    with pytest.raises(EdgewattError, match=r"no recording of c\. There are: a, b"):
        find_recordings(raw, ["c"])
    with pytest.raises(EdgewattError, match="no such folder"):
        find_recordings(tmp_path / "none")
    with pytest.raises(EdgewattError, match="holds no recording"):
        find_recordings(raw / "truth")


def test_a_recording_itself_is_no_folder_of_recordings(builder: Builder) -> None:
    folder = builder("a").write().folder
    with pytest.raises(EdgewattError, match=rf"a recording itself.*and {folder.name} with --networks"):
        find_recordings(folder)
