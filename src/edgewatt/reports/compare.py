"""What changed between two results, for people and for machines."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from edgewatt.comparison.change import Change
from edgewatt.comparison.compare import Comparison, LayerChange
from edgewatt.reports.cells import LayerName
from edgewatt.reports.tables import NOT_KNOWN, kind_cell, new_table
from edgewatt.reports.text import significant
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import NetworkResult
from edgewatt.wording import counted

#: What stands behind a change in the terminal.
_BEYOND, _WITHIN, _UNKNOWN = "*", "", "?"


def comparison_table(found: Comparison) -> Table:
    """What changed, the layers whose energy changed most first, then the totals."""
    idle = "with idle" if found.with_idle else "above idle"
    table = new_table(
        f"{found.before.name} → {found.after.name}: after, and change from before (power and energy {idle}; "
        "* beyond the noise, ? noise not known)",
        ["layer", "kind"],
        ["ms", "change", "W", "change", "mJ", "change"],
        optional=[[4, 5], [1], [2, 3]],
    )
    for layer in sorted(found.layers, key=_size, reverse=True):
        table.add_row(
            LayerName(layer.name, "~ " if layer.renamed else ""),
            kind_cell(layer.kind, (layer.after or layer.before or found.after.layers[0]).operation),
            *_cells(layer.runtime_s, 1e3, layer),
            *_cells(layer.power_w, 1.0, layer),
            *_cells(layer.energy_j, 1e3, layer),
        )
    table.add_section()
    table.add_row(
        found.totals_of.split(",")[0],
        "",
        *_cells(found.runtime_s, 1e3),
        *_cells(found.power_w, 1.0),
        *_cells(found.energy_j, 1e3),
    )
    return table


def comparison_lines(found: Comparison) -> list[Text]:
    """The outcome in words: the energy, how many layers changed, and why to doubt it."""
    changed = sum(layer.beyond_noise for layer in found.layers)
    lines = [
        Text(_sentence(found.energy_j, "Energy", "mJ", 1e3)),
        Text(_sentence(found.runtime_s, "Runtime", "ms", 1e3)),
    ]
    lines.append(Text(f"{changed} of {counted(len(found.layers), 'layer')} changed beyond the noise"))
    if any(layer.renamed for layer in found.layers):
        lines.append(Text("~ matched by order and shape, for its name changed"))
    return lines + [Text(f"take care: {doubt}") for doubt in found.doubts]


def comparison_json(found: Comparison) -> dict[str, Any]:
    """A comparison for machines."""
    return {
        "before": _result_json(found.before),
        "after": _result_json(found.after),
        "with_idle": found.with_idle,
        "totals_of": found.totals_of,
        "totals": {
            "runtime_ms": _change_json(found.runtime_s, 1e3),
            "power_w": _change_json(found.power_w, 1.0),
            "energy_mj": _change_json(found.energy_j, 1e3),
        },
        "layers": [
            {
                "layer_name": layer.name,
                "layer_type": layer.kind.value,
                "before": None if layer.before is None else layer.before.name,
                "after": None if layer.after is None else layer.after.name,
                "runtime_ms": _change_json(layer.runtime_s, 1e3),
                "power_w": _change_json(layer.power_w, 1.0),
                "energy_mj": _change_json(layer.energy_j, 1e3),
            }
            for layer in found.layers
        ],
        "doubts": list(found.doubts),
    }


def _size(layer: LayerChange) -> float:
    """By how much a layer's energy changed; that of a layer that is new or gone is all change."""
    energy = layer.energy_j
    if energy.difference is not None:
        return abs(energy.difference)
    only = energy.after or energy.before
    return 0.0 if only is None else abs(only.value)


def _cells(change: Change, factor: float, layer: LayerChange | None = None) -> tuple[str, str]:
    if layer is not None and (layer.before is None or layer.after is None):
        known = change.after or change.before
        value = NOT_KNOWN if known is None else significant(known.value * factor)
        return value, "new" if layer.before is None else "gone"
    value = NOT_KNOWN if change.after is None else significant(change.after.value * factor)
    if change.relative is None:
        return value, NOT_KNOWN
    mark = _UNKNOWN if change.beyond_noise is None else _BEYOND if change.beyond_noise else _WITHIN
    return value, f"{100 * change.relative:+.1f}%{mark or ' '}"


def _sentence(change: Change, name: str, unit: str, factor: float) -> str:
    if change.before is None or change.after is None:
        return f"{name}: not known of both"
    relative = "" if change.relative is None else f", {change.relative:+.2%}"
    words = {None: "how much of that is noise is not known", True: "beyond the noise", False: "within the noise"}
    values = f"{significant(change.before.value * factor, 4)} to {significant(change.after.value * factor, 4)} {unit}"
    return f"{name}: {values}{relative}: {words[change.beyond_noise]}"


def _change_json(change: Change, factor: float) -> dict[str, Any]:
    interval = change.interval
    return {
        "before": _estimate_json(change.before, factor),
        "after": _estimate_json(change.after, factor),
        "difference": None if change.difference is None else change.difference * factor,
        "difference_interval": None if interval is None else [end * factor for end in interval],
        "relative": change.relative,
        "p_value": change.p_value,
        "beyond_noise": change.beyond_noise,
    }


def _estimate_json(estimate: Estimate | None, factor: float) -> dict[str, Any] | None:
    if estimate is None:
        return None
    ends = None if estimate.low is None or estimate.high is None else [estimate.low * factor, estimate.high * factor]
    return {"value": estimate.value * factor, "interval": ends}


def _result_json(result: NetworkResult) -> dict[str, Any]:
    return {"name": result.name, "source": result.source.value, "path": str(result.path)}
