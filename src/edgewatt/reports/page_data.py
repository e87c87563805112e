"""What the page tells, collected from results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from edgewatt.comparison.match import LEAST_SHARED, match_layers
from edgewatt.errors import printable
from edgewatt.reports.page_parts import Headline, LayerRow, NetworkPart, OverviewRow, PageData
from edgewatt.reports.page_plots import network_plots, overview_plots
from edgewatt.reports.text import NOT_KNOWN, interval, significant, with_interval
from edgewatt.results.environment import environment_differences
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import LayerResult, NetworkResult
from edgewatt.results.totals import LAYERS, RUN, WHOLE, common_totals, layer_totals
from edgewatt.wording import counted


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
        title=_title(results),
        parts=parts,
        overview=overview,
        overview_plots=overview_plots(results, overview),
        differences=tuple(environment_differences(results)),
    )


def _title(results: Sequence[NetworkResult]) -> str:
    names = list(dict.fromkeys(printable(result.name) for result in results))
    told = f"{len(results)} results side by side"
    return f"{names[0]}: {told}" if len(names) == 1 else told


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
        plots=tuple(network_plots(result, rows)),
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
    cycles = "" if result.cycles is None else counted(result.cycles, "cycle")
    found.append(Headline("Layers", str(len(result.layers)), cycles))
    return found


def _headline(name: str, estimate: Estimate | None, unit: str, factor: float) -> Headline:
    spread = interval(estimate, factor)
    whole = with_interval(estimate, unit, factor)
    value = whole.replace(f" {spread} ", " ") if spread else whole
    known = "not known" if estimate is None else f"{spread} {unit}" if spread else "interval not known"
    return Headline(name, value if estimate is not None else NOT_KNOWN, known)


def _overview(results: Sequence[NetworkResult], labels: Sequence[str]) -> tuple[OverviewRow, ...]:
    # Above idle only where one of them knows no more.
    idle = all(result.with_idle or result.layers_energy_above_idle_j is None for result in results)
    return tuple(
        OverviewRow(label, result.source.value, " · ".join(_badges(result)[1:]), len(result.layers), totals)
        for result, label, totals in zip(results, labels, common_totals(results, with_idle=idle), strict=True)
    )
