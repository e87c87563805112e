"""Figures of a training: predicted against measured, and what is left, of layers that a fold had not seen."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import Any

import numpy as np

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import measured_rows
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import Array
from edgewatt.predictors.training import TrainingResult
from edgewatt.reports.figure_parts import KIND_COLOURS, MUTED, Figure, layout_of, plain, rounded
from edgewatt.reports.html import PLOTLY, json_in_html

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 15px system-ui, sans-serif; margin: 1rem; }} .plot {{ max-width: 60rem; }}</style>
<script>{plotly}</script></head>
<body><h1>{title}</h1>
<p>Each layer predicted by predictors that were trained without its network, or without its row where networks are
few.</p>
{plots}
<script>
for (const data of document.querySelectorAll("script[type='application/json']")) {{
  const figure = JSON.parse(data.textContent);
  Plotly.newPlot(data.dataset.plot, figure.data, figure.layout, {{responsive: true}});
}}
</script></body></html>
"""


def training_figures(result: TrainingResult) -> dict[str, Figure]:
    """Figures by title, as plotly's JSON."""
    figures = {}
    for target in Target:
        points = {kind: found for kind in LayerKind if (found := _points(result, kind, target)) is not None}
        if points:
            figures[f"{target.value.capitalize()}, predicted against measured"] = _against(points, target)
            figures[f"{target.value.capitalize()}, relative error"] = _residuals(points, target)
    return figures


def figures_page(title: str, figures: dict[str, Figure]) -> str:
    """One HTML page of figures that needs nothing from elsewhere: what MLflow shows beside a run's files."""
    plots = [
        f"<h2>{escape(name)}</h2>"
        f'<div class="plot" id="plot-{i}" style="min-height:{figure["layout"]["height"]}px"></div>'
        f'<script type="application/json" data-plot="plot-{i}">{json_in_html(figure)}</script>'
        for i, (name, figure) in enumerate(figures.items())
    ]
    plotly = resources.files("edgewatt.reports").joinpath(PLOTLY).read_text(encoding="utf-8")
    return _PAGE.format(title=escape(title), plotly=plotly, plots="\n".join(plots))


def _points(result: TrainingResult, kind: LayerKind, target: Target) -> tuple[Array, Array, list[str]] | None:
    """What was measured and predicted of the layers of a kind, both above 0, and their names."""
    estimate = result.cross.estimates.get((kind, target))
    if estimate is None:
        return None
    table = result.training.tables[kind]
    rows, measured = measured_rows(table, target)
    predicted = estimate.value[rows]
    known = np.isfinite(predicted) & (measured > 0.0) & (predicted > 0.0)
    if not known.any():
        return None
    chosen = table[rows[known]]
    names = [
        f"{plain(network)}<br>{plain(layer)}"
        for network, layer in zip(chosen["network"].to_list(), chosen["layer_name"].to_list(), strict=True)
    ]
    return measured[known], predicted[known], names


def _against(points: dict[LayerKind, tuple[Array, Array, list[str]]], target: Target) -> Figure:
    traces = [_trace(kind, measured, predicted, names) for kind, (measured, predicted, names) in points.items()]
    values = np.concatenate([part for measured, predicted, _ in points.values() for part in (measured, predicted)])
    ends = rounded([values.min() / 1.3, values.max() * 1.3])
    agreement = {"type": "scatter", "mode": "lines", "name": "both agree", "x": ends, "y": ends, "hoverinfo": "skip"}
    traces.append({**agreement, "line": {"color": MUTED, "dash": "dash", "width": 1.5}})
    layout = layout_of(f"Measured ({target.unit})", f"Predicted ({target.unit})", height=440)
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"type": "log"}
    return {"data": traces, "layout": layout}


def _residuals(points: dict[LayerKind, tuple[Array, Array, list[str]]], target: Target) -> Figure:
    traces = [
        _trace(kind, measured, 100.0 * (predicted / measured - 1.0), names)
        for kind, (measured, predicted, names) in points.items()
    ]
    layout = layout_of(f"Measured ({target.unit})", "Predicted over measured, less 1 (%)", height=360)
    layout["xaxis"] |= {"type": "log"}
    return {"data": traces, "layout": layout}


def _trace(kind: LayerKind, x: Array, y: Array, names: list[str]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": kind.value,
        "x": rounded(x),
        "y": rounded(y),
        "text": names,
        "marker": {"color": KIND_COLOURS[kind], "size": 7, "opacity": 0.8},
        "hovertemplate": "%{text}<br>%{x:.4g}, %{y:.4g}<extra></extra>",
    }
