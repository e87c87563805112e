"""What the page's plots are put together from, as plotly's JSON; colours that a theme decides are not part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import printable
from edgewatt.networks.layer import LayerKind
from edgewatt.reports.text import NOT_KNOWN, interval, short_name, significant
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import LayerResult, NetworkResult

Figure = dict[str, Any]

#: Told apart by those who see few colours as well, on light and on dark ground.
KIND_COLOURS = {
    LayerKind.CONVOLUTIONAL: "#3b74d8",
    LayerKind.POOLING: "#d08700",
    LayerKind.DENSE: "#159a75",
    LayerKind.OTHER: "#9467c9",
}
#: Of results side by side, likewise told apart.
RESULT_COLOURS = ("#3b74d8", "#d08700", "#159a75", "#9467c9", "#d95f3b", "#5f7f94")
_MANY_DECADES = 300.0
ACCENT, MUTED, WARM = "#3b74d8", "#8b93a1", "#d95f3b"


def plain(text: str) -> str:
    """Text that plotly does not take for its markup."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def value_of(estimate: Estimate | None, factor: float = 1.0) -> float:
    """A number to draw; 0 where none is known."""
    return 0.0 if estimate is None else estimate.value * factor


def rounded(values: Iterable[float] | NDArray[np.float64]) -> list[float]:
    """Numbers with six digits: enough for any screen, and a third of the bytes."""
    return [float(f"{value:.6g}") for value in values]


def error_bars(estimates: Sequence[Estimate | None], factor: float = 1.0) -> dict[str, Any]:
    """Intervals as error bars; none where none is known."""
    above, below = [], []
    for estimate in estimates:
        known = estimate is not None and estimate.low is not None and estimate.high is not None
        above.append((estimate.high - estimate.value) * factor if known else 0.0)  # type: ignore[union-attr, operator]
        below.append((estimate.value - estimate.low) * factor if known else 0.0)  # type: ignore[union-attr, operator]
    if not any(above) and not any(below):
        return {}
    return {
        "type": "data",
        "array": rounded(above),
        "arrayminus": rounded(below),
        "color": MUTED,
        "thickness": 1,
        "width": 0,
    }


def points_by_kind(kinds: Sequence[LayerKind], values: Callable[[list[int]], Figure]) -> list[Figure]:
    """Points in the colours of their kinds.

    Args:
        kinds: The kind of each point.
        values: What a trace of some of the points, given by their indices, shows: `x`, `y` and `hovertext`.

    Returns:
        A trace for each kind that there is.
    """
    traces = []
    for kind in LayerKind:
        chosen = [index for index, one in enumerate(kinds) if one is kind]
        if chosen:
            marker = {"color": KIND_COLOURS[kind], "size": 9, "opacity": 0.8, "line": {"width": 1}}
            fixed = {"type": "scatter", "mode": "markers", "name": kind.value, "marker": marker, "hoverinfo": "text"}
            traces.append(fixed | values(chosen))
    return traces


def line_of(x: Iterable[float], y: Iterable[float], name: str, colour: str, dash: str) -> Figure:
    """A line to compare points with."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": rounded(x),
        "y": rounded(y),
        "line": {"color": colour, "dash": dash, "width": 1.5},
        "hoverinfo": "skip",
    }


def layout_of(x_title: str, y_title: str | None, height: int) -> dict[str, Any]:
    """A layout without colours: titles of its axes, height in pixels."""
    return {
        "height": height,
        "margin": {"l": 54, "r": 14, "t": 34, "b": 48},
        "xaxis": {"title": {"text": x_title}, "automargin": True},
        "yaxis": {"title": {"text": y_title}, "automargin": True} if y_title else {},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"},
        "hoverlabel": {"align": "left"},
        "dragmode": "zoom",
    }


def without_legend(layout: dict[str, Any]) -> None:
    """Leave the legend and its room out."""
    layout["showlegend"] = False
    layout["margin"]["t"] = 8


def logarithmic(layout: dict[str, Any], traces: Sequence[Figure]) -> None:
    """Make both axes logarithmic, with numbers at 1, 2 and 5 of each decade, or at 1 alone where there are many.

    Args:
        layout: The layout.
        traces: What is drawn; positive numbers alone.
    """
    for axis in ("x", "y"):
        values = [value for trace in traces for value in trace[axis]]
        ticks: dict[str, Any] = {"dtick": "D2"}
        if max(values) > _MANY_DECADES * min(values):
            ticks = {"dtick": 1, "minor": {"ticks": "inside", "showgrid": False}}
        layout[f"{axis}axis"] |= {"type": "log", "tickformat": "~g", **ticks}


def level(layout: dict[str, Any], value: float, name: str) -> None:
    """Add a horizontal line with its name."""
    layout.setdefault("shapes", []).append(
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": value,
            "y1": value,
            "line": {"width": 1.5, "dash": "dot"},
        }
    )
    layout.setdefault("annotations", []).append(
        {
            "xref": "paper",
            "x": 1,
            "xanchor": "right",
            "y": value,
            "yanchor": "bottom",
            "text": f"{name} {significant(value)} W",
            "showarrow": False,
            "font": {"size": 11},
            "borderpad": 2,
        }
    )


def hover_of(result: NetworkResult, layer: LayerResult) -> str:
    """What a layer's point or bar tells when it is pointed at."""
    power, energy = result.layer_power(layer), result.layer_energy(layer)
    lines = [
        f"<b>{plain(short_name(layer.name))}</b>",
        f"{plain(layer.operation or layer.kind.value)}",
        _quantity(layer.runtime_s, "ms", 1e3),
        _quantity(power, "W"),
        _quantity(energy, "mJ", 1e3),
        *map(plain, layer.remarks),
    ]
    return "<br>".join(line for line in lines if line)


def _quantity(estimate: Estimate | None, unit: str, factor: float = 1.0) -> str:
    if estimate is None:
        return f"{NOT_KNOWN} {unit}"
    return f"{significant(estimate.value * factor)} {unit} {interval(estimate, factor)}".rstrip()
