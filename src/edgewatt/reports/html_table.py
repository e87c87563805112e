"""Tables of the page: real markup that a script makes sortable and searchable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from edgewatt.errors import printable
from edgewatt.reports.page_parts import KindSum, LayerRow, NetworkPart, OverviewRow, PageData
from edgewatt.reports.tables import percent
from edgewatt.reports.text import NOT_KNOWN, interval, significant
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import LayerResult


def layers_table_html(part: NetworkPart, identifier: str) -> str:
    """A network's layers, with the controls that search and filter them."""
    kinds = dict.fromkeys(row.layer.kind.value for row in part.rows)
    options = "".join(f'<option value="{kind}">{kind}</option>' for kind in kinds)
    count = len(part.rows)
    details = any(row.layer.layer is not None for row in part.rows)
    idle = "idle power included" if part.with_idle else "above idle"
    most = max((row.share or 0.0 for row in part.rows), default=0.0)
    body = "".join(_row(row, part, details, most) for row in part.rows)
    return (
        f'<div class="controls"><label>Find layers <input type="search" data-for="{identifier}-table" '
        f'placeholder="name, operation or remark"></label>'
        f'<label>Kind <select data-for="{identifier}-table"><option value="">all</option>{options}</select></label>'
        f'<span class="count" role="status" data-for="{identifier}-table">{count} of {count} layers</span></div>'
        f'<div class="scroll" role="region" aria-label="Table of layers" tabindex="0">'
        f'<table class="sortable" id="{identifier}-table"><caption>Layers in execution order; power and energy {idle}, '
        f"with 90 % intervals. The headings sort.</caption>{_head(part, details)}<tbody>{body}</tbody></table></div>"
    )


def kinds_table_html(kinds: Sequence[KindSum]) -> str:
    """What the layers of each kind come to; nothing where no kind is given."""
    if not kinds:
        return ""
    head = "".join(
        f'<th scope="col" class="{"text" if name == "Kind" else "number"}">{name}</th>'
        for name in ("Kind", "Layers", "Runtime (ms)", "Energy (mJ)", "Energy")
    )
    body = "".join(
        f'<tr><th scope="row"><span class="kind {row.kind.value}">{row.kind.value}</span></th>'
        f"{_number_cell(row.layers, str(row.layers))}{_estimate_cell(row.runtime_s, 1e3)}"
        f"{_estimate_cell(row.energy_j, 1e3)}{_number_cell(row.share, percent(row.share))}</tr>"
        for row in kinds
    )
    return (
        '<div class="sideways"><table class="plain"><caption class="hidden">Sums by kind of layer</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def overview_table_html(page: PageData) -> str:
    """The networks of a page, side by side."""
    columns = [("Network", "text"), ("Source", "text"), ("Layers", "number"), ("Runtime (ms)", "number")]
    columns += [("Mean power (W)", "number"), ("Energy (mJ)", "number"), ("Environment", "text")]
    totals = page.overview[0].totals
    idle = "idle power included" if totals.with_idle else "above idle"
    body = "".join(_overview_row(row, index) for index, row in enumerate(page.overview, start=1))
    return (
        '<div class="scroll" role="region" aria-label="Table of networks" tabindex="0">'
        f'<table class="sortable" id="overview-table"><caption>Totals are {totals.of}, {idle}.</caption>'
        f"<thead><tr>{''.join(_heading(*column) for column in columns)}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _overview_row(row: OverviewRow, index: int) -> str:
    return (
        f'<tr><th scope="row"><a href="#network-{index}">{escape(row.label)}</a></th><td>{escape(row.source)}</td>'
        f"{_number_cell(row.layers, str(row.layers))}{_estimate_cell(row.totals.runtime_s, 1e3)}"
        f"{_estimate_cell(row.totals.power_w)}{_estimate_cell(row.totals.energy_j, 1e3)}"
        f'<td class="environment">{escape(row.environment)}</td></tr>'
    )


def _head(part: NetworkPart, details: bool) -> str:
    columns = [("#", "number"), ("Layer", "text"), ("Kind", "text")]
    if details:
        columns += [("Shape", "text"), ("MMACs", "number"), ("MB", "number")]
    columns += [("Runtime (ms)", "number"), ("Power (W)", "number"), ("Energy (mJ)", "number"), ("Share", "number")]
    if part.predicted_by is not None:
        columns += [("Predicted (mJ)", "number"), ("Difference", "number")]
    if _remarked(part):
        columns.append(("Remarks", "text"))
    headings = [_heading(name, kind, "ascending" if name == "#" else None) for name, kind in columns]
    return f"<thead><tr>{''.join(headings)}</tr></thead>"


def _remarked(part: NetworkPart) -> bool:
    return any(row.layer.remarks for row in part.rows)


def _heading(name: str, kind: str, sort: str | None = None) -> str:
    sorted_by = f' aria-sort="{sort}"' if sort else ""
    return (
        f'<th scope="col" class="{kind}" data-type="{kind}"{sorted_by}><button type="button">{escape(name)}'
        '<span class="arrow" aria-hidden="true"></span></button></th>'
    )


def _row(row: LayerRow, part: NetworkPart, details: bool, most: float) -> str:
    layer = row.layer
    operation = escape(printable(layer.operation) or layer.kind.value)
    cells = [
        _number_cell(row.number, str(row.number)),
        f'<th scope="row" class="name">{_layer_name(layer.name)}</th>',
        f'<td><span class="kind {layer.kind.value}">{operation}</span></td>',
    ]
    if details:
        cells += _detail_cells(layer)
    cells += [
        _estimate_cell(layer.runtime_s, 1e3),
        _estimate_cell(row.power),
        _estimate_cell(row.energy, 1e3),
        _share_cell(row.share, most),
    ]
    if part.predicted_by is not None:
        cells += _predicted_cells(row, part.with_idle)
    if _remarked(part):
        remarks = "; ".join(map(printable, layer.remarks))
        cells.append(f'<td class="remarks">{escape(remarks)}</td>')
    doubtful = ' class="doubtful"' if layer.identifiable is False else ""
    return f'<tr data-kind="{layer.kind.value}"{doubtful}>{"".join(cells)}</tr>'


def _detail_cells(layer: LayerResult) -> list[str]:
    known = layer.layer
    if known is None:
        return [f"<td>{NOT_KNOWN}</td>", _number_cell(None, NOT_KNOWN), _number_cell(None, NOT_KNOWN)]
    shape = f"{_shape(known.input_shape[1:])} → {_shape(known.output_shape[1:])}"
    return [
        f'<td class="shape">{escape(shape)}</td>',
        _number_cell(known.macs, significant(known.macs / 1e6)),
        _number_cell(known.total_bytes, significant(known.total_bytes / 1e6)),
    ]


def _predicted_cells(row: LayerRow, with_idle: bool) -> list[str]:
    predicted = row.predicted
    energy = None if predicted is None else predicted.energy_j if with_idle else predicted.energy_above_idle_j
    if energy is None or row.energy is None or row.energy.value == 0:
        return [_estimate_cell(energy, 1e3), _number_cell(None, NOT_KNOWN)]
    difference = energy.value / row.energy.value - 1
    return [_estimate_cell(energy, 1e3), _number_cell(difference, f"{difference:+.0%}")]


def _share_cell(share: float | None, most: float) -> str:
    """A share of the energy with a bar behind it, the greatest share's as long as the cell."""
    if share is None or most <= 0:
        return _number_cell(None, NOT_KNOWN)
    width = f"--width:{100 * share / most:.1f}%"
    return f'<td class="number share" data-value="{share:.6g}" style="{width}">{share:.1%}</td>'


def _estimate_cell(estimate: Estimate | None, factor: float = 1.0) -> str:
    if estimate is None:
        return _number_cell(None, NOT_KNOWN)
    spread = interval(estimate, factor)
    shown = f"{significant(estimate.value * factor, 4)}{f'<small>{escape(spread)}</small>' if spread else ''}"
    return f'<td class="number" data-value="{estimate.value:.6g}">{shown}</td>'


def _number_cell(value: float | None, shown: str) -> str:
    """A cell that sorts by its value; one without sorts behind all others."""
    known = "" if value is None else f' data-value="{value:.6g}"'
    return f'<td class="number"{known}>{escape(shown)}</td>'


def _layer_name(name: str) -> str:
    """A layer's name: its first operation, and smaller those that are fused into it."""
    first, *fused = name.split(" + ")
    rest = "".join(f" + {_breakable(part)}" for part in fused)
    return f"{_breakable(first)}<small>{rest}</small>" if rest else _breakable(first)


def _breakable(name: str) -> str:
    """A layer's name that may break before the slashes of its path."""
    return re.sub(r"(?<=[^\s;])/", "<wbr>/", escape(printable(name)))


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "1"
