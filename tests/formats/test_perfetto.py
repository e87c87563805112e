from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.errors import EdgewattError
from edgewatt.formats import perfetto
from edgewatt.formats.perfetto import Counter, Slices, write_trace
from trace_checker import read_trace

names = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=5, unique=True)


def ns(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def test_slices_and_counters_as_they_were_given(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    parts = [
        Counter("power", "W", ns(0, 1_500_000), np.array([4.5, np.nan])),
        Slices("layers", "layer", ["a", 'b"\\\n'], np.array([0, 1, 0]), ns(1, 1001, 5000), ns(1001, 5000, 5000)),
        Slices("cycles", "inference", ["one"], np.array([0]), ns(1), ns(5000), [{"n": 1, "w": None}]),
    ]
    assert write_trace(path, "net", ["cycles", "layers"], parts, {"method": "window"}) == 5
    trace = read_trace(path)
    assert (trace.process, trace.about) == ("net", {"method": "window"})
    shown = [(float(start), float(duration), event["name"]) for start, duration, event in trace.slices["layers"]]
    assert shown == [(0.001, 1.0, "a"), (1.001, 3.999, 'b"\\\n'), (5.0, 0.0, "a")]
    assert trace.slices["cycles"][0][2]["args"] == {"n": 1, "w": None}
    assert trace.counters == {"power": [(Decimal(0), 4.5)]}  # NaN is not JSON, and not a value


@settings(deadline=None)
@given(names, st.lists(st.integers(0, 10**15), min_size=2, max_size=12, unique=True), st.integers(1, 4))
def test_any_names_and_times_at_any_length_of_parts(
    tmp_path_factory: pytest.TempPathFactory, given_names: list[str], times: list[int], at_once: int
) -> None:
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    edges = np.array(sorted(times), dtype=np.int64)
    which = np.arange(len(edges) - 1) % len(given_names)
    slices = Slices("layers", "layer", given_names, which, edges[:-1], edges[1:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perfetto, "_EVENTS_AT_ONCE", at_once)
        written = write_trace(path, given_names[0], ["layers"], [slices, Counter("p", "W", edges, edges / 7)])
    assert written == len(which) + len(edges)
    trace = read_trace(path)
    assert trace.process == given_names[0]
    for (start, duration, event), name, first, last in zip(
        trace.slices["layers"], which, edges[:-1].tolist(), edges[1:].tolist(), strict=True
    ):
        assert event["name"] == given_names[name]
        assert (start * 1000, (start + duration) * 1000) == (first, last)
    assert [value for _, value in trace.counters["p"]] == (edges / 7).tolist()


def test_a_trace_without_events_is_a_trace(tmp_path: Path) -> None:
    empty = Slices("layers", "layer", [], np.array([], dtype=np.intp), ns(), ns())
    assert write_trace(tmp_path / "trace.json", "net", ["layers"], [empty]) == 0
    assert read_trace(tmp_path / "trace.json").slices == {}


def test_an_unknown_track_leaves_no_file(tmp_path: Path) -> None:
    part = Slices("others", "layer", ["a"], np.array([0]), ns(0), ns(1))
    with pytest.raises(EdgewattError, match="no track 'others'"):
        write_trace(tmp_path / "trace.json", "net", ["layers"], [part])
    assert list(tmp_path.iterdir()) == []


def test_parts_are_taken_one_at_a_time(tmp_path: Path) -> None:
    """A part is on its way to the disk before the next is asked for, so memory does not grow with their number."""
    path, sizes = tmp_path / "trace.json", []

    def parts() -> list[Slices]:
        for number in range(20):
            sizes.append(max(file.stat().st_size for file in tmp_path.iterdir()))
            edges = np.arange(3000, dtype=np.int64) + number * 3000
            yield Slices("layers", "layer", ["a"], np.zeros(2999, dtype=np.intp), edges[:-1], edges[1:])

    write_trace(path, "net", ["layers"], parts())
    assert sizes == sorted(sizes)
    assert sizes[10] > 10 * 2000 * 60
