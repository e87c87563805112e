"""A strict reader of traces: the rules of the Trace Event Format that viewers rely on, without a viewer.

Perfetto's own reader is a program that its package fetches from the network, so the rules are checked here instead:
every event has its keys, slices of a track touch or nest, a counter's times do not go back, all that is named is used.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any


@dataclass
class Trace:
    """A trace that was checked.

    Attributes:
        process: Its process's name.
        slices: For each track its slices in order of time, as (start in us, duration in us, the event).
        counters: For each counter its values, as (time in us, value).
        about: What the file says of itself.
    """

    process: str
    slices: dict[str, list[tuple[Decimal, Decimal, dict[str, Any]]]] = field(default_factory=dict)
    counters: dict[str, list[tuple[Decimal, float]]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def read_trace(path: Path) -> Trace:
    value = json.loads(path.read_bytes(), parse_float=Decimal, parse_constant=_no_constant)
    assert value.keys() == {"traceEvents", "displayTimeUnit", "otherData"}
    assert value["displayTimeUnit"] in ("ms", "ns")
    events = value["traceEvents"]
    assert {event["ph"] for event in events} <= {"M", "X", "C"}
    names = [event for event in events if event["ph"] == "M" and event["name"] == "process_name"]
    assert len(names) == 1
    trace = Trace(names[0]["args"]["name"], about=value["otherData"])
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert len(set(tracks.values())) == len(tracks)
    for event in events:
        assert event["pid"] == names[0]["pid"]
        assert type(event["tid"]) is int
        assert isinstance(event["name"], str)
        assert isinstance(event["args"], dict)
        assert event["ts"] >= 0
        if event["ph"] == "X":
            assert isinstance(event["cat"], str)
            assert event["dur"] >= 0
            trace.slices.setdefault(tracks[event["tid"]], []).append((event["ts"], event["dur"], event))
        elif event["ph"] == "C":
            ((_, number),) = event["args"].items()
            assert isinstance(number, int | Decimal)
            trace.counters.setdefault(event["name"], []).append((event["ts"], float(number)))
    for slices in trace.slices.values():
        _check_nesting(slices)
    for values in trace.counters.values():
        times = [time for time, _ in values]
        assert times == sorted(times)
    return trace


def _check_nesting(slices: list[tuple[Decimal, Decimal, dict[str, Any]]]) -> None:
    """Sort a track's slices, and check that each lies behind the one before or within it."""
    slices.sort(key=lambda one: (one[0], -one[1]))
    open_ends: list[Decimal] = []
    for start, duration, _ in slices:
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or start + duration <= open_ends[-1]
        open_ends.append(start + duration)
