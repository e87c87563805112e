"""Plots of a recording's power over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgewatt.reports.decimate import envelope
from edgewatt.reports.figure_parts import ACCENT, MUTED, Figure, layout_of, level, rounded, without_legend
from edgewatt.results.network_result import PowerTrace

#: About as many as a screen can show apart.
_BINS = 600
_CLOSE_CYCLES = 12
#: Readings that a close look shows at most.
_MOST_CLOSE = 4000


def power_over_time(trace: PowerTrace, idle_power_w: float | None) -> Figure:
    """All of a recording: least, mean and greatest power of each bin, so that no peak is lost."""
    found = envelope(trace.time_s, trace.power_w, min(_BINS, max(2, len(trace.time_s) // 2)))
    time_s = rounded(found.time_s)
    band = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    data: list[dict[str, Any]] = [
        {**band, "x": time_s, "y": rounded(found.low)},
        {
            **band,
            "x": time_s,
            "y": rounded(found.high),
            "fill": "tonexty",
            "fillcolor": "rgba(59,116,216,0.28)",
            "name": "least to greatest",
            "showlegend": True,
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "mean",
            "x": time_s,
            "y": rounded(found.mean),
            "line": {"color": ACCENT, "width": 1.3},
            "hovertemplate": "%{x:.3f} s: %{y:.2f} W<extra></extra>",
        },
    ]
    layout = layout_of("Time since the first reading (s)", "Power (W)", height=320)
    if len(trace.start_s):
        layout["shapes"] = [_span(float(trace.start_s[0]), float(trace.end_s[-1]), 0.13)]
    if idle_power_w is not None:
        level(layout, idle_power_w, "idle")
    return {"data": data, "layout": layout}


def cycles_close_up(trace: PowerTrace, idle_power_w: float | None) -> Figure | None:
    """A few cycles in the middle of a recording with every reading; None where the log has no cycle."""
    cycles = len(trace.start_s)
    if not cycles:
        return None
    first = max(0, (cycles - _CLOSE_CYCLES) // 2)
    last = min(cycles, first + _CLOSE_CYCLES) - 1
    start, end = float(trace.start_s[first]), float(trace.end_s[last])
    margin = 0.05 * (end - start)
    chosen = np.flatnonzero((trace.time_s >= start - margin) & (trace.time_s <= end + margin))[:_MOST_CLOSE]
    if not len(chosen):
        return None
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers" if len(chosen) < 400 else "lines",
            "name": "readings",
            "x": rounded((trace.time_s[chosen] - start) * 1e3),
            "y": rounded(trace.power_w[chosen]),
            "line": {"color": ACCENT, "width": 1.5, "shape": "hv"},
            "marker": {"size": 5},
            "hovertemplate": "%{x:.3f} ms: %{y:.2f} W<extra></extra>",
        }
    ]
    layout = layout_of(f"Time from the start of cycle {first + 1:,} (ms)", "Power (W)", height=320)
    layout["shapes"] = [
        _span((float(trace.start_s[i]) - start) * 1e3, (float(trace.end_s[i]) - start) * 1e3, 0.26 if i % 2 else 0.13)
        for i in range(first, last + 1)
    ]
    without_legend(layout)
    if idle_power_w is not None:
        level(layout, idle_power_w, "idle")
    return {"data": data, "layout": layout}


def _span(start: float, end: float, opacity: float) -> dict[str, Any]:
    return {
        "type": "rect",
        "layer": "below",
        "yref": "paper",
        "x0": start,
        "x1": end,
        "y0": 0,
        "y1": 1,
        "fillcolor": MUTED,
        "opacity": opacity,
        "line": {"width": 0},
    }
