from __future__ import annotations

from pathlib import Path

import pytest
from jetson_tree import JetsonTree

from edgewatt.recording.busy import ProcessorTimes, Watch, busy_processors, power_doubts, read_processor_times
from edgewatt.recording.power_summary import PowerSummary


def test_waiting_is_not_work(tmp_path: Path) -> None:
    tree = JetsonTree(tmp_path)
    tree.write("proc/stat", "cpu  10 20 30 1000 500 6 7 8 9 9\ncpu0 1 1\ncpu1 1 1\nintr 5")
    assert read_processor_times(tmp_path) == ProcessorTimes(10 + 20 + 30 + 6 + 7 + 8, 1581, 2)


@pytest.mark.parametrize("content", ["", "cpu  1 2 3", "cpu  a b c d e", "intr 5"])
def test_files_of_another_form_tell_nothing(tmp_path: Path, content: str) -> None:
    JetsonTree(tmp_path).write("proc/stat", content)
    assert read_processor_times(tmp_path) is None
    assert read_processor_times(tmp_path / "missing") is None


def test_busy_processors_are_a_share_of_all() -> None:
    before, after = ProcessorTimes(100, 1000, 4), ProcessorTimes(200, 1400, 4)
    assert busy_processors(before, after) == pytest.approx(1.0)
    assert busy_processors(before, before) is None
    assert busy_processors(None, after) is None


def test_a_watch_tells_of_busy_processors_but_for_its_own(tmp_path: Path) -> None:
    tree = JetsonTree(tmp_path)
    watch = Watch(tmp_path)
    assert watch.doubts() == []
    tree.write("proc/stat", "cpu  250 0 150 1200 0 0 0 0 0 0\ncpu0 1 1\ncpu1 1 1")
    assert watch.doubts() == ["1.0 processors were busy"]
    assert watch.doubts(own_processors=0.6) == []


def test_a_watch_tells_of_a_busy_gpu(tmp_path: Path) -> None:
    tree = JetsonTree(tmp_path)
    watch = Watch(tmp_path)
    tree.write("sys/devices/platform/bus@0/17000000.gpu/load", "588")
    watch.look()
    assert watch.doubts() == ["the GPU was busy 30% of the time"]


def test_power_that_varies_speaks_against_idling() -> None:
    assert power_doubts(PowerSummary(4.0, 0.2, 1000, 100, 10)) == []
    (found,) = power_doubts(PowerSummary(4.0, 0.8, 1000, 100, 10))
    assert found == "its power varied by 20% (0.80 W)"
