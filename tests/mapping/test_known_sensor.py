from __future__ import annotations

import pytest

from edgewatt.formats.run_info import RunInfo
from edgewatt.mapping.known_sensor import KnownSensor, known_sensor


def test_settings_of_an_ina3221() -> None:
    sensor = {"channels": 3, "samples": 4, "shunt_conversion_time_us": 1100, "bus_conversion_time_us": 140}
    known = known_sensor(RunInfo(model="net", board="b", sensor=sensor))
    assert known.period_s == pytest.approx(3 * 1240e-6)
    assert known.length_s == pytest.approx(1.1e-3)
    assert known.samples == 4


@pytest.mark.parametrize("value", ["1100", -1, 0, None, True, float("nan")])
def test_settings_that_make_no_sense_are_unknown(value: object) -> None:
    sensor = {"channels": 3, "shunt_conversion_time_us": value, "bus_conversion_time_us": 1100}
    assert known_sensor(RunInfo(model="net", board="b", sensor=sensor)) == KnownSensor()


def test_no_run_is_nothing_known() -> None:
    assert known_sensor(None) == KnownSensor()
