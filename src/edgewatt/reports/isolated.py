"""Layers that were measured by themselves, beside the same layers in place."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from edgewatt.formats.layer_power import LayerPower
from edgewatt.isolation.isolated_run import IsolatedRun
from edgewatt.reports.cells import LayerName
from edgewatt.reports.tables import new_table, number, percent
from edgewatt.results.network_result import LayerResult, NetworkResult

_MOST_DOUBTS = 12


def isolated_json(run: IsolatedRun, in_place: NetworkResult | None = None) -> dict[str, Any]:
    """An isolated recording for machines.

    Args:
        run: The recording.
        in_place: The same network recorded in place, mapped; None where there is none.
    """
    places = _by_name(in_place)
    sums = run.sums
    return {
        "model": run.name,
        "folder": str(run.folder),
        "rounds": run.plan.rounds,
        "idle_power_w": run.result.idle_power_w,
        "call_own_us": run.result.call.own_s * 1e6,
        "call_rest_w": run.result.call.rest_w,
        "layers": [_layer_json(row, places.get(row.layer_name)) for row in run.layers],
        "left_out": run.left_out,
        "sum_of_layers_ms": sums.layers_s * 1e3,
        "sum_of_layers_mj": _times(sums.layers_j, 1e3),
        "network_ms": _times(sums.network_s, 1e3),
        "network_mj": _times(sums.network_j, 1e3),
        "runtime_ratio": sums.runtime_ratio,
        "energy_closure": sums.energy_closure,
        "in_place": None if in_place is None else str(in_place.path),
        "verdict": list(run.verdict),
        "interrupted": run.interrupted,
    }


def _layer_json(row: LayerPower, place: LayerResult | None) -> dict[str, Any]:
    value: dict[str, Any] = {
        "layer_name": row.layer_name,
        "runtime_ms": row.runtime_ms,
        "power_w": row.power_w,
        "power_low_w": row.power_low_w,
        "power_high_w": row.power_high_w,
        "energy_mj": row.energy_mj,
    }
    if place is not None:
        value["in_place"] = {
            "runtime_ms": _times(_runtime_s(place), 1e3),
            "power_w": _power_w(place),
            "energy_mj": _times(_energy_j(place), 1e3),
        }
    return value


def isolated_table(run: IsolatedRun, in_place: NetworkResult | None = None) -> Table:
    """The layers of a network by themselves and, where it is known, in place; their sums, and the network."""
    places = _by_name(in_place)
    beside = in_place is not None
    title = f"Layers of {run.name}, idle power included (± 90% interval"
    columns = ["ms", "W", "±", "mJ"]
    if beside:
        title += "; in place as it was mapped, * not told apart there"
        columns += ["in place ms", "W", "mJ"]
    table = new_table(f"{title})", ["layer"], columns)
    for row in run.layers:
        cells = [number(row.runtime_ms, 4), number(row.power_w), number(_half(row)), number(row.energy_mj, 4)]
        place = places.get(row.layer_name)
        if beside:
            cells += [
                number(None if place is None else _times(_runtime_s(place), 1e3), 4),
                number(None if place is None else _power_w(place)) + _mark(place),
                number(None if place is None else _times(_energy_j(place), 1e3), 4),
            ]
        table.add_row(LayerName(row.layer_name, ""), *cells)
    table.add_section()
    sums = run.sums
    cells = [
        number(sums.layers_s * 1e3, 4),
        number(_quotient(sums.layers_j, sums.layers_s)),
        "",
        number(_times(sums.layers_j, 1e3), 4),
    ]
    if beside:
        cells += _sum_cells(list(places.values()))
    table.add_row(Text("sum of the layers"), *cells)
    if sums.network_s is not None:
        cells = [
            number(sums.network_s * 1e3, 4),
            number(_quotient(sums.network_j, sums.network_s)),
            "",
            number(_times(sums.network_j, 1e3), 4),
        ]
        table.add_row(Text("the network, in the same rounds"), *cells, *([""] * 3 if beside else []))
    return table


def isolated_lines(run: IsolatedRun, in_place: NetworkResult | None = None) -> list[Text]:
    """How the layers add up, and what stands against trusting them."""
    lines = []
    sums = run.sums
    if sums.runtime_ratio is not None:
        text = f"The layers add up to {percent(sums.runtime_ratio)} of the network's time"
        if sums.energy_closure is not None:
            text += f" and to {percent(1 + sums.energy_closure)} of its energy"
        lines.append(Text(text))
    if in_place is None:
        base = run.name.rpartition("@")[0]
        lines.append(
            Text(
                f"There is no recording of {base} in place to compare with: record it without --isolate, and this "
                "command shows both"
            )
        )
    shown = run.verdict[:_MOST_DOUBTS]
    lines += [Text(doubt) for doubt in shown]
    if len(run.verdict) > len(shown):
        lines.append(Text(f"... and {len(run.verdict) - len(shown)} more, in run.json"))
    return lines


def _by_name(in_place: NetworkResult | None) -> dict[str, LayerResult]:
    return {} if in_place is None else {layer.name: layer for layer in in_place.layers}


def _mark(place: LayerResult | None) -> str:
    """A star at a power that a layer shares with its neighbours; a gap in its place elsewhere."""
    return "*" if place is not None and place.identifiable is False else " "


def _half(row: LayerPower) -> float | None:
    return None if row.power_low_w is None or row.power_high_w is None else (row.power_high_w - row.power_low_w) / 2


def _sum_cells(layers: list[LayerResult]) -> list[str]:
    times = [time for layer in layers if (time := _runtime_s(layer)) is not None]
    energies = [energy for layer in layers if (energy := _energy_j(layer)) is not None]
    runtime_s, energy_j = sum(times), sum(energies) if energies else None
    return [number(runtime_s * 1e3, 4), number(_quotient(energy_j, runtime_s)), number(_times(energy_j, 1e3), 4)]


def _runtime_s(layer: LayerResult) -> float | None:
    return None if layer.runtime_s is None else layer.runtime_s.value


def _power_w(layer: LayerResult) -> float | None:
    return None if layer.power_w is None else layer.power_w.value


def _energy_j(layer: LayerResult) -> float | None:
    return None if layer.energy_j is None else layer.energy_j.value


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _quotient(value: float | None, by: float) -> float | None:
    return None if value is None or not by else value / by
