"""The states that networks were recorded in: a table, and the most efficient one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from edgewatt.errors import printable
from edgewatt.reports.tables import NOT_KNOWN, name_cell, new_table, number, percent
from edgewatt.results.estimate import Estimate
from edgewatt.results.states import StateResult, most_efficient, rivals


def states_json(states: Sequence[StateResult], latency_ms: float | None) -> dict[str, Any]:
    """States for machines, times in ms and energies in mJ."""
    best = most_efficient(states, None if latency_ms is None else latency_ms / 1e3)
    return {
        "states": [_state_json(state) for state in states],
        "latency_ms": latency_ms,
        "most_efficient": {network: None if state is None else state.name for network, state in best.items()},
        "not_told_apart": {
            network: [other.name for other in rivals(state, states, None if latency_ms is None else latency_ms / 1e3)]
            for network, state in best.items()
            if state is not None
        },
    }


def _state_json(state: StateResult) -> dict[str, Any]:
    return {
        "model": state.name,
        "folder": str(state.path),
        "network": state.network,
        "board": state.board,
        "batch": state.batch,
        "precision": state.precision,
        "power_mode": state.power_mode or None,
        "latency_ms": _interval(state.latency_s, 1e3),
        "runtime_per_image_ms": _interval(state.runtime_s, 1e3),
        "mean_power_w": _interval(state.power_w, 1.0),
        "energy_per_image_mj": _interval(state.energy_j, 1e3),
    }


def _interval(estimate: Estimate | None, factor: float) -> dict[str, float | None] | None:
    if estimate is None:
        return None
    scaled = estimate.scaled(factor)
    return {"value": scaled.value, "low": scaled.low, "high": scaled.high}


def states_table(states: Sequence[StateResult]) -> Table:
    """One row a state; behind each number half the width of its 90 % interval."""
    table = new_table(
        "States (time of a cycle; time and energy of an image, with what the board draws above idle in pauses; "
        "mean power with idle and pauses; 90 % intervals)",
        ["network", "type", "mode"],
        ["batch", "ms", "ms/image", "W", "mJ/image"],
        optional=[[4], [6]],
    )
    for state in sorted(states, key=_order):
        table.add_row(
            name_cell(state.network),
            printable(state.precision) or NOT_KNOWN,
            printable(state.power_mode) or NOT_KNOWN,
            str(state.batch),
            number(None if state.latency_s is None else state.latency_s.value * 1e3, 3),
            _cell(state.runtime_s, 1e3, 3),
            _cell(state.power_w, 1.0, 3),
            _cell(state.energy_j, 1e3, 2),
        )
    return table


def _order(state: StateResult) -> tuple[str, str, int, str, str, int]:
    """By network, and power modes by their watts where they are called by them."""
    watts = re.match(r"\d+", state.power_mode)
    rank = int(watts[0]) if watts else 10**6
    return state.network, state.board, rank, state.power_mode, state.precision, state.batch


def _cell(estimate: Estimate | None, factor: float, digits: int) -> str:
    if estimate is None:
        return NOT_KNOWN
    value = number(estimate.value * factor, digits)
    if estimate.low is None or estimate.high is None or estimate.value <= 0.0:
        return value
    return f"{value} ±{percent((estimate.high - estimate.low) / 2 / estimate.value)}"


def states_lines(states: Sequence[StateResult], latency_ms: float | None) -> list[Text]:
    """The most efficient state of each network, in words."""
    latency_s = None if latency_ms is None else latency_ms / 1e3
    within = "" if latency_ms is None else f" within {latency_ms:g} ms a cycle"
    lines = []
    for network, best in most_efficient(states, latency_s).items():
        if best is None or best.energy_j is None:
            lines.append(Text(f"{network}: {_none_found(states, network, latency_ms)}"))
            continue
        mode = f", {best.power_mode}" if best.power_mode else ""
        unsure = (
            ""
            if best.energy_j.high is not None
            else "; too few readings for an interval, so that others may be as good"
        )
        others = ", ".join(state.name for state in rivals(best, states, latency_s))
        lines.append(
            Text(
                f"{network}: most efficient{within} is batch {best.batch}, {best.precision}{mode}: "
                f"{best.energy_j.value * 1e3:,.2f} mJ an image ({best.name})"
                + (f"; not told apart from {others}" if others else unsure)
            )
        )
    return lines


def _none_found(states: Sequence[StateResult], network: str, latency_ms: float | None) -> str:
    """Why no state is the most efficient one, with the fastest where none is fast enough."""
    timed = [(state.slowest_s, state.name) for state in states if state.network == network and state.slowest_s]
    if latency_ms is None or not timed:
        return "no recorded state has a known energy"
    fastest_s, name = min(timed)
    if fastest_s * 1e3 <= latency_ms:
        return f"no recorded state within {latency_ms:g} ms a cycle has a known energy"
    return (
        f"no recorded state within {latency_ms:g} ms a cycle; the fastest takes up to {fastest_s * 1e3:.3g} ms ({name})"
    )
