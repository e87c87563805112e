"""Which plots the page shows of a network and of several, and their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgewatt.comparison.match import LEAST_SHARED, match_layers
from edgewatt.networks.layer import LayerKind
from edgewatt.reports import figures, trace_figures
from edgewatt.reports.page_parts import KindSum, LayerRow, OverviewRow, Plot
from edgewatt.reports.roofline_figures import roofline
from edgewatt.results.estimate import Estimate, added
from edgewatt.results.network_result import LayerResult, NetworkResult
from edgewatt.results.peaks import Peaks, peak_rates
from edgewatt.results.totals import LAYERS, RUN, WHOLE
from edgewatt.wording import counted

#: What totals are of, in the captions.
_TOTALS = {
    WHOLE: "Of whole cycles",
    LAYERS: "Sums over layers",
    RUN: "Of whole runs, by cycle, pauses between cycles included",
}
#: Results whose layers can be told apart beside each other.
_MOST_BESIDE = 6


def network_plots(result: NetworkResult, rows: Sequence[LayerRow]) -> list[Plot]:
    """The plots of one network, as far as it has what they show.

    Args:
        result: The network.
        rows: The rows of its table.
    """
    idle = _idle_words(result.with_idle)
    plots = []
    if any(_some(row.layer.runtime_s) and _some(row.power) for row in rows):
        words = f"Width is runtime, height is power ({idle}), so area is energy. Lines are 90 % intervals."
        if any(row.layer.identifiable is False for row in rows):
            words += " Hatched layers are not told apart by the recording."
        plots.append(Plot("One cycle, layer by layer", words, figures.timeline(result), wide=True))
    if any(_some(row.energy) for row in rows):
        plots.append(Plot("Energy by layer", _largest(rows, idle), figures.energy_by_layer(result)))
    if any(_some(row.layer.runtime_s) or _some(row.energy) for row in rows):
        caption = "Which kinds of layer the energy, the time and the operations go to."
        plots.append(Plot("Shares by kind", caption, figures.shares_by_kind(result), kinds=kind_sums(rows)))
    plots += _roofline_plots(result)
    plots += _trace_plots(result)
    pairs = [(row.layer, row.predicted) for row in rows if row.predicted is not None]
    quantities = [("energy_j" if result.with_idle else "energy_above_idle_j", 1e3, "mJ"), ("runtime_s", 1e3, "ms")]
    for quantity, factor, unit in quantities:
        against = figures.measured_against_predicted(pairs, quantity, factor, unit)
        if against is not None:
            name = "Energy" if unit == "mJ" else "Runtime"
            caption = f"{name} of each layer{f', {idle}' if unit == 'mJ' else ''}. On the dashed line both agree."
            plots.append(Plot(f"{name}: measured against predicted", caption, against))
    return _filling(plots)


def _some(estimate: Estimate | None) -> bool:
    """Whether there is something to draw."""
    return estimate is not None and estimate.value != 0.0


def _filling(plots: Sequence[Plot]) -> list[Plot]:
    """The plots, those wide that would stand in half of the page's width with nothing beside them."""
    filled: list[Plot] = []
    alone = False
    for plot in plots:
        if plot.wide and alone:
            filled[-1] = replace(filled[-1], wide=True)
        alone = not plot.wide and not alone
        filled.append(plot)
    if alone:
        filled[-1] = replace(filled[-1], wide=True)
    return filled


def _roofline_plots(result: NetworkResult) -> list[Plot]:
    peaks = peak_rates(result)
    titles = {"macs": "Runtime against operations", "bytes": "Runtime against bytes moved"}
    plots = []
    for quantity, title in titles.items():
        figure = roofline(result, quantity, peaks)
        if figure is not None:
            words = "A layer far above the dashed line runs far below the best rate seen in this network."
            plots.append(Plot(title, f"{words} {_roof_words(peaks, quantity)}", figure))
    return plots


def _roof_words(peaks: Peaks | None, quantity: str) -> str:
    if peaks is None:
        return "The board's own peak is not known."
    cached = "" if quantity == "macs" else "; data that stay in its caches can be faster"
    return f"Solid: the peak of {peaks.board}, in its fastest power mode{cached}."


def _idle_words(with_idle: bool) -> str:
    return "idle power included" if with_idle else "above idle"


def _trace_plots(result: NetworkResult) -> list[Plot]:
    trace = result.trace
    if trace is None:
        return []
    count = counted(len(trace.time_s), "reading")
    plots = [
        Plot(
            "Power during the recording",
            f"{count}; the band reaches from the least to the greatest of each moment, so no peak is cut. Grey: cycles",
            trace_figures.power_over_time(trace, result.idle_power_w),
            wide=True,
        )
    ]
    close = trace_figures.cycles_close_up(trace, result.idle_power_w)
    if close is not None:
        caption = "Every reading of a few cycles in the middle; each grey band is one cycle."
        plots.append(Plot("A close look at a few cycles", caption, close, wide=True))
    return plots


def kind_sums(rows: Sequence[LayerRow]) -> tuple[KindSum, ...]:
    """What the layers of each kind come to, of the kinds that there are."""
    sums = []
    for kind in LayerKind:
        chosen = [row for row in rows if row.layer.kind is kind]
        if chosen:
            runtime, energy = added(row.layer.runtime_s for row in chosen), added(row.energy for row in chosen)
            shares = [row.share for row in chosen if row.share is not None]
            sums.append(KindSum(kind, len(chosen), runtime, energy, sum(shares) if shares else None))
    return tuple(sums)


def _largest(rows: Sequence[LayerRow], idle: str) -> str:
    ranked = sorted((row for row in rows if row.share is not None), key=lambda row: -(row.share or 0.0))
    if len(rows) == 1:
        return f"The network's only layer ({idle})."
    if not any(row.share for row in ranked):
        return f"No layer takes more than nothing ({idle})."
    total, needed = 0.0, 0
    for row in ranked:
        total, needed = total + (row.share or 0.0), needed + 1
        if total >= 0.5:
            break
    layers = "one layer takes" if needed == 1 else f"{needed} layers take"
    shown = f" The {figures.TOP_LAYERS} largest are shown." if len(ranked) > figures.TOP_LAYERS else ""
    return f"Of {counted(len(rows), 'layer')}, {layers} {total:.0%} of the energy ({idle}).{shown}"


def overview_plots(results: Sequence[NetworkResult], rows: Sequence[OverviewRow]) -> tuple[Plot, ...]:
    """The plots of several results side by side.

    Args:
        results: The results.
        rows: Their rows in the overview.
    """
    plots = []
    idle = _idle_words(rows[0].totals.with_idle)
    labels = [row.label for row in rows]
    measured = [result.measured for result in results]
    hatched = "" if all(measured) else " Predictions are hatched."
    for title, unit, factor, attribute in (
        ("Energy of a cycle", "mJ", 1e3, "energy_j"),
        ("Runtime of a cycle", "ms", 1e3, "runtime_s"),
    ):
        values = [getattr(row.totals, attribute) for row in rows]
        if any(value is not None for value in values):
            figure = figures.bars_of_results(labels, values, f"{title.split()[0]} ({unit})", unit, factor, measured)
            words = f"{_TOTALS[rows[0].totals.of]}{f', {idle}' if unit == 'mJ' else ''}.{hatched}"
            plots.append(Plot(title, words, figure))
    beside = _layers_beside(results, labels)
    return tuple(_filling(plots if beside is None else [*plots, beside]))


def alike(first: NetworkResult, other: NetworkResult) -> bool:
    """Whether two results share at least half of their layers."""
    return match_layers(first.layers, other.layers).shared >= LEAST_SHARED


def _layers_beside(results: Sequence[NetworkResult], labels: Sequence[str]) -> Plot | None:
    """The largest layers of the first result beside those of all results that are alike."""
    first = results[0]
    chosen = [i for i, result in enumerate(results) if i == 0 or alike(first, result)][:_MOST_BESIDE]
    if len(chosen) < 2:
        return None
    with_idle = all(results[i].with_idle for i in chosen)
    columns: list[list[LayerResult | None]] = []
    for i in chosen:
        pairs = dict(match_layers(first.layers, results[i].layers).pairs)
        columns.append([results[i].layers[pairs[j]] if j in pairs else None for j in range(len(first.layers))])
    figure = figures.layers_beside(
        [labels[i] for i in chosen], first.layers, columns, [results[i].measured for i in chosen], with_idle=with_idle
    )
    if figure is None:
        return None
    words = f"The layers that take most energy in any of them, {_idle_words(with_idle)}. Lines are 90 % intervals."
    if not all(results[i].measured for i in chosen):
        words += " Predictions are hatched."
    return Plot("Energy by layer, side by side", words, figure, wide=True)
