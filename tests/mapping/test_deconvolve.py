from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from deconvolution_cases import jittered_ends, layer_cycles, power_log, recording_of
from threadpoolctl import threadpool_limits

from edgewatt.errors import EdgewattError
from edgewatt.formats.engine_info import EngineInfo
from edgewatt.formats.layer_power import read_layer_power
from edgewatt.formats.mapping_info import read_mapping_info
from edgewatt.formats.recording import Recording, RecordingPaths
from edgewatt.formats.run_info import RunInfo
from edgewatt.mapping import fast_search
from edgewatt.mapping.deconvolve import DeconvolvedRun, deconvolve
from edgewatt.mapping.run import map_recordings
from edgewatt.networks.architectures import network_layers
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.recording import SimulatedRecording, simulate_network
from edgewatt.simulation.settings import REFERENCE, REFERENCE_WITH_LAG, SimulationSettings
from edgewatt.simulation.simulate import simulate


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """As `map_recording` does: the matrices are small, and threads would wait for each other."""
    with threadpool_limits(limits=1):
        yield


@cache
def _simulate(settings: SimulationSettings, seed: int = 0) -> SimulatedRecording:
    return simulate_network(network_layers("resnet18"), ORIN_NANO, settings, name="resnet18", seed=seed)


def _error_and_correlation(run: DeconvolvedRun, simulated: SimulatedRecording) -> tuple[float, float]:
    truth = simulated.truth["power_above_idle_w"].to_numpy()
    executed = simulated.truth["runtime_ms"].to_numpy() > 0
    estimate = np.array(
        [row.power_above_idle_w if row.power_above_idle_w is not None else np.nan for row in run.layers]
    )
    truth, estimate = truth[executed], estimate[executed]
    return float(np.mean(np.abs(estimate - truth)) / truth.mean()), float(np.corrcoef(estimate, truth)[0, 1])


def _covered(run: DeconvolvedRun, simulated: SimulatedRecording) -> list[bool]:
    return [
        row.power_low_w <= true <= row.power_high_w
        for row, true in zip(run.layers, simulated.truth["power_w"], strict=True)
        if row.power_low_w is not None and row.power_high_w is not None and true is not None
    ]


def test_powers_of_a_recording_in_the_base_format() -> None:
    simulated = _simulate(REFERENCE.with_cycles(6000))
    run = deconvolve(recording_of(simulated), simulated.idle_power_w)
    error, correlation = _error_and_correlation(run, simulated)
    assert error < 0.05
    assert correlation > 0.95
    assert abs(run.energy_closure.difference) < 0.01
    diagnostics = run.diagnostics
    assert diagnostics["timeline"]["stamps"] == "after the inference"
    period = float(np.diff(simulated.conversions.shunt_end_s).mean())
    assert diagnostics["clock"]["period_s"] == pytest.approx(period, rel=1e-4)
    assert diagnostics["response"]["length_s"] == pytest.approx(period / 6, rel=0.01)
    # Reports come 20 to 60 us after the inference.
    assert diagnostics["timeline"]["timing_spread_s"] == pytest.approx(40e-6 / np.sqrt(12), rel=0.15)
    gaps = diagnostics["gaps"][0]
    assert gaps["power_w"] == pytest.approx(simulated.idle_power_w + REFERENCE.cycles.gap_power_w, abs=0.05)
    assert [row.layer_name for row in run.layers] == list(simulated.truth["layer_name"])
    for row in run.layers:
        if row.power_w is not None:
            assert row.power_w - simulated.idle_power_w == pytest.approx(row.power_above_idle_w)
            assert row.energy_mj == pytest.approx(row.power_w * row.runtime_ms)
            assert row.samples > 1000


def test_lag_and_warming() -> None:
    simulated = _simulate(REFERENCE_WITH_LAG.with_cycles(3000))
    run = deconvolve(recording_of(simulated), simulated.idle_power_w)
    error, _ = _error_and_correlation(run, simulated)
    assert error < 0.12
    assert run.diagnostics["response"]["lag_s"] == pytest.approx(0.4e-3, rel=0.1)


def test_intervals_hold_the_truth() -> None:
    covered: list[bool] = []
    for seed in range(6):
        simulated = _simulate(REFERENCE.with_cycles(1000), seed)
        covered += _covered(deconvolve(recording_of(simulated), simulated.idle_power_w), simulated)
    assert 0.8 <= np.mean(covered) <= 0.99


def test_a_slow_sensor_tells_the_network_and_few_layers() -> None:
    settings = replace(REFERENCE, sensor=replace(REFERENCE.sensor, conversion_time_s=8244e-6)).with_cycles(4000)
    simulated = _simulate(settings)
    run = deconvolve(recording_of(simulated), simulated.idle_power_w)
    told = [row.identifiable for row in run.layers if row.power_w is not None]
    assert np.mean(told) < 0.5
    energy = sum(row.energy_mj or 0.0 for row in run.layers)
    assert energy == pytest.approx(float(simulated.truth["energy_mj"].sum()), rel=0.02)
    assert any("faster sensor setting" in warning for warning in run.warnings)


def test_a_sensor_faster_than_its_polls_with_known_settings() -> None:
    settings = replace(REFERENCE, sensor=replace(REFERENCE.sensor, conversion_time_s=140e-6)).with_cycles(1000)
    simulated = _simulate(settings)
    sensor = {"channels": 3, "samples": 1, "shunt_conversion_time_us": 140, "bus_conversion_time_us": 140}
    run = deconvolve(
        recording_of(simulated, RunInfo(model="resnet18", board="b", sensor=sensor)), simulated.idle_power_w
    )
    error, correlation = _error_and_correlation(run, simulated)
    assert error < 0.02
    assert correlation > 0.99
    period = float(np.diff(simulated.conversions.shunt_end_s).mean())
    assert run.diagnostics["clock"]["period_s"] == pytest.approx(period, rel=1e-5)


def test_pauses_before_layers_are_found() -> None:
    settings = replace(REFERENCE, cycles=replace(REFERENCE.cycles, launch_gap_s=3e-6)).with_cycles(3000)
    simulated = _simulate(settings)
    run = deconvolve(recording_of(simulated), simulated.idle_power_w)
    assert run.diagnostics["timeline"]["pause_before_layers_s"] == pytest.approx(3e-6, rel=0.4)
    assert _error_and_correlation(run, simulated)[0] < 0.08


def test_a_recording_made_by_hand() -> None:
    random = np.random.default_rng(0)
    runtime = np.array([0.3e-3, 0.5e-3, 0.4e-3])
    power = np.array([6.0, 10.0, 8.0])
    start, end = jittered_ends(runtime, 2000, 1e-3, random)
    # Conversions of 1 ms every 5 ms, each an exact mean of the power, which is summed up from one edge to the next.
    edges = np.column_stack((start, end[:, -1])).ravel()
    segment = np.tile(np.append(power, 5.0), len(start))
    energy = np.concatenate(([0.0], np.cumsum(segment[:-1] * np.diff(edges))))
    conversion_end = np.arange(0.02, end[-1, -1], 5e-3)
    value = (np.interp(conversion_end, edges, energy) - np.interp(conversion_end - 1e-3, edges, energy)) / 1e-3
    polls = np.cumsum(random.normal(1.3e-3, 0.02e-3, int(end[-1, -1] / 1.3e-3)))
    polls = polls[polls > 0.021]
    read = value[np.searchsorted(conversion_end, polls, side="right") - 1]
    recording = Recording(
        RecordingPaths(Path("net")),
        power_log(polls, np.round(read / 0.04) * 0.04),
        layer_cycles(start, end, end),
        EngineInfo((), ()),
        None,
        None,
    )
    run = deconvolve(recording, 4.0)
    assert run.diagnostics["timeline"]["stamps"] == "own ends"
    np.testing.assert_allclose([row.power_w for row in run.layers], power, atol=0.1)
    assert run.diagnostics["gaps"][0]["power_w"] == pytest.approx(5.0, abs=0.05)
    assert all(row.identifiable for row in run.layers)


def test_too_few_values_are_an_error() -> None:
    simulated = _simulate(REFERENCE.with_cycles(10))
    with pytest.raises(EdgewattError, match="too few"):
        deconvolve(recording_of(simulated), simulated.idle_power_w)


def test_files(tmp_path: Path) -> None:
    raw, folder = tmp_path / "raw", tmp_path / "pre" / "alexnet"
    simulate(raw, ["alexnet"], cycles=300)
    map_recordings(raw, tmp_path / "pre", method="window")
    assert (folder / "power_runtime_mapping_layerwise.csv").exists()
    batch = map_recordings(raw, tmp_path / "pre", method="deconvolve")
    assert not batch.failed
    assert sorted(path.name for path in folder.iterdir()) == [
        "layer_power.csv",
        "made_from.json",
        "mapping.json",
        "trt_engine_info.json",
    ]
    info = read_mapping_info(folder / "mapping.json")
    assert info.method == "deconvolve"
    assert info.energy_closure is not None
    content = json.loads((folder / "mapping.json").read_text())
    assert content["deconvolution"]["response"]["length_s"] > 0
    assert {row.layer_name for row in read_layer_power(folder / "layer_power.csv")} == {
        row.layer_name for row in batch.done[0].layers
    }


def test_progress_is_told() -> None:
    simulated = _simulate(REFERENCE.with_cycles(300))
    told: list[str] = []
    say: Callable[[str], None] = told.append
    deconvolve(recording_of(simulated), simulated.idle_power_w, progress=say)
    assert told[0] == "sensor clock"
    assert told[-1] == "intervals"


def _fast(channels: int, cycles: int, seed: int) -> SimulatedRecording:
    sensor = replace(REFERENCE.sensor, conversion_time_s=140e-6, channels=channels)
    return _simulate(replace(REFERENCE, sensor=sensor).with_cycles(cycles), seed)


def test_a_clock_faster_than_the_polls_is_found_in_the_values() -> None:
    simulated = _fast(1, 1500, 1)
    run = deconvolve(recording_of(simulated), simulated.idle_power_w)
    period = float(np.diff(simulated.conversions.shunt_end_s).mean())
    assert run.diagnostics["clock"]["period_s"] == pytest.approx(period, rel=5e-5)
    assert run.diagnostics["response"]["length_s"] == pytest.approx(period / 2, rel=0.03)
    error, correlation = _error_and_correlation(run, simulated)
    assert error < 0.03
    assert correlation > 0.98
    assert np.mean(_covered(run, simulated)) >= 0.7


def test_a_clock_that_no_setting_has_is_found_near_another(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two channels of 204 us take 816 us, near three of 140 us: 840 us.
    monkeypatch.setattr(fast_search, "_CONVERSIONS_S", (204e-6,))
    simulated = _fast(3, 1000, 0)
    run = deconvolve(recording_of(simulated), simulated.idle_power_w)
    period = float(np.diff(simulated.conversions.shunt_end_s).mean())
    assert run.diagnostics["clock"]["period_s"] == pytest.approx(period, rel=1e-4)
    assert run.diagnostics["response"]["length_s"] == pytest.approx(period / 6, rel=0.05)


def test_a_wrong_clock_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the true conversion time in the table the search can only come up with wrong clocks.
    monkeypatch.setattr(fast_search, "_CONVERSIONS_S", (204e-6, 332e-6))
    simulated = _fast(1, 1000, 0)
    run = deconvolve(recording_of(simulated), simulated.idle_power_w)
    assert run.diagnostics["clock"] is None
    assert not any(row.identifiable for row in run.layers)
    assert np.mean(_covered(run, simulated)) > 0.9
    energy = sum(row.energy_mj or 0.0 for row in run.layers)
    assert energy == pytest.approx(float(simulated.truth["energy_mj"].sum()), rel=0.02)
    assert abs(run.energy_closure.difference) < 0.01
    assert any("clock was not found" in warning for warning in run.warnings)


def test_hardly_more_values_than_unknowns_tell_the_network_alone() -> None:
    simulated = _simulate(REFERENCE.with_cycles(150))
    run = deconvolve(recording_of(simulated), simulated.idle_power_w)
    assert not any(row.identifiable for row in run.layers)
    assert len({row.power_w for row in run.layers if row.power_w is not None}) == 1
    assert all(_covered(run, simulated))
    assert any("unknowns" in warning for warning in run.warnings)
    network = run.diagnostics["network"]
    true = simulated.truth.filter(simulated.truth["runtime_ms"] > 0)
    true_w = float(true["energy_mj"].sum() / true["runtime_ms"].sum())
    assert network["power_w"] == pytest.approx(true_w, abs=4 * network["power_error_w"])
