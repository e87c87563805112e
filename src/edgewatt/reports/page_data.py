"""What the page tells, collected from results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from edgewatt.comparison.match import LEAST_SHARED, match_layers
from edgewatt.errors import printable
from edgewatt.networks.layer import LayerKind
from edgewatt.reports import figures, trace_figures
from edgewatt.reports.page_parts import Headline, KindSum, LayerRow, NetworkPart, OverviewRow, PageData, Plot
from edgewatt.reports.text import NOT_KNOWN, interval, significant, with_interval
from edgewatt.results.environment import environment_differences
from edgewatt.results.estimate import Estimate, added
from edgewatt.results.network_result import LayerResult, NetworkResult
from edgewatt.results.totals import LAYERS, RUN, WHOLE, common_totals, layer_totals


def page_data(results: Sequence[NetworkResult]) -> PageData:
    """Collect what a page of results tells.

    Args:
        results: At least one.
    """
    labels = unique_labels(results)
    predictions = _predictions_of(results)
    parts = tuple(
        _part(result, label, None if (p := predictions.get(i)) is None else (results[p], labels[p]))
        for i, (result, label) in enumerate(zip(results, labels, strict=True))
    )
    if len(results) == 1:
        return PageData(f"{labels[0]}: power, runtime and energy by layer", parts)
    overview = _overview(results, labels)
    return PageData(
        title=f"{len(results)} results side by side",
        parts=parts,
        overview=overview,
        overview_plots=_overview_plots(results, overview),
        differences=tuple(environment_differences(results)),
    )


def unique_labels(results: Sequence[NetworkResult]) -> list[str]:
    """Names of results; where several share one, with what tells them apart."""
    labels = [printable(result.name) for result in results]
    for attempt in range(3):
        twice = {label for label, count in Counter(labels).items() if count > 1}
        if not twice:
            break
        labels = [
            f"{label} ({_told_apart(result, attempt)})" if label in twice else label
            for label, result in zip(labels, results, strict=True)
        ]
    taken: Counter[str] = Counter()
    for i, label in enumerate(labels):
        taken[label] += 1
        if taken[label] > 1:
            labels[i] = f"{label} #{taken[label]}"
    return labels


def _told_apart(result: NetworkResult, attempt: int) -> str:
    if attempt == 0:
        environment = result.environment
        words = [result.source.value if not result.measured else "", environment.power_mode, environment.precision]
        return ", ".join(word for word in words if word) or result.source.value
    return result.path.resolve().parent.name if attempt == 1 else str(result.path)


def _predictions_of(results: Sequence[NetworkResult]) -> dict[int, int]:
    """For each measured result the prediction that shares most layers with it, where one shares half of them."""
    found = {}
    predicted = [i for i, result in enumerate(results) if not result.measured]
    for i, result in enumerate(results):
        if not result.measured or not predicted:
            continue
        shared = {p: match_layers(result.layers, results[p].layers).shared for p in predicted}
        # Of equals the one of the same name.
        best = max(predicted, key=lambda p: (shared[p], results[p].name == result.name))
        if shared[best] >= LEAST_SHARED:
            found[i] = best
    return found


def _part(result: NetworkResult, label: str, prediction: tuple[NetworkResult, str] | None) -> NetworkPart:
    pairs: dict[int, LayerResult] = {}
    if prediction is not None:
        other = prediction[0]
        pairs = {i: other.layers[j] for i, j in match_layers(result.layers, other.layers).pairs}
        if result.with_idle and not other.with_idle:
            result = _without_idle(result)
    rows = tuple(
        LayerRow(i + 1, layer, result.layer_power(layer), result.layer_energy(layer), share, pairs.get(i))
        for i, (layer, share) in enumerate(zip(result.layers, result.energy_shares(), strict=True))
    )
    order = ["bad", "caution", "note", "good"]
    return NetworkPart(
        result=result,
        label=label,
        badges=_badges(result),
        headlines=tuple(_headlines(result)),
        findings=tuple(sorted(result.findings, key=lambda finding: order.index(finding.weight.value))),
        plots=tuple(_plots(result, rows)),
        rows=rows,
        with_idle=result.with_idle,
        predicted_by=None if prediction is None else prediction[1],
    )


def _without_idle(result: NetworkResult) -> NetworkResult:
    """The result with its layers above idle alone, to stand beside a prediction that knows no more."""
    return replace(result, layers=tuple(replace(layer, power_w=None, energy_j=None) for layer in result.layers))


def _badges(result: NetworkResult) -> tuple[str, ...]:
    environment = result.environment
    words = [
        result.source.value,
        environment.board,
        environment.power_mode,
        environment.precision,
        f"batch {environment.batch_size}" if environment.batch_size else "",
        environment.backend if environment.backend not in environment.board.split() else "",
        f"method: {environment.method}" if environment.method else "",
        f"clocks {environment.clocks}" if environment.clocks else "",
    ]
    return tuple(word for word in words if word)


def _headlines(result: NetworkResult) -> list[Headline]:
    (totals,) = common_totals([result])
    of = {WHOLE: " per cycle", LAYERS: " of its layers", RUN: " per cycle, pauses included"}[totals.of]
    energy, power = totals.energy_j, totals.power_w
    if energy is None and result.layers_energy_above_idle_j is not None:
        above = layer_totals(result, with_idle=False)
        energy, power, of = above.energy_j, above.power_w, " above idle"
    runtime = result.runtime_s or result.layers_runtime_s
    found = [
        _headline(f"Energy{of}", energy, "mJ", 1e3),
        _headline("Runtime per cycle" if result.runtime_s else "Runtime of its layers", runtime, "ms", 1e3),
        _headline(f"Mean power{of}", power, "W", 1.0),
    ]
    if result.run_energy_j is not None and totals.of != RUN:
        found.append(_headline("Energy per cycle, pauses included", result.run_energy_j, "mJ", 1e3))
        found.append(_headline("Mean power, pauses included", result.run_power_w, "W", 1.0))
    if result.idle_power_w is not None:
        found.append(Headline("Idle power", f"{significant(result.idle_power_w)} W", "nothing running"))
    cycles = "" if result.cycles is None else f"{result.cycles:,} cycles"
    found.append(Headline("Layers", str(len(result.layers)), cycles))
    return found


def _headline(name: str, estimate: Estimate | None, unit: str, factor: float) -> Headline:
    spread = interval(estimate, factor)
    whole = with_interval(estimate, unit, factor)
    value = whole.replace(f" {spread} ", " ") if spread else whole
    known = "not known" if estimate is None else f"{spread} {unit}" if spread else "interval not known"
    return Headline(name, value if estimate is not None else NOT_KNOWN, known)


def _plots(result: NetworkResult, rows: Sequence[LayerRow]) -> list[Plot]:
    idle = _idle_words(result.with_idle)
    plots = []
    if any(row.layer.runtime_s is not None for row in rows) and any(row.power is not None for row in rows):
        plots.append(
            Plot(
                "One cycle, layer by layer",
                f"Width is runtime, height is power ({idle}), so area is energy. Lines are 90 % intervals; hatched "
                "layers are not told apart by the recording.",
                figures.timeline(result),
                wide=True,
            )
        )
    if any(row.energy is not None for row in rows):
        plots.append(Plot("Energy by layer", _largest(rows, idle), figures.energy_by_layer(result)))
    if any(row.layer.runtime_s is not None for row in rows):
        caption = "Which kinds of layer the energy, the time and the operations go to."
        plots.append(Plot("Shares by kind", caption, figures.shares_by_kind(result), kinds=kind_sums(rows)))
    for quantity, title in (("macs", "Runtime against operations"), ("bytes", "Runtime against bytes moved")):
        figure = figures.roofline(result, quantity)
        if figure is not None:
            caption = "A layer far above the dashed line runs far below the best rate seen in this network."
            plots.append(Plot(title, caption, figure))
    plots += _trace_plots(result)
    pairs = [(row.layer, row.predicted) for row in rows if row.predicted is not None]
    quantities = [("energy_j" if result.with_idle else "energy_above_idle_j", 1e3, "mJ"), ("runtime_s", 1e3, "ms")]
    for quantity, factor, unit in quantities:
        against = figures.measured_against_predicted(pairs, quantity, factor, unit)
        if against is not None:
            name = "Energy" if unit == "mJ" else "Runtime"
            caption = f"{name} of each layer{f', {idle}' if unit == 'mJ' else ''}. On the dashed line both agree."
            plots.append(Plot(f"{name}: measured against predicted", caption, against))
    return plots


def _idle_words(with_idle: bool) -> str:
    return "idle power included" if with_idle else "above idle"


def _trace_plots(result: NetworkResult) -> list[Plot]:
    trace = result.trace
    if trace is None:
        return []
    count = f"{len(trace.time_s):,} readings"
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
            sums.append(KindSum(kind, len(chosen), runtime, energy, sum(row.share or 0.0 for row in chosen)))
    return tuple(sums)


def _largest(rows: Sequence[LayerRow], idle: str) -> str:
    ranked = sorted((row for row in rows if row.share is not None), key=lambda row: -(row.share or 0.0))
    total, needed = 0.0, 0
    for row in ranked:
        total, needed = total + (row.share or 0.0), needed + 1
        if total >= 0.5:
            break
    layers = "one layer takes" if needed == 1 else f"{needed} layers take"
    shown = f" The {figures.TOP_LAYERS} largest are shown." if len(ranked) > figures.TOP_LAYERS else ""
    return f"Of {len(rows)} layers, {layers} {total:.0%} of the energy ({idle}).{shown}"


def _overview(results: Sequence[NetworkResult], labels: Sequence[str]) -> tuple[OverviewRow, ...]:
    # Above idle only where one of them knows no more.
    idle = all(result.with_idle or result.layers_energy_above_idle_j is None for result in results)
    return tuple(
        OverviewRow(label, result.source.value, " · ".join(_badges(result)[1:]), len(result.layers), totals)
        for result, label, totals in zip(results, labels, common_totals(results, with_idle=idle), strict=True)
    )


def _overview_plots(results: Sequence[NetworkResult], rows: Sequence[OverviewRow]) -> tuple[Plot, ...]:
    plots = []
    for title, unit, factor, attribute in (
        ("Energy of a cycle", "mJ", 1e3, "energy_j"),
        ("Runtime of a cycle", "ms", 1e3, "runtime_s"),
    ):
        values = [getattr(row.totals, attribute) for row in rows]
        if any(value is not None for value in values):
            measured = [result.measured for result in results]
            figure = figures.bars_of_results([row.label for row in rows], values, unit, factor, measured)
            idle = f", {_idle_words(rows[0].totals.with_idle)}" if unit == "mJ" else ""
            plots.append(Plot(title, f"Of {rows[0].totals.of}{idle}. Predictions are hatched.", figure))
    return tuple(plots)
