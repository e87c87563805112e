from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconvolution_cases import jittered_ends, own_end_timeline

from edgewatt.mapping.clock_evidence import ClockEvidence, clock_evidence, why_not
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fresh_values import FreshValues
from edgewatt.mapping.known_sensor import KnownSensor
from edgewatt.mapping.response import Response
from edgewatt.mapping.sensor_clock import SensorClock
from edgewatt.mapping.solve import Prior

POLL_S, PERIOD_S = 1.35e-3, 0.28e-3
#: An INA3221 that converts shunt and bus voltage of one channel in 140 us each.
RIGHT = Response(delay_s=0.05e-3, length_s=0.14e-3)
#: Ages of up to a period behind the same conversions.
BLIND = Response(delay_s=0.05e-3, length_s=0.42e-3)
PRIOR = Prior(np.full(4, 7.0), np.full(4, 5.0))


def _clock(tick_s: np.ndarray) -> SensorClock:
    return SensorClock(tick_s, float(np.diff(tick_s).mean()), 0.0, 1e-6, 0.0, len(tick_s))


@pytest.fixture(scope="module")
def recorded() -> tuple[Occupancy, SensorClock, FreshValues]:
    """Readings of conversions whose means are summed up from one edge to the next, and the true clock."""
    random = np.random.default_rng(0)
    start, end = jittered_ends(np.array([0.3e-3, 0.5e-3, 0.4e-3]), 1000, 1e-3, random)
    edges = np.column_stack((start, end[:, -1])).ravel()
    power = np.tile([6.0, 10.0, 8.0, 5.0], len(start))
    energy = np.concatenate(([0.0], np.cumsum(power[:-1] * np.diff(edges))))
    done = np.arange(0.02, float(end[-1, -1]), PERIOD_S)
    value = (np.interp(done, edges, energy) - np.interp(done - RIGHT.length_s, edges, energy)) / RIGHT.length_s
    tick_s = done + RIGHT.delay_s
    read_s = np.cumsum(random.normal(POLL_S, 0.02e-3, int(end[-1, -1] / POLL_S)))
    read_s = read_s[(read_s > tick_s[0]) & (read_s < tick_s[-1])]
    shown = value[np.searchsorted(tick_s, read_s, side="right") - 1] + random.normal(0, 0.02, len(read_s))
    readings = FreshValues(read_s, shown, np.ones(len(read_s), dtype=np.bool_), POLL_S)
    return Occupancy(own_end_timeline(start, end)), _clock(tick_s), readings


def _why_not(occupancy: Occupancy, clock: SensorClock, readings: FreshValues) -> str:
    evidence = clock_evidence(occupancy, clock, RIGHT, readings, BLIND, PRIOR)
    return why_not(evidence, clock, RIGHT, POLL_S, KnownSensor())


def test_the_right_clock_is_believed(recorded: tuple[Occupancy, SensorClock, FreshValues]) -> None:
    evidence = clock_evidence(recorded[0], recorded[1], RIGHT, recorded[2], BLIND, PRIOR)
    assert evidence.left < 0.1
    assert evidence.moved > 10
    assert _why_not(*recorded) == ""


@pytest.mark.parametrize("factor", [1.05, 1 / 0.97, 2.0**0.5])
def test_a_clock_of_another_rate_is_not(recorded: tuple[Occupancy, SensorClock, FreshValues], factor: float) -> None:
    occupancy, clock, readings = recorded
    first = clock.tick_s[0]
    ticks = np.arange(first, clock.tick_s[-1], PERIOD_S * factor)
    evidence = clock_evidence(occupancy, _clock(ticks), RIGHT, readings, BLIND, PRIOR)
    assert evidence.left > 1
    assert _why_not(occupancy, _clock(ticks), readings)


def test_the_right_clock_of_other_readings_is_not(recorded: tuple[Occupancy, SensorClock, FreshValues]) -> None:
    occupancy, clock, readings = recorded
    mixed = replace(readings, power_w=np.random.default_rng(1).permutation(readings.power_w))
    assert "other times" in _why_not(occupancy, clock, mixed)


def test_a_clock_that_is_lost_in_a_part_of_the_recording_is_not(
    recorded: tuple[Occupancy, SensorClock, FreshValues],
) -> None:
    occupancy, clock, readings = recorded
    # After five sixths of the recording the ticks are half of a period late.
    late = clock.tick_s > clock.tick_s[0] + 0.84 * np.ptp(clock.tick_s)
    lost = replace(clock, tick_s=clock.tick_s + np.where(late, 0.5 * PERIOD_S, 0.0))
    assert "in a part of the recording" in _why_not(occupancy, lost, readings)


def test_without_a_setting_like_it_the_evidence_must_be_clear() -> None:
    odd = replace(RIGHT, length_s=0.2e-3)
    clock = _clock(np.arange(0.0, 1.0, PERIOD_S))
    enough = ClockEvidence(left=0.25, moved=2.0)
    assert why_not(enough, clock, RIGHT, POLL_S, KnownSensor()) == ""
    assert "no setting has conversions of 200 us every 280 us" in why_not(enough, clock, odd, POLL_S, KnownSensor())
    assert why_not(ClockEvidence(left=0.01, moved=40.0), clock, odd, POLL_S, KnownSensor()) == ""
