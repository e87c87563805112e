from __future__ import annotations

import time
from datetime import datetime

import numpy as np
import pytest

from edgewatt.formats.timestamps import format_timestamps
from edgewatt.recording.clock import RecordingClock, StampWriter


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_the_clock_shows_local_wall_clock_time() -> None:
    clock = RecordingClock.now()
    shown = datetime.strptime(clock.stamp(), "%Y%m%d-%H:%M:%S.%f")
    assert abs((datetime.now() - shown).total_seconds()) < 0.1


def test_a_step_of_the_wall_clock_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = RecordingClock.now()
    before = clock.microseconds(np.array([time.monotonic_ns()]))
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    after = clock.microseconds(np.array([time.monotonic_ns()]))
    assert 0 <= after[0] - before[0] < 1_000_000


def test_stamps_are_those_that_the_format_writes_also_across_seconds_and_days() -> None:
    clock = RecordingClock(offset_ns=1_732_147_199_000_000_000)  # 2024-11-20 23:59:59
    stamps = StampWriter(clock)
    times = np.array([0, 1_000, 999_999_999, 1_000_000_000, 1_000_000_999, 86_401_261_448_000])
    written = [stamps.stamp(int(now)) for now in times]
    assert written == format_timestamps(clock.microseconds(times)).to_list()
    assert written[:4] == [
        "20241120-23:59:59.000000",
        "20241120-23:59:59.000001",
        "20241120-23:59:59.999999",
        "20241121-00:00:00.000000",
    ]
