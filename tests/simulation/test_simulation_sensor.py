from __future__ import annotations

import numpy as np
import pytest

from edgewatt.errors import EdgewattError
from edgewatt.simulation.power_trace import PowerTrace
from edgewatt.simulation.sensor import SensorSettings, convert, poll

EXACT = {"current_noise_a": 0.0, "clock_error": 0.0, "clock_drift": 0.0}


def _busy_trace(segments: int = 2000, seed: int = 1) -> PowerTrace:
    random = np.random.default_rng(seed)
    edges = np.concatenate(([0.0], np.cumsum(random.exponential(0.5e-3, segments))))
    return PowerTrace(edges, random.uniform(4.0, 12.0, segments))


def _direct_mean(trace: PowerTrace, start: float, end: float) -> float:
    """Mean power of a window by going through all segments."""
    energy = 0.0
    borders = [-1e9, *trace.edges_s[1:-1], 1e9]
    for left, right, power in zip(borders, borders[1:], trace.power_w, strict=False):
        energy += max(0.0, min(end, right) - max(start, left)) * power
    return energy / (end - start)


def test_values_are_the_mean_power_of_their_window_in_steps():
    trace = _busy_trace()
    conversions = convert(trace, 5.0, SensorSettings(**EXACT), np.random.default_rng(0))
    for index in range(0, len(conversions.power_w), 7):
        start, end = conversions.shunt_start_s[index], conversions.shunt_end_s[index]
        assert end - start == pytest.approx(1.1e-3)
        power = _direct_mean(trace, start, end)
        assert conversions.power_w[index] == pytest.approx(power, rel=1e-9)
        # 40 uV over 5 mOhm are 8 mA; a value is off by at most half of that.
        steps = conversions.current_a[index] / 0.008
        assert steps == pytest.approx(round(steps), abs=1e-6)
        assert abs(conversions.current_a[index] - power / 5.0) <= 0.004 + 1e-9


@pytest.mark.parametrize(
    ("settings", "period_ms"),
    [
        (SensorSettings(**EXACT), 6.6),
        (SensorSettings(conversion_time_s=140e-6, channels=3, **EXACT), 0.84),
        (SensorSettings(conversion_time_s=140e-6, channels=1, **EXACT), 0.28),
        (SensorSettings(conversion_time_s=8244e-6, samples=16, **EXACT), 49.464),
    ],
)
def test_period_is_channels_times_both_conversions(settings, period_ms):
    conversions = convert(_busy_trace(), 5.0, settings, np.random.default_rng(0))
    np.testing.assert_allclose(np.diff(conversions.shunt_end_s), period_ms / 1e3, rtol=1e-9)
    np.testing.assert_allclose(conversions.bus_end_s - conversions.shunt_end_s, settings.conversion_time_s, rtol=1e-6)


def test_conversions_cover_the_recording():
    trace = _busy_trace()
    for seed in range(20):
        settings = SensorSettings(clock_error=0.1)
        conversions = convert(trace, 5.0, settings, np.random.default_rng(seed))
        assert conversions.bus_end_s[0] < 0.0
        assert conversions.shunt_end_s[-1] > trace.edges_s[-1]


def test_clock_is_off_and_drifts_within_its_limits():
    trace = PowerTrace(np.array([0.0, 200.0]), np.array([5.0]))
    settings = SensorSettings(clock_error=0.03, clock_drift=2e-4, clock_drift_period_s=60.0)
    means = []
    for seed in range(30):
        conversions = convert(trace, 5.0, settings, np.random.default_rng(seed))
        periods = np.diff(conversions.shunt_end_s)
        means.append(periods.mean() / 6.6e-3 - 1)
        assert np.ptp(periods) / periods.mean() == pytest.approx(2 * 2e-4, rel=0.05)
    assert np.abs(means).max() < 0.0302
    assert np.std(means) > 0.01


def test_averaging_is_exponential():
    # After a step of 1 A at 0.5 s, N = 16 leaves (15/16)^k of it after k conversions that saw all of the step.
    trace = PowerTrace(np.array([0.0, 0.5, 2.0]), np.array([5.0, 10.0]))
    settings = SensorSettings(samples=16, shunt_ohm=5.0, **EXACT)  # steps of 8 uA, as good as none
    conversions = convert(trace, 5.0, settings, np.random.default_rng(0))
    after = np.flatnonzero(conversions.shunt_start_s >= 0.5)
    missing = 2.0 - conversions.current_a[after]
    np.testing.assert_allclose(missing[1:60] / missing[:59], 15 / 16, rtol=2e-3)
    assert conversions.current_a[after[0] - 2] == pytest.approx(1.0, abs=1e-5)


def test_offset_and_gain():
    trace = PowerTrace(np.array([0.0, 5.0]), np.array([5.0]))
    settings = SensorSettings(shunt_offset_v=80e-6, gain_error=0.0025, shunt_ohm=0.005, **EXACT)
    # 1 A, 0.25 % more, and 80 uV over 5 mOhm: 1.0185 A, of which the nearest step is 1.016 A.
    conversions = convert(trace, 5.0, settings, np.random.default_rng(0))
    np.testing.assert_allclose(conversions.current_a, 1.016)


def test_noise_falls_with_the_conversion_time():
    trace = PowerTrace(np.array([0.0, 20.0]), np.array([5.0]))
    for conversion_time_s in (140e-6, 1100e-6):
        settings = SensorSettings(conversion_time_s=conversion_time_s, current_noise_a=0.02)
        conversions = convert(trace, 5.0, settings, np.random.default_rng(0))
        expected = np.hypot(0.02 * np.sqrt(1100e-6 / conversion_time_s), 0.008 / np.sqrt(12))
        assert conversions.current_a.std() == pytest.approx(expected, rel=0.05)


def test_readings_return_the_newest_finished_conversion():
    trace = _busy_trace()
    settings = SensorSettings()
    random = np.random.default_rng(5)
    conversions = convert(trace, 5.0, settings, random)
    end_s = float(trace.edges_s[-1])
    readings = poll(conversions, 5.0, 0.0, end_s, settings, random)
    # The current was taken in the middle of the second read, half a read before the stamp.
    taken = readings.times_s - settings.read_time_s / 2
    for index in range(0, len(taken), 11):
        finished = [k for k, end in enumerate(conversions.shunt_end_s) if end <= taken[index]]
        assert readings.conversion[index] == finished[-1]
        assert readings.current_a[index] == conversions.current_a[finished[-1]]
    np.testing.assert_allclose(readings.voltage_v, 5.0)
    assert readings.times_s[0] == pytest.approx(1.1e-3)
    assert end_s - 5e-3 < readings.times_s[-1] < end_s + 2e-3
    assert np.diff(readings.times_s).min() >= 1.1e-3 - 1e-12


def test_share_of_readings_that_repeat_a_conversion():
    trace = PowerTrace(np.array([0.0, 30.0]), np.array([5.0]))
    settings = SensorSettings(polling_delay_probability=0.0, **EXACT)
    random = np.random.default_rng(5)
    readings = poll(convert(trace, 5.0, settings, random), 5.0, 0.0, 30.0, settings, random)
    # A conversion each 6.6 ms read each 1.35 ms: 1.35 / 6.6 of the readings are fresh.
    fresh = np.mean(np.diff(readings.conversion) > 0)
    assert fresh == pytest.approx(1.35 / 6.6, rel=0.01)
    assert len(readings.times_s) == pytest.approx(30 / 1.35e-3, rel=0.005)


def test_held_up_readers_still_poll_to_the_end():
    trace = PowerTrace(np.array([0.0, 10.0]), np.array([5.0]))
    settings = SensorSettings(polling_delay_probability=0.1, polling_delay_s=20e-3)
    random = np.random.default_rng(5)
    readings = poll(convert(trace, 5.0, settings, random), 5.0, 0.0, 10.0, settings, random)
    gaps = np.diff(readings.times_s)
    assert gaps.mean() == pytest.approx(1.35e-3 + 0.1 * 20e-3, rel=0.1)
    assert readings.times_s[-1] > 9.7


@pytest.mark.parametrize(
    "wrong",
    [
        {"conversion_time_s": 1e-3},
        {"samples": 2},
        {"channels": 4},
        {"channels": 0},
        {"shunt_offset_v": -100e-6},
        {"gain_error": 0.01},
        {"clock_error": 0.2},
        {"polling_interval_s": 1e-3},
        {"read_time_s": 0.0},
    ],
)
def test_settings_that_the_chip_does_not_have(wrong):
    with pytest.raises(EdgewattError):
        SensorSettings(**wrong)
