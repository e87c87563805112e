from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgewatt.backends.base import Cycles, plain_cycles
from edgewatt.backends.onnxruntime_profile import cycles_of, layer_events, read_profile
from edgewatt.errors import EdgewattError, EdgewattWarning

_WALL = 1_800_000_000_000_000_000  # what the wall clock shows more than the monotonic one
_BEGAN = 5_000_000  # start of profiling on the monotonic clock
_NAMES = ("a", "b")


def _event(name: str, start_us: int, duration_us: int, cat: str = "Node") -> dict[str, Any]:
    return {"cat": cat, "name": name, "ts": start_us, "dur": duration_us, "args": {}}


def _profile(shift_us: int = 0) -> list[dict[str, Any]]:
    """A cycle to warm up at 100 us and two that are timed, at 1000 us and 2000 us, with two layers each."""
    events = [_event("session_initialization", 0, 90, "Session")]
    for begin in (100, 1000 + shift_us, 2000 + shift_us):
        events += [
            _event("b_kernel_time", begin + 60, 20),
            _event("a_kernel_time", begin + 10, 40),
            _event("a_fence_before", begin + 10, 0),
            _event("model_run", begin, 90, "Session"),
        ]
    return events


def _timed() -> Cycles:
    starts = [_BEGAN + 1_000_000, _BEGAN + 2_000_000]
    return plain_cycles(starts, [start + 95_000 for start in starts])


@pytest.mark.parametrize("began_ns", [_BEGAN + _WALL, _BEGAN])
def test_layers_are_put_into_their_cycles_on_the_monotonic_clock(began_ns: int) -> None:
    cycles = cycles_of(_profile(), began_ns, _WALL, _timed(), _NAMES)
    assert cycles.latency_ms.tolist() == [[0.04, 0.02], [0.04, 0.02]]
    assert (cycles.layer_end_ns - _BEGAN).tolist() == [[1_050_000, 1_080_000], [2_050_000, 2_080_000]]
    assert (cycles.end_ns - cycles.start_ns).tolist() == [95_000, 95_000]


def test_events_are_sorted_and_only_those_of_layers() -> None:
    assert [event.name for event in layer_events(_profile())] == ["a", "b"] * 3


def test_layers_that_a_step_of_the_wall_clock_moved_are_put_back_into_their_cycle() -> None:
    with pytest.warns(EdgewattWarning, match=r"the wall clock was set .* layers of 2 cycles"):
        cycles = cycles_of(_profile(shift_us=3_600_000_000), _BEGAN + _WALL, _WALL, _timed(), _NAMES)
    # From the first layer's start to the last one's end are 70 us of a cycle of 95 us: 12.5 us before and behind.
    assert (cycles.layer_end_ns[:, -1] - cycles.start_ns).tolist() == [82_500, 82_500]
    assert np.diff(cycles.layer_end_ns, axis=1).tolist() == [[30_000], [30_000]]


@pytest.mark.parametrize("names", [("a", "c"), ("a", "b", "c"), ("b", "a")])
def test_a_profile_of_other_layers_is_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(EdgewattError, match=r"does not hold the . layers of each of 2 cycles"):
        cycles_of(_profile(), _BEGAN + _WALL, _WALL, _timed(), names)


def test_no_cycles_are_no_error() -> None:
    assert len(cycles_of(_profile(), _BEGAN, _WALL, plain_cycles([], []), _NAMES)) == 0


def test_a_profile_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text('[{"cat": "Node", "name": "a_kern')
    with pytest.raises(EdgewattError, match="profile cannot be read"):
        read_profile(path)
