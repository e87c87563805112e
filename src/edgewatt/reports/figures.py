"""The page's plots, as plotly's JSON: what they show, and nothing of colours that a theme decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgewatt.networks.layer import LayerKind
from edgewatt.reports.figure_parts import (
    ACCENT,
    KIND_COLOURS,
    MUTED,
    RESULT_COLOURS,
    Figure,
    error_bars,
    hover_of,
    layout_of,
    level,
    line_of,
    logarithmic,
    plain,
    points_by_kind,
    rounded,
    value_of,
    without_legend,
)
from edgewatt.reports.text import interval, short_name, significant
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import LayerResult, NetworkResult

#: Layers that the plot of energies shows.
TOP_LAYERS = 15
_HATCH = {"fillmode": "overlay", "size": 7, "solidity": 0.18}


def timeline(result: NetworkResult) -> Figure:
    """One cycle: each layer as wide as its runtime and as high as its power, so that its area is its energy."""
    ends = np.cumsum([value_of(layer.runtime_s, 1e3) for layer in result.layers])
    traces = []
    for kind in LayerKind:
        chosen = [i for i, layer in enumerate(result.layers) if layer.kind is kind and value_of(layer.runtime_s) > 0]
        if not chosen:
            continue
        layers = [result.layers[i] for i in chosen]
        powers = [result.layer_power(layer) for layer in layers]
        widths = [value_of(layer.runtime_s, 1e3) for layer in layers]
        traces.append(
            {
                "type": "bar",
                "name": kind.value,
                "x": rounded(ends[i] - width / 2 for i, width in zip(chosen, widths, strict=True)),
                "y": rounded(value_of(power) for power in powers),
                "width": rounded(widths),
                "error_y": error_bars(powers),
                "marker": {
                    "color": KIND_COLOURS[kind],
                    "line": {"width": 0.5},
                    "pattern": {
                        "shape": ["/" if layer.identifiable is False else "" for layer in layers],
                        **_HATCH,
                    },
                },
                "hovertext": [hover_of(result, layer) for layer in layers],
                "hoverinfo": "text",
            }
        )
    layout = layout_of("Time in the cycle (ms)", "Power (W)", height=340)
    layout |= {"barmode": "overlay", "bargap": 0}
    layout["xaxis"] |= {"range": [0, float(ends[-1])], "showgrid": False}
    layout["yaxis"]["rangemode"] = "tozero"
    if result.with_idle and result.idle_power_w is not None:
        level(layout, result.idle_power_w, "idle")
    return {"data": traces, "layout": layout}


def energy_by_layer(result: NetworkResult) -> Figure:
    """The layers that take most energy."""
    energies = [result.layer_energy(layer) for layer in result.layers]
    known = [i for i, energy in enumerate(energies) if energy is not None]
    order = sorted(known, key=lambda i: -value_of(energies[i]))
    top = order[:TOP_LAYERS]
    names = [f"{i + 1}. {plain(short_name(result.layers[i].name))}" for i in top]
    values = [value_of(energies[i], 1e3) for i in top]
    colours = [KIND_COLOURS[result.layers[i].kind] for i in top]
    hover = [hover_of(result, result.layers[i]) for i in top]
    errors = error_bars([energies[i] for i in top], 1e3)
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": rounded(values),
        "y": names,
        "marker": {"color": colours},
        "error_x": errors,
        "hovertext": hover,
        "hoverinfo": "text",
    }
    layout = layout_of("Energy (mJ)", None, height=70 + 24 * len(names))
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True, "ticks": "", "showgrid": False}
    without_legend(layout)
    layout["bargap"] = 0.25
    return {"data": [trace], "layout": layout}


def shares_by_kind(result: NetworkResult) -> Figure:
    """What share of energy, runtime and MACs each kind of layer has."""
    quantities: list[tuple[str, list[float]]] = [
        ("energy", [max(0.0, value_of(result.layer_energy(layer))) for layer in result.layers]),
        ("runtime", [value_of(layer.runtime_s) for layer in result.layers]),
        ("MACs", [0.0 if layer.layer is None else float(layer.layer.macs) for layer in result.layers]),
    ]
    shown = [(name, values) for name, values in quantities if sum(values) > 0]
    traces = []
    for kind in LayerKind:
        if not any(layer.kind is kind for layer in result.layers):
            continue
        shares = [
            100 * sum(v for v, layer in zip(values, result.layers, strict=True) if layer.kind is kind) / sum(values)
            for _, values in shown
        ]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": kind.value,
                "x": rounded(shares),
                "y": [name for name, _ in shown],
                "marker": {"color": KIND_COLOURS[kind]},
                "text": [f"{share:.0f}%" if share >= 6 else "" for share in shares],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "insidetextfont": {"color": "#ffffff"},
                "textangle": 0,
                "hovertemplate": f"{kind.value}: %{{x:.1f}}% of %{{y}}<extra></extra>",
            }
        )
    layout = layout_of("Share (%)", None, height=210)
    layout |= {"barmode": "stack", "bargap": 0.3}
    layout["legend"]["traceorder"] = "normal"
    layout["xaxis"]["range"] = [0, 100]
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True, "ticks": "", "showgrid": False}
    return {"data": traces, "layout": layout}


def bars_of_results(
    names: Sequence[str],
    values: Sequence[Estimate | None],
    title: str,
    unit: str,
    factor: float,
    measured: Sequence[bool],
) -> Figure:
    """One number of several results, side by side; predictions are hatched.

    Args:
        names: Names of the results.
        values: The number of each.
        title: The axis' title.
        unit: The unit shown.
        factor: Makes `unit` of the numbers.
        measured: Whether each was measured.
    """
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": rounded(value_of(value, factor) for value in values),
        "y": [plain(name) for name in names],
        "error_x": error_bars(values, factor),
        "marker": {
            "color": ACCENT,
            "pattern": {"shape": ["" if known else "/" for known in measured], **_HATCH},
        },
        "hovertext": [
            f"{plain(name)}: {significant(value_of(value, factor))} {unit} {interval(value, factor)}"
            for name, value in zip(names, values, strict=True)
        ],
        "hoverinfo": "text",
    }
    layout = layout_of(title, None, height=70 + 34 * len(names))
    ends = [factor * max(value_of(value), (value and value.high) or 0.0) for value in values]
    numbers = {
        # Behind the interval, which would cross it out.
        "type": "scatter",
        "mode": "text",
        "x": rounded(ends),
        "y": trace["y"],
        "text": [f" {significant(value_of(value, factor))}" if value else "" for value in values],
        "textposition": "middle right",
        "cliponaxis": False,
        "hoverinfo": "skip",
    }
    layout["xaxis"]["range"] = [0, 1.18 * max(ends)]
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True, "ticks": "", "showgrid": False}
    without_legend(layout)
    layout["bargap"] = 0.3
    return {"data": [trace, numbers], "layout": layout}


def layers_beside(
    names: Sequence[str],
    layers: Sequence[LayerResult],
    columns: Sequence[Sequence[LayerResult | None]],
    measured: Sequence[bool],
    *,
    with_idle: bool,
) -> Figure | None:
    """The layers that take most energy in any of several results, a group of bars for each.

    Args:
        names: Names of the results.
        layers: Layers of the first result.
        columns: For each result the partners of those layers.
        measured: Whether each result was measured; predictions are hatched.
        with_idle: Whether energies hold idle power.

    Returns:
        The plot; None where no energy is known.
    """
    quantity = "energy_j" if with_idle else "energy_above_idle_j"
    energies = [[None if layer is None else getattr(layer, quantity) for layer in column] for column in columns]
    most = [max((value_of(column[i]) for column in energies), default=0.0) for i in range(len(layers))]
    top = sorted((i for i, energy in enumerate(most) if energy > 0), key=lambda i: -most[i])[:TOP_LAYERS]
    if not top:
        return None
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": plain(name),
            "x": rounded(value_of(column[i], 1e3) for i in top),
            "y": [f"{i + 1}. {plain(short_name(layers[i].name))}" for i in top],
            "error_x": error_bars([column[i] for i in top], 1e3),
            "marker": {
                "color": RESULT_COLOURS[index % len(RESULT_COLOURS)],
                "pattern": {"shape": "" if measured[index] else "/", **_HATCH},
            },
            "hovertext": [
                f"{plain(name)}: {significant(value_of(column[i], 1e3))} mJ {interval(column[i], 1e3)}" for i in top
            ],
            "hoverinfo": "text",
        }
        for index, (name, column) in enumerate(zip(names, energies, strict=True))
    ]
    layout = layout_of("Energy (mJ)", None, height=110 + len(top) * (14 + 9 * len(names)))
    layout |= {"barmode": "group", "bargap": 0.3}
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True, "ticks": "", "showgrid": False}
    layout["xaxis"]["rangemode"] = "tozero"
    return {"data": traces, "layout": layout}


def measured_against_predicted(
    pairs: Sequence[tuple[LayerResult, LayerResult]], quantity: str, factor: float, unit: str
) -> Figure | None:
    """A quantity of each layer, predicted over measured, with the line on which both agree.

    Args:
        pairs: Measured and predicted layers.
        quantity: Name of the layers' quantity.
        factor: Makes `unit` of it.
        unit: The unit shown.
    """
    points = [(measured, getattr(measured, quantity), getattr(predicted, quantity)) for measured, predicted in pairs]
    points = [(layer, a, b) for layer, a, b in points if a is not None and b is not None and min(a.value, b.value) > 0]
    if not points:
        return None

    def values_of(chosen: list[int]) -> Figure:
        some = [points[index] for index in chosen]
        return {
            "x": rounded(a.value * factor for _, a, _ in some),
            "y": rounded(b.value * factor for _, _, b in some),
            "error_x": error_bars([a for _, a, _ in some], factor),
            "error_y": error_bars([b for _, _, b in some], factor),
            "hovertext": [
                f"{plain(short_name(layer.name))}<br>measured {significant(a.value * factor)} {unit}, "
                f"predicted {significant(b.value * factor)} {unit} ({b.value / a.value - 1:+.0%})"
                for layer, a, b in some
            ],
        }

    traces = points_by_kind([layer.kind for layer, _, _ in points], values_of)
    values = [value.value * factor for _, a, b in points for value in (a, b)]
    ends = [min(values) / 1.3, max(values) * 1.3]
    traces.append(line_of(ends, ends, "both agree", MUTED, "dash"))
    layout = layout_of(f"Measured ({unit})", f"Predicted ({unit})", height=380)
    logarithmic(layout, traces)
    return {"data": traces, "layout": layout}
