"""Waiting until a board has settled: after another power mode, or a network that warmed it."""

from __future__ import annotations

import time
from pathlib import Path

from edgewatt.recording.environment import Environment, read_environment
from edgewatt.recording.signals import StopRequest

#: A board has settled when no temperature has moved by more in so long. Chosen: leakage changes by a few thousandths of
#: a board's power in that.
_STEADY_CELSIUS, _STEADY_S = 1.0, 10.0
#: It is waited for this many times the least time, at most: a fan that hunts never settles.
_MOST_TIMES = 5.0
_POLL_S = 0.1


def settle(root: Path, least_s: float, stopping: StopRequest) -> None:
    """Wait until temperatures and the limits of the clocks stay as they are.

    Args:
        root: Folder that /sys is read below.
        least_s: The least time; up to five times of it is waited where it takes so long. With 0 nothing is waited for.
        stopping: Whether the user asked to stop.
    """
    began = time.monotonic()
    looked, before = began, read_environment(root)
    while not stopping.by:
        now = time.monotonic()
        if now - looked >= min(_STEADY_S, least_s):
            after = read_environment(root)
            if now - began >= least_s and (_steady(before, after) or now - began >= _MOST_TIMES * least_s):
                return
            looked, before = now, after
        time.sleep(min(_POLL_S, least_s))


def _steady(before: Environment, after: Environment) -> bool:
    moved = [
        abs(after.temperatures[zone] - value)
        for zone, value in before.temperatures.items()
        if zone in after.temperatures
    ]
    return max(moved, default=0.0) <= _STEADY_CELSIUS and _limits(before) == _limits(after)


def _limits(environment: Environment) -> dict[str, float]:
    return {name: clock.highest for name, clock in {**environment.cpu_clocks, **environment.gpu_clocks}.items()}
