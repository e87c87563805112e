from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
import sensor_trees as trees

from edgewatt.sensors.base import Channel, PowerSensor, Rail, RawReading, SensorSettings
from edgewatt.sensors.discovery import discover
from edgewatt.sensors.freshness import measure_freshness
from edgewatt.sensors.simulated import SimulatedSensor


class Clock:
    """Time that passes when it is asked for: 0.1 ms a question."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        self.now_s += 1e-4
        return self.now_s


class SlowChannel(Channel):
    """A channel whose read takes 1.1 ms and whose value is new every 6.6 ms.

    Every so many reads the reader is held up for 31 ms.
    """

    def __init__(self, rail: Rail, clock: Clock, held_up_every: int = 1 << 30) -> None:
        super().__init__(rail)
        self._clock = clock
        self._held_up_every = held_up_every
        self._reads = 0

    def read_raw(self) -> RawReading:
        self._reads += 1
        self._clock.now_s += 1.1e-3 + (31e-3 if self._reads % self._held_up_every == 0 else 0)
        conversion = int(self._clock.now_s / 6.6e-3)
        return 5000.0, 1000.0 + 8 * (conversion * 7 % 5), None


class SlowSensor(PowerSensor):
    def settings(self) -> SensorSettings:
        return SensorSettings("slow")


def test_a_sensor_of_known_timing() -> None:
    clock = Clock()
    rail = Rail("VDD_IN", "slow", Path(), "slow")
    freshness = measure_freshness(SlowSensor("slow", "slow", Path(), [SlowChannel(rail, clock)]), 2.0, clock)
    assert freshness is not None
    assert freshness.duration_s == pytest.approx(2.0, abs=0.01)
    assert freshness.read_time_s == pytest.approx(1.2e-3)  # the read, and one question for the time
    assert freshness.jitter_s < 1e-9
    (only,) = freshness.rails
    assert only.fresh_per_s == pytest.approx(1 / 6.6e-3, rel=0.02)
    assert only.period_s == pytest.approx(6.6e-3, rel=0.01)
    assert only.current_step_a == pytest.approx(0.008)
    assert only.power_step_w == pytest.approx(0.040)
    assert only.readings == freshness.readings


def test_late_reads_do_not_shorten_the_period() -> None:
    clock = Clock()
    channel = SlowChannel(Rail("VDD_IN", "slow", Path(), "slow"), clock, held_up_every=17)
    freshness = measure_freshness(SlowSensor("slow", "slow", Path(), [channel]), 3.0, clock)
    assert freshness is not None
    assert freshness.rails[0].period_s == pytest.approx(6.6e-3, rel=0.02)
    assert freshness.rails[0].fresh_per_s < 0.8 / 6.6e-3
    assert freshness.jitter_s > 5e-3


def test_the_simulated_sensor_live() -> None:
    numbers = count()
    with SimulatedSensor(lambda _: 4.0 + 0.04 * (next(numbers) % 3), period_s=5e-3) as sensor:
        freshness = measure_freshness(sensor, 0.5)
    assert freshness is not None
    (only,) = freshness.rails
    assert only.fresh <= 101  # one conversion in 5 ms, and never more
    assert only.fresh >= 2
    assert only.current_step_a == pytest.approx(0.008)
    assert freshness.readings <= 10_001


def test_values_that_never_change(tmp_path: Path) -> None:
    with discover(trees.orin_nano(tmp_path).root).total_sensor() as sensor:
        freshness = measure_freshness(sensor, 0.02)
    assert freshness is not None
    (only,) = freshness.rails
    assert (only.fresh, only.period_s, only.current_step_a, only.power_step_w) == (0, None, None, None)
    assert only.readings > 1
    assert 0 < freshness.read_time_s < 0.02


def test_a_rail_that_cannot_be_read(tmp_path: Path) -> None:
    with discover(trees.orin_nano(tmp_path).root).total_sensor() as sensor:
        (sensor.rails[0].path / "curr1_input").write_bytes(b"")
        freshness = measure_freshness(sensor, 0.01)
    assert freshness is not None
    assert freshness.rails[0].readings == 0


def test_power_alone(tmp_path: Path) -> None:
    with discover(trees.thor(tmp_path).root).total_sensor() as sensor:
        freshness = measure_freshness(sensor, 0.0)
    assert freshness is not None
    assert freshness.readings == 1
    assert measure_freshness(SlowSensor("slow", "slow", Path(), [])) is None
