"""The page: one HTML file that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

import orjson

from edgewatt.formats.atomic import write_bytes
from edgewatt.reports.html_table import kinds_table_html, layers_table_html, overview_table_html
from edgewatt.reports.page_data import page_data
from edgewatt.reports.page_parts import Headline, NetworkPart, PageData, Plot
from edgewatt.results.network_result import Finding, NetworkResult, Weight

_WEIGHT_WORDS = {
    Weight.GOOD: "Good",
    Weight.NOTE: "Note",
    Weight.CAUTION: "Caution",
    Weight.BAD: "Problem",
}

#: plotly.js 4.1.1 with its basic kinds of plot alone, as its makers ship it (plotly.js-basic-dist-min, MIT): a quarter
#: of the whole, parsed in a fraction of the time.
PLOTLY = "plotly/plotly-basic.min.js"


def write_report(path: Path, results: Sequence[NetworkResult]) -> None:
    """Write the page of results, whole or not at all.

    Args:
        path: The HTML file.
        results: At least one.
    """
    write_bytes(path, report_html(page_data(results)).encode("utf-8", "replace"))


def report_html(page: PageData) -> str:
    """The page as HTML: its plots are drawn by plotly.js, which it holds; all else is there without a script."""
    return _template("page.html").substitute(
        title=escape(page.title),
        css=_text("templates/page.css"),
        javascript=_text("templates/page.js"),
        plotly=_text(PLOTLY),
        navigation=_navigation(page),
        overview=_overview(page),
        parts="\n".join(_part(part, index, len(page.parts) > 1) for index, part in enumerate(page.parts, start=1)),
        made_by=escape(page.made_by),
    )


def _navigation(page: PageData) -> str:
    if len(page.parts) == 1:
        return ""
    links = [f'<li><a href="#network-{i}">{escape(part.label)}</a></li>' for i, part in enumerate(page.parts, start=1)]
    return f'<nav aria-label="Networks"><ul>{"".join(links)}</ul></nav>'


def _overview(page: PageData) -> str:
    if not page.overview:
        return ""
    differences = "".join(f"<li>{escape(text)}</li>" for text in page.differences)
    warning = (
        f'<div class="panel"><p>The environments differ, so compare with care:</p><ul>{differences}</ul></div>'
        if differences
        else ""
    )
    plots = _plots(page.overview_plots, "overview")
    content = f"{warning}{plots}{overview_table_html(page)}"
    return f'<section aria-labelledby="overview"><h2 id="overview">Overview</h2>{content}</section>'


def _part(part: NetworkPart, index: int, several: bool) -> str:
    badges = "".join(f'<li class="badge">{escape(badge)}</li>' for badge in part.badges)
    made = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in part.result.made.items())
    return _template("part.html").substitute(
        id=f"network-{index}",
        # One network's name is in the page's title already.
        title=escape(part.label) if several else "Summary",
        badges=badges,
        headlines="".join(map(_headline, part.headlines)),
        findings="".join(map(_finding, part.findings)) or "<li>Nothing is known of how far to trust it.</li>",
        plots=_plots(part.plots, f"network-{index}"),
        table=layers_table_html(part, f"network-{index}"),
        made=f'<dl class="made">{made}</dl>' if made else "<p>Nothing is known of how it was made.</p>",
        path=escape(part.result.path.name),
    )


def _headline(headline: Headline) -> str:
    return (
        f'<div class="headline"><dt>{escape(headline.name)}</dt><dd><span class="value">{escape(headline.value)}</span>'
        f'<span class="spread">{escape(headline.spread)}</span></dd></div>'
    )


def _finding(finding: Finding) -> str:
    return (
        f'<li class="finding {finding.weight.value}"><span class="weight">{_WEIGHT_WORDS[finding.weight]}</span> '
        f"<span>{escape(finding.text)}</span></li>"
    )


def _plots(plots: Sequence[Plot], prefix: str) -> str:
    if not plots:
        return ""
    return f'<div class="plots">{"".join(_plot(plot, f"{prefix}-plot-{i}") for i, plot in enumerate(plots))}</div>'


def _plot(plot: Plot, identifier: str) -> str:
    return (
        f'<figure class="panel{" wide" if plot.wide else ""}"><figcaption><h3>{escape(plot.title)}</h3>'
        f"<p>{escape(plot.caption)}</p></figcaption>"
        f'<div class="plot" id="{identifier}" role="img" aria-label="{escape(f"{plot.title}. {plot.caption}")}" '
        f'style="min-height:{plot.figure["layout"]["height"]}px"></div>'
        f'<script type="application/json" id="{identifier}-data">{json_in_html(plot.figure)}</script>'
        f"{kinds_table_html(plot.kinds)}</figure>"
    )


def json_in_html(value: object) -> str:
    """JSON that no HTML parser takes for markup, whatever names are in it."""
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _template(name: str) -> Template:
    return Template(_text(f"templates/{name}"))


def _text(name: str) -> str:
    return resources.files("edgewatt.reports").joinpath(name).read_text(encoding="utf-8")
