from __future__ import annotations

import pytest

from edgewatt.sensors.base import SensorSettings
from edgewatt.sensors.period import periods_by_settings


def settings(samples: int | None, interval: float | None, channels: int = 3) -> SensorSettings:
    enabled = tuple(range(1, channels + 1))
    return SensorSettings("ina3221", samples=samples, update_interval_ms=interval, enabled_channels=enabled)


@pytest.mark.parametrize(
    ("interval", "channels", "period_ms"), [(7, 3, 6.6), (4, 2, 4.4), (2, 1, 2.2), (1, 3, 0.84), (0, 1, 0.28)]
)
def test_one_sample_means_the_same_to_both_drivers(interval: int, channels: int, period_ms: float) -> None:
    (only,) = periods_by_settings(settings(1, interval, channels))
    assert only.period_s == pytest.approx(period_ms / 1e3)
    assert only.time_constant_s == 0


def test_512_samples_before_the_patch() -> None:
    # 0x7c07: 3 channels x 2 x 140 us x 512 samples = 430 ms, which the older driver shows
    before, _ = periods_by_settings(settings(512, 430))
    assert before.conversion_time_s == pytest.approx(140e-6)
    assert before.period_s == pytest.approx(0.84e-3)
    assert before.time_constant_s == pytest.approx(0.430, abs=0.0005)


def test_512_samples_since_the_patch() -> None:
    _, since = periods_by_settings(settings(512, 1))
    assert since.conversion_time_s == pytest.approx(140e-6)
    assert since.period_s == pytest.approx(0.84e-3)
    assert since.time_constant_s == pytest.approx(0.430, abs=0.0005)


def test_64_samples_of_the_slow_conversion() -> None:
    before, since = periods_by_settings(settings(64, 422))  # 0x7727
    assert before.conversion_time_s == pytest.approx(1100e-6)
    assert before.time_constant_s == pytest.approx(0.4224)
    assert since.conversion_time_s is None  # no conversion is that long
    assert since.period_s == pytest.approx(0.422)


@pytest.mark.parametrize(("samples", "interval", "channels"), [(None, 7, 3), (1, None, 3), (1, 7, 0)])
def test_unknown_settings(samples: int | None, interval: int | None, channels: int) -> None:
    assert periods_by_settings(settings(samples, interval, channels)) == ()
