"""Plots of what layers take against what they have to do, below the roofs of their board."""

from __future__ import annotations

from edgewatt.reports.figure_parts import (
    MUTED,
    WARM,
    Figure,
    hover_of,
    layout_of,
    line_of,
    logarithmic,
    points_by_kind,
    rounded,
    value_of,
)
from edgewatt.reports.text import significant
from edgewatt.results.network_result import LayerResult, NetworkResult
from edgewatt.results.peaks import Peaks

#: For each quantity: the axis' title, the unit of its rate, and what that rate is called.
_WORDS = {"macs": ("Million MACs of a cycle", "GMAC/s"), "bytes": ("MB moved in a cycle", "GB/s")}


def roofline(result: NetworkResult, quantity: str, peaks: Peaks | None) -> Figure | None:
    """Runtime against MACs (or bytes), beside the best rate that any layer reaches and the board's own.

    Args:
        result: The network.
        quantity: `macs` or `bytes`.
        peaks: The board's highest rates; None leaves that line out.

    Returns:
        The plot; None where less than two layers have both.
    """
    points = [(layer, _amount(layer, quantity), value_of(layer.runtime_s)) for layer in result.layers]
    points = [(layer, amount, runtime) for layer, amount, runtime in points if amount > 0 and runtime > 0]
    if len(points) < 2:
        return None
    title, unit = _WORDS[quantity]

    def values_of(chosen: list[int]) -> Figure:
        some = [points[index] for index in chosen]
        return {
            "x": rounded(amount / 1e6 for _, amount, _ in some),
            "y": rounded(runtime * 1e3 for _, _, runtime in some),
            "hovertext": [
                f"{hover_of(result, layer)}<br>{significant(amount / runtime / 1e9)} {unit}"
                for layer, amount, runtime in some
            ],
        }

    traces = points_by_kind([layer.kind for layer, _, _ in points], values_of)
    amounts = [amount for _, amount, _ in points]
    best = max(amount / runtime for _, amount, runtime in points)
    traces.append(_line(amounts, best, f"best rate seen, {significant(best / 1e9)} {unit}", MUTED, "dash"))
    if peaks is not None:
        peak = peaks.macs_per_s if quantity == "macs" else peaks.bytes_per_s
        name = f"peak of {peaks.unit} in {peaks.precision}" if quantity == "macs" else "peak of the memory"
        traces.append(_line(amounts, peak, f"{name}, {significant(peak / 1e9)} {unit}", WARM, "solid"))
    layout = layout_of(title, "Runtime (ms)", height=380)
    logarithmic(layout, traces)
    return {"data": traces, "layout": layout}


def _line(amounts: list[float], rate: float, name: str, colour: str, dash: str) -> Figure:
    """The least runtimes at a rate."""
    ends = [min(amounts), max(amounts)]
    return line_of((end / 1e6 for end in ends), (end / rate * 1e3 for end in ends), name, colour, dash)


def _amount(layer: LayerResult, quantity: str) -> float:
    if layer.layer is None:
        return 0.0
    return float(layer.layer.macs if quantity == "macs" else layer.layer.total_bytes)
