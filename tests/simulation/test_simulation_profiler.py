from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgewatt.simulation.cycles import CycleSettings, run_cycles
from edgewatt.simulation.profiler import ProfilerSettings, draw_host_delays, report_times, reported_latencies

RUNTIME_S = np.array([100e-6, 0.0, 250e-6, 50e-6, 3e-6])
LAYERS = len(RUNTIME_S)


def _recorded(settings: ProfilerSettings, cycles: int = 400):
    random = np.random.default_rng(2)
    delays = draw_host_delays(cycles, LAYERS, settings, random)
    timeline = run_cycles(
        RUNTIME_S, np.full(LAYERS, 3.0), 4.0, delays.least_gap_s, CycleSettings(cycles=cycles, gap_s=0.1e-3), random
    )
    return timeline, delays, random


def test_reports_come_after_the_inference_one_by_one():
    settings = ProfilerSettings()
    timeline, delays, _ = _recorded(settings)
    reports = report_times(timeline, delays, settings)
    first = reports[:, 0] - timeline.end_s
    assert first.min() >= 20e-6 - 1e-9
    assert first.max() <= 60e-6 + 1e-9
    steps = np.diff(reports, axis=1)
    assert steps.min() >= 2e-6 - 1e-9
    assert steps.max() <= 5e-6 + 1e-9
    # The next inference waits until the host has reported this one and called it.
    assert np.all(reports[:-1, -1] < timeline.start_s[1:] - delays.launch_s[1:])


def test_own_ends():
    settings = ProfilerSettings(own_ends=True)
    timeline, delays, _ = _recorded(settings)
    np.testing.assert_array_equal(report_times(timeline, delays, settings), timeline.layer_end_s)


def test_latencies_are_32_bit_milliseconds_in_steps():
    settings = ProfilerSettings()
    timeline, _, random = _recorded(settings)
    latency_ms = reported_latencies(timeline, settings, random)
    np.testing.assert_array_equal(latency_ms, latency_ms.astype(np.float32))
    steps = latency_ms * 1e6 / 32
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-3)
    assert np.all(latency_ms[:, 1] == 0.0)
    # 50 ns at either end, and the step's own 32 / sqrt(12) ns.
    errors_s = latency_ms / 1e3 - timeline.layer_s
    expected = np.hypot(np.sqrt(2) * 50e-9, 32e-9 / np.sqrt(12))
    assert errors_s[:, [0, 2, 3, 4]].std() == pytest.approx(expected, rel=0.1)


def test_neighbours_share_an_event():
    settings = ProfilerSettings(event_noise_s=1e-6)
    timeline, _, random = _recorded(settings, cycles=5000)
    errors_s = reported_latencies(timeline, settings, random) / 1e3 - timeline.layer_s
    assert np.corrcoef(errors_s[:, 2], errors_s[:, 3])[0, 1] == pytest.approx(-0.5, abs=0.05)


def test_coarse_events_never_make_a_negative_latency():
    settings = replace(ProfilerSettings(), event_step_s=1.024e-6, event_noise_s=5e-6)
    timeline, _, random = _recorded(settings)
    assert reported_latencies(timeline, settings, random).min() >= 0.0
