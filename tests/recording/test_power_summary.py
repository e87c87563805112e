from __future__ import annotations

import numpy as np
import pytest

from edgewatt.formats.power_log import PowerLog
from edgewatt.recording.power_summary import summarise_power


def _log(times_s: list[float], powers_w: list[float]) -> PowerLog:
    voltage = np.full(len(powers_w), 5000.0)
    return PowerLog((np.array(times_s) * 1e6).astype(np.int64), voltage, np.array(powers_w) * 200)


def test_a_reading_counts_for_the_time_until_the_next() -> None:
    summary = summarise_power(_log([0, 1, 4, 5], [2.0, 6.0, 6.0, 2.0]))
    assert summary is not None
    assert summary.mean_w == pytest.approx((2 * 1 + 6 * 3 + 6 * 1) / 5)
    assert (summary.readings, summary.fresh, summary.duration_s) == (4, 3, 5)
    assert summary.spread_w == pytest.approx(np.std([2, 6, 2]))
    assert summary.fresh_every_s == pytest.approx(2.5)


def test_a_part_is_taken_with_both_of_its_ends() -> None:
    summary = summarise_power(_log([0, 1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0, 5.0]), 1_000_000, 3_000_000)
    assert summary is not None
    assert (summary.readings, summary.mean_w) == (3, pytest.approx(2.5))


def test_fewer_than_two_readings_have_no_summary() -> None:
    log = _log([0, 1], [1.0, 1.0])
    assert summarise_power(log, 900_000) is None
    whole = summarise_power(log)
    assert whole is not None
    assert (whole.fresh, whole.fresh_every_s, whole.spread_w) == (1, None, 0)
