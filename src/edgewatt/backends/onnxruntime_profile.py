"""The layers of ONNX Runtime's profile, put into the cycles that were timed while it was made.

Its times count from the start of profiling, which `get_profiling_start_time_ns` gives by the clock of C++'s
`high_resolution_clock`: the wall clock on Linux, the monotonic one on macOS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.backends.base import Cycles
from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.onnxruntime_profile import LayerEvent, layer_events, read_profile

__all__ = ["LayerEvent", "cycles_of", "layer_events", "read_profile"]

#: A layer this far outside of its cycle was not measured by the same clock: the wall clock was set in between.
_TORN_NS = 1_000_000


def cycles_of(
    profile: Sequence[Mapping[str, Any]], began_ns: int, wall_offset_ns: int, timed: Cycles, names: Sequence[str]
) -> Cycles:
    """Put the layers of a profile into the cycles that were timed while it was made.

    Args:
        profile: The profile; its last cycles are those that were timed.
        began_ns: Start of profiling by the runtime's clock.
        wall_offset_ns: What the wall clock showed more than the monotonic one, in that time.
        timed: Starts and ends of the cycles.
        names: Names of the layers of each cycle, in order.

    Raises:
        EdgewattError: The profile lacks layers, or not every cycle has the same.
    """
    events = layer_events(profile)
    cycles, layers = len(timed), len(names)
    events = events[len(events) - cycles * layers :] if cycles else []
    if len(events) != cycles * layers or any(event.name != names[index % layers] for index, event in enumerate(events)):
        raise EdgewattError(
            f"ONNX Runtime's profile does not hold the {layers} layers of each of {cycles} cycles",
            fix="Networks with loops or conditions cannot be told apart into cycles; record another",
        )
    start = np.array([event.start_us for event in events], dtype=np.int64).reshape(cycles, layers)
    duration = np.array([event.duration_us for event in events], dtype=np.int64).reshape(cycles, layers)
    start_ns = start * 1000 + _monotonic(began_ns, wall_offset_ns, timed)
    end_ns = start_ns + duration * 1000
    shift = _clock_steps(start_ns, end_ns, timed)
    return Cycles(timed.start_ns, timed.end_ns, duration / 1e3, end_ns + shift[:, None])


def _monotonic(began_ns: int, wall_offset_ns: int, timed: Cycles) -> int:
    """The start of profiling on the monotonic clock, whichever of the two clocks the runtime uses."""
    if not len(timed):
        return began_ns
    reference = int(timed.start_ns[0])
    on_wall = began_ns - wall_offset_ns
    return on_wall if abs(on_wall - reference) < abs(began_ns - reference) else began_ns


def _clock_steps(start_ns: NDArray[np.int64], end_ns: NDArray[np.int64], timed: Cycles) -> NDArray[np.int64]:
    """How far the layers of each cycle must be moved because the wall clock was set while the network ran."""
    before = start_ns[:, 0] - timed.start_ns
    after = timed.end_ns - end_ns[:, -1]
    torn = (before < -_TORN_NS) | (after < -_TORN_NS)
    if torn.any():
        warn(
            f"the wall clock was set while the network ran; the layers of {int(torn.sum())} cycles are placed in the "
            "middle of their cycle"
        )
    moved: NDArray[np.int64] = np.where(torn, (after - before) // 2, 0)
    return moved
