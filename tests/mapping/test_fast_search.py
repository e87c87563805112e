from __future__ import annotations

import pytest

from edgewatt.mapping.fast_search import Setting, is_setting, settings_of
from edgewatt.mapping.known_sensor import KnownSensor


def test_settings_faster_than_the_polls() -> None:
    # 1.2 x 0.5 ms: one channel of 140, 204 us, and two of 140 us, shunt and bus each.
    periods = sorted(setting.period_s for setting in settings_of(KnownSensor(), 0.5e-3))
    assert periods == pytest.approx([280e-6, 408e-6, 560e-6])


def test_known_settings_are_the_only_ones() -> None:
    known = KnownSensor(period_s=840e-6, length_s=140e-6)
    assert settings_of(known, 1e-3) == (Setting(840e-6, 140e-6),)
    assert is_setting(known, 1e-3, 860e-6, 143e-6, 0.05)
    assert not is_setting(known, 1e-3, 280e-6, 140e-6, 0.05)


def test_a_length_must_go_with_its_period() -> None:
    unknown = KnownSensor()
    # A clock that is 5 % slow lengthens both.
    assert is_setting(unknown, 1.35e-3, 840e-6 * 1.05, 140e-6 * 1.05, 0.05)
    # Half of a period of 840 us, or all of it, is no conversion that the chip has; two of 204 us take 816 us.
    assert not is_setting(unknown, 1.35e-3, 840e-6, 420e-6, 0.05)
    assert not is_setting(unknown, 1.35e-3, 840e-6, 840e-6, 0.05)
    assert is_setting(unknown, 1.35e-3, 816e-6, 204e-6, 0.05)
    assert not is_setting(unknown, 1.35e-3, 350e-6, 250e-6, 0.05)
