from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_layers import noop, small_network

from edgewatt.errors import EdgewattError
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.cycles import CycleSettings
from edgewatt.simulation.recording import measure_idle, simulate_network
from edgewatt.simulation.sensor import SensorSettings
from edgewatt.simulation.settings import REFERENCE, REFERENCE_WITH_LAG, SimulationSettings

SETTINGS = SimulationSettings(cycles=CycleSettings(cycles=400))


@pytest.fixture(scope="module")
def recording():
    return simulate_network(small_network(), ORIN_NANO, SETTINGS, name="small", seed=3)


def test_truth_adds_up_to_the_recording():
    cycles = CycleSettings(cycles=400, warmup_cycles=0, idle_s=1.0, background_w=0.0, warming=0.05)
    recording = simulate_network(small_network(), ORIN_NANO, SimulationSettings(cycles=cycles), name="small", seed=3)
    timeline, truth = recording.timeline, recording.truth
    layers_j = truth["energy_mj"].sum() / 1e3 * 400
    factor = timeline.power_factor
    gaps_s = np.append(timeline.start_s[1:], timeline.trace.edges_s[-2]) - timeline.end_s
    gaps_j = float((factor * gaps_s).sum()) * (ORIN_NANO.idle_power_w + cycles.gap_power_w)
    idle_j = ORIN_NANO.idle_power_w * (factor[0] + factor[-1]) * 1.0
    assert timeline.trace.energy_j() == pytest.approx(layers_j + gaps_j + idle_j, rel=1e-9)


def test_truth_of_a_layer(recording):
    truth = recording.truth
    assert truth.columns == [
        "layer_name",
        "layer_type",
        "runtime_ms",
        "power_w",
        "power_above_idle_w",
        "energy_mj",
    ]
    assert truth["layer_type"].to_list() == [
        "convolutional",
        "pooling",
        "convolutional",
        "convolutional",
        "other",
        "dense",
    ]
    ran = truth.filter(truth["layer_name"] != "copied")
    np.testing.assert_allclose(ran["power_w"] - ran["power_above_idle_w"], 4.235)
    np.testing.assert_allclose(ran["energy_mj"], ran["power_w"] * ran["runtime_ms"])
    copied = truth.row(4, named=True)
    assert copied["runtime_ms"] == 0.0
    assert copied["energy_mj"] == 0.0
    assert copied["power_w"] is None


def test_reports_agree_with_the_truth(recording):
    latencies = recording.latencies
    assert latencies.names == tuple(layer.name for layer in small_network())
    means = [latency.mean() for latency in latencies.latency_ms]
    np.testing.assert_allclose(means, recording.truth["runtime_ms"], atol=2e-5)
    assert [len(latency) for latency in latencies.latency_ms] == [400] * 6
    # All of a cycle's stamps lie after its end on the GPU, and before the call's return.
    end_us = recording.timeline.end_s * 1e6 + recording.start_us
    for stamps in latencies.end_us:
        assert np.all(stamps > end_us + 15)
        assert np.all(stamps <= recording.call_end_us)
    assert np.all(recording.call_start_us[1:] >= recording.call_end_us[:-1])


def test_log_holds_the_energy_of_the_recording(recording):
    log = recording.power_log
    assert np.all(np.diff(log.times_us) > 0)
    np.testing.assert_array_equal(log.voltage_mv, 5000.0)
    np.testing.assert_array_equal(log.current_ma % 8, 0.0)
    trace = recording.timeline.trace
    held = np.diff(log.times_us, append=log.times_us[-1] + 1350) / 1e6
    # 8 mA steps, and conversions that see a sixth of the time.
    assert (held * log.power_uw).sum() / 1e6 / held.sum() == pytest.approx(
        trace.energy_j() / trace.duration_s, rel=0.02
    )


def test_same_seed_same_recording(recording):
    again = simulate_network(small_network(), ORIN_NANO, SETTINGS, name="small", seed=3)
    np.testing.assert_array_equal(again.power_log.current_ma, recording.power_log.current_ma)
    np.testing.assert_array_equal(again.power_log.times_us, recording.power_log.times_us)
    np.testing.assert_array_equal(np.array(again.latencies.end_us), np.array(recording.latencies.end_us))
    np.testing.assert_array_equal(np.array(again.latencies.latency_ms), np.array(recording.latencies.latency_ms))
    assert again.truth.equals(recording.truth)


@pytest.mark.parametrize(("name", "seed"), [("small", 4), ("other", 3)])
def test_another_seed_or_name_is_another_recording(recording, name, seed):
    other = simulate_network(small_network(), ORIN_NANO, SETTINGS, name=name, seed=seed)
    assert not np.array_equal(np.array(other.latencies.latency_ms), np.array(recording.latencies.latency_ms))
    # What the board can do is the same.
    np.testing.assert_allclose(other.truth["power_w"], recording.truth["power_w"])


def test_sensor_settings_leave_the_run_alone(recording):
    settings = replace(SETTINGS, sensor=SensorSettings(conversion_time_s=140e-6, channels=1))
    other = simulate_network(small_network(), ORIN_NANO, settings, name="small", seed=3)
    np.testing.assert_array_equal(other.timeline.trace.edges_s, recording.timeline.trace.edges_s)
    np.testing.assert_array_equal(np.array(other.latencies.end_us), np.array(recording.latencies.end_us))
    assert len(other.conversions.power_w) > 20 * len(recording.conversions.power_w)


def test_runtimes_can_be_scaled():
    settings = replace(SETTINGS, mean_layer_s=80e-6)
    recording = simulate_network(small_network(), ORIN_NANO, settings, name="small")
    runtimes = recording.truth["runtime_ms"].filter(recording.truth["runtime_ms"] > 0)
    assert runtimes.mean() == pytest.approx(0.08, rel=0.01)


def test_reference_recording_has_what_is_asked_of_it():
    recording = simulate_network(small_network(), ORIN_NANO, REFERENCE.with_cycles(2000), name="small")
    assert REFERENCE.cycles.cycles == 30_000
    gaps_ms = (recording.timeline.start_s[1:] - recording.timeline.end_s[:-1]) * 1e3
    assert np.median(gaps_ms) == pytest.approx(1.0, rel=0.02)
    # No clock is exact: 6.6 ms within 3 %.
    assert np.diff(recording.conversions.shunt_end_s).mean() * 1e3 == pytest.approx(6.6, rel=0.031)
    assert np.median(np.diff(recording.power_log.times_us)) == pytest.approx(1350, abs=5)
    assert REFERENCE_WITH_LAG.sensor.lag_s == 0.4e-3
    assert REFERENCE_WITH_LAG.cycles.warming == 0.04
    assert REFERENCE_WITH_LAG.cycles.cycles == 30_000


def test_idle_as_measured_is_near_the_truth_and_not_it():
    measured = measure_idle(ORIN_NANO, SensorSettings())
    assert measured == pytest.approx(4.235, abs=0.02)
    assert measured != 4.235
    assert measure_idle(ORIN_NANO, SensorSettings()) == measured
    # An offset of 80 uV is 16 mA too much.
    high = measure_idle(ORIN_NANO, SensorSettings(shunt_offset_v=80e-6))
    assert high - measured == pytest.approx(0.08, abs=0.02)


def test_what_cannot_be_simulated():
    with pytest.raises(EdgewattError, match="no layer that is executed"):
        simulate_network([noop("a")], ORIN_NANO, SETTINGS, name="nothing")
    with pytest.raises(EdgewattError, match="seed"):
        simulate_network(small_network(), ORIN_NANO, SETTINGS, name="small", seed=-1)
