from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgewatt.errors import EdgewattError, EdgewattWarning
from edgewatt.exchange import trace as module
from edgewatt.exchange.export import export
from edgewatt.formats.csv_file import read_csv
from edgewatt.mapping.run import map_recordings
from edgewatt.simulation.simulate import simulate
from recording_builder import RecordingBuilder
from trace_checker import Trace, read_trace


def shown(trace: Trace, track: str) -> list[tuple[str, float, float]]:
    """Slices of a track as (name, start in us, duration in us)."""
    return [(event["name"], float(start), float(duration)) for start, duration, event in trace.slices[track]]


def test_a_recording_shows_its_cycles_readings_and_idle_power(
    tmp_path: Path, builder: Callable[..., RecordingBuilder]
) -> None:
    recording = builder()
    stamps = [("20241121-05:20:01.5", "20241121-05:20:02.0"), ("20241121-05:20:02.4", "20241121-05:20:02.9")]
    # Two cycles that begin 1.1 and 2.0 s after the minute and take 0.9 s each, the second one right after the first.
    recording.latency = {"conv0": [[400.0, end] for end, _ in stamps], "fc0": [[500.0, end] for _, end in stamps]}
    recording.latency["fc0"][1][0] = 400.0  # and with 0.1 s between its layers
    recording.write()
    done = export(tmp_path / "raw/net", tmp_path / "out.trace.json")
    trace = read_trace(tmp_path / "out.trace.json")
    assert trace.process == "net"
    # The trace begins with the reading before the first cycle, at 1.0 s.
    assert trace.about["start"] == "20241121-05:20:01.000000"
    assert shown(trace, "inferences") == [("cycle 1", 100_000, 900_000), ("cycle 2", 1_000_000, 900_000)]
    assert shown(trace, "layers") == [
        ("conv0", 100_000, 400_000),
        ("fc0", 500_000, 500_000),
        ("conv0", 1_000_000, 400_000),
        ("fc0", 1_500_000, 400_000),
    ]
    assert trace.slices["layers"][0][2]["args"] == {"layer_type": "CaskConvolution"}
    # Readings every 0.2 s to the one behind the last cycle, at 3.0 s.
    assert [float(time) for time, _ in trace.counters["power"]] == [200_000.0 * number for number in range(11)]
    assert [value for _, value in trace.counters["power"]] == pytest.approx([5.5 + 0.5 * n for n in range(11)])
    assert trace.counters["idle power"] == [(0, 4.0), (2_000_000, 4.0)]
    assert done.rows == 2 + 4 + 11 + 2


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated")
    simulate(folder / "raw", ["resnet18"], board="orin-nano", cycles=40, seed=1, precision="float16", batch=1)
    map_recordings(folder / "raw", folder / "pre", method="window")
    return folder


def test_cycles_and_the_idle_time_between_them(simulated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = simulated / "all.trace.json"
    export(simulated / "raw/resnet18", out, cycles=40)
    trace = read_trace(out)
    cycles = [one for one in trace.slices["inferences"] if one[2]["cat"] == "inference"]
    idle = [one for one in trace.slices["inferences"] if one[2]["cat"] == "idle"]
    assert [event["name"] for *_, event in cycles] == [f"cycle {number}" for number in range(1, 41)]
    assert len(idle) == 39
    whole = sum(duration for _, duration, _ in cycles + idle)
    assert whole == cycles[-1][0] + cycles[-1][1] - cycles[0][0]
    layers = len(trace.slices["layers"]) // 40
    assert len(trace.slices["layers"]) == 40 * layers
    # The same file, whatever the number of cycles that are written at once.
    content = out.read_bytes()
    monkeypatch.setattr(module, "_SLICES_AT_ONCE", 3 * layers)
    export(simulated / "raw/resnet18", out, cycles=40)
    again = read_trace(out)
    assert again.slices == trace.slices
    assert again.counters == trace.counters
    assert len(out.read_bytes()) == len(content)


def test_the_number_of_cycles_is_limited(simulated: Path) -> None:
    out = simulated / "few.trace.json"
    with pytest.warns(EdgewattWarning, match="the trace shows 3 of 40 cycles"):
        export(simulated / "raw/resnet18", out, cycles=3)
    trace = read_trace(out)
    assert [name for name, *_ in shown(trace, "inferences") if name != "idle"] == ["cycle 1", "cycle 2", "cycle 3"]
    end = max(start + duration for start, duration, _ in trace.slices["layers"])
    assert trace.counters["power"][-2][0] <= end <= trace.counters["power"][-1][0]


def test_a_mapped_network_shows_one_mean_cycle(simulated: Path) -> None:
    folder, out = simulated / "pre/resnet18", simulated / "mean.trace.json"
    export(folder, out)
    trace = read_trace(out)
    table = read_csv(folder / "layer_power.csv", {})
    layers = [one for one in trace.slices["layers"] if one[2]["cat"] == "layer"]
    assert [event["name"] for *_, event in layers] == table["layer_name"].to_list()
    runtimes_us = np.array([float(value) * 1e3 for value in table["runtime_ms"]])
    np.testing.assert_allclose([float(duration) for _, duration, _ in layers], runtimes_us, atol=1e-3)
    np.testing.assert_allclose([float(start) for start, *_ in layers], np.cumsum(runtimes_us) - runtimes_us, atol=1e-3)
    known = [(float(start), power) for (start, *_), power in zip(layers, table["power_w"], strict=True) if power]
    assert [(float(time), value) for time, value in trace.counters["power"]] == [(t, float(p)) for t, p in known]
    # The inference takes longer than its layers together: the rest is marked.
    ((_, start, duration),) = shown(trace, "inferences")
    (gap,) = [one for one in trace.slices["layers"] if one[2]["cat"] == "idle"]
    assert float(gap[0] + gap[1]) == start + duration
    assert len({value for _, value in trace.counters["idle power"]}) == 1


def test_a_prediction_shows_one_cycle(tmp_path: Path) -> None:
    path, out = tmp_path / "predictions.csv", tmp_path / "out.json"
    header = "layer_name,layer_type,power_prediction (W),runtime_prediction (ms),energy_prediction (mJ)\n"
    path.write_text(f'{header}"a ""b""",dense,2.5,0.5,1.25\nfree,other,0.0,0.0,0.0\nc,other,,0.25,\n')
    export(path, out, file_format="perfetto")
    trace = read_trace(out)
    # A layer that is not executed takes no time, where the next one begins.
    assert shown(trace, "layers") == [('a "b"', 0.0, 500.0), ("c", 500.0, 250.0), ("free", 500.0, 0.0)]
    assert trace.counters == {"power above idle": [(0, 2.5)]}
    path.write_text(f"{header}c,other,,,\n")
    with pytest.raises(EdgewattError, match="not every layer has a predicted runtime"):
        export(path, out, file_format="perfetto")


def test_cycles_are_of_recordings_alone(simulated: Path) -> None:
    with pytest.raises(EdgewattError, match=r"a mapped network has one mean cycle\. Leave --cycles out"):
        export(simulated / "pre/resnet18", simulated / "x.trace.json", cycles=3)
