"""The page's structure: what is in it, escaped, small enough, whatever is missing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import plotly.graph_objects as go
import pytest
from page_results import NASTY, named_layers, page_result, power_trace

from edgewatt.reports.html import report_html, write_report
from edgewatt.reports.page_data import page_data, unique_labels
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import Environment, Finding, LayerResult, NetworkResult, Source, Weight

_VOID = {"meta", "input", "wbr", "br", "img", "link", "hr"}


class Structure(HTMLParser):
    """Collects a page's elements, and fails where they do not nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack[-1] == tag, f"</{tag}> closes <{self.stack[-1]}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append((self.stack[-1] if self.stack else "", data))

    def elements(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def text(self, *tags: str) -> str:
        return "\n".join(data for tag, data in self.texts if tag in tags)


def structure(*results: NetworkResult) -> Structure:
    """The parsed page of these results."""
    parser = Structure()
    parser.feed(report_html(page_data(results)))
    parser.close()
    assert parser.stack == []
    return parser


def figures(page: Structure) -> list[dict[str, object]]:
    """Plots of a page, each checked by plotly's own schema."""
    scripts = iter(data for tag, data in page.texts if tag == "script")
    found = [json.loads(text) for text in scripts if text.startswith('{"data"')]
    for figure in found:
        go.Figure(figure)
    return found


def test_everything_that_is_known_is_on_the_page() -> None:
    page = structure(page_result())
    assert page.elements("html")[0]["lang"] == "en"
    assert any("width=device-width" in (meta.get("content") or "") for meta in page.elements("meta"))
    shown = page.text("span", "h3", "dt", "dd", "li", "p", "th", "td", "caption", "h1", "h2")
    for words in (
        "Energy of its layers",
        "15.0 mJ",
        "± 1.5 mJ",
        "Energy closure +0.5%",
        "It is a hand-made one",
    ):
        assert words in shown
    for words in ("Runtime against operations", "Power during the recording", "Shares by kind", "ina3221", "15W"):
        assert words in shown
    # Timeline, energy, kinds, two rooflines, the trace and its close look.
    assert len(figures(page)) == len([a for a in page.elements("div") if a.get("class") == "plot"]) == 7


def test_the_worst_finding_comes_first() -> None:
    texts = [finding.text for finding in page_data([page_result()]).parts[0].findings]
    assert texts == ["It is a hand-made one", "Energy closure +0.5%"]


def test_the_table_is_one_for_people_who_hear_it() -> None:
    page = structure(page_result())
    tables = page.elements("table")
    assert len(tables) == 2
    assert page.elements("caption")
    headings = [a for a in page.elements("th") if a.get("scope") == "col" and "data-type" in a]
    assert [a.get("aria-sort") for a in headings].count("ascending") == 1
    assert len([a for a in page.elements("th") if a.get("scope") == "row" and a.get("class") == "name"]) == 5
    assert all(a.get("aria-label") for a in page.elements("div") if a.get("role") == "img")
    # Each control stands in its label.
    assert len(page.elements("label")) == len(page.elements("input")) + len(page.elements("select"))


def test_nothing_comes_from_elsewhere() -> None:
    html = report_html(page_data([page_result()]))
    without_plotly = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", without_plotly)
    assert "url(" not in without_plotly
    assert "@import" not in without_plotly
    assert "default-src 'none'" in html


def named_throughout(text: str) -> NetworkResult:
    """A result that has this text wherever a file could have put it."""
    layers = named_layers(text, "b")
    return page_result(
        text,
        layers=tuple(replace(layer, operation=text, remarks=(text,)) for layer in layers),
        environment=Environment(*(f"{text} {i}" for i in range(7))),
        findings=(Finding(Weight.NOTE, text),),
        made={text: text},
        path=Path(text.replace("/", "")),
    )


def test_text_from_files_is_never_markup() -> None:
    page = structure(named_throughout(NASTY), page_result("other"))
    clean = structure(named_throughout("harmless"), page_result("other"))
    # The same elements as on a page of harmless names: nothing of the text became one.
    assert [tag for tag, _ in page.tags if tag != "wbr"] == [tag for tag, _ in clean.tags if tag != "wbr"]
    assert not any("onload" in attributes for _, attributes in page.tags)
    assert "alert(1)" in page.text("h2", "th", "a")
    # Plotly reads a subset of HTML in labels.
    assert "<script" not in json.dumps(figures(page))


def test_two_hundred_layers_and_a_million_readings_stay_under_eight_megabytes(tmp_path: Path) -> None:
    names = [f"/features/features.{i}/conv/conv.1/conv.1.0/Conv + /features/features.{i}/Clip" for i in range(200)]
    result = page_result(layers=named_layers(*names), trace=power_trace(1_000_000, 30_000))
    write_report(tmp_path / "report.html", [result])
    assert (tmp_path / "report.html").stat().st_size < 8e6
    # And the one reading of 99 W is still on it.
    assert '"y":[' in (tmp_path / "report.html").read_text()
    highest = max(
        max(trace["y"])
        for figure in figures(structure(result))
        if "first reading" in json.dumps(figure["layout"])
        for trace in figure["data"]  # type: ignore[attr-defined]
    )
    assert highest == 99.0


def without(layer: LayerResult, *names: str) -> LayerResult:
    """A layer of which these are not known."""
    return replace(layer, **dict.fromkeys(names))


_POWERS = ("power_w", "power_above_idle_w", "energy_j", "energy_above_idle_j")


@pytest.mark.parametrize(
    "changed",
    [
        {"layers": tuple(without(layer, *_POWERS) for layer in named_layers("a", "b"))},
        {"layers": tuple(without(layer, "layer", "identifiable") for layer in named_layers("a", "b"))},
        {"layers": tuple(without(layer, *_POWERS, "runtime_s", "layer") for layer in named_layers("a", "b"))},
        {"layers": named_layers("a", idle=False), "idle_power_w": None},
        {"layers": (replace(named_layers("a")[0], runtime_s=None), *named_layers("b"))},
        {"trace": None, "made": {}, "findings": (), "environment": Environment(), "cycles": None},
        {"runtime_s": None, "run_power_w": None, "run_energy_j": None},
        {"trace": replace(power_trace(100, 4), start_s=power_trace(100, 0).start_s, end_s=power_trace(100, 0).end_s)},
        {"trace": power_trace(2, 1)},
        {"source": Source.PREDICTION, "trace": None},
    ],
)
def test_missing_parts_are_left_out(changed: dict[str, object]) -> None:
    page = structure(page_result(**changed))
    figures(page)
    assert page.elements("table")
    assert "nan" not in page.text("td", "dd", "span").lower().split()


_NOTHING = Estimate(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "changed",
    [
        dict.fromkeys(("power_w", "power_above_idle_w", "energy_j", "energy_above_idle_j"), _NOTHING),
        {"runtime_s": _NOTHING},
        {"energy_j": Estimate(-1e-3, -2e-3, 0.0), "energy_above_idle_j": Estimate(-1e-3, -2e-3, 0.0)},
    ],
    ids=["no energy", "no time", "negative energy"],
)
def test_layers_that_take_nothing_make_no_empty_plots(changed: dict[str, Estimate]) -> None:
    layers = tuple(replace(layer, **changed) for layer in named_layers("a", "b", "c"))
    page = structure(page_result(layers=layers))
    for figure in figures(page):
        values = [v for trace in figure["data"] for axis in "xy" for v in trace.get(axis, [])]  # type: ignore[attr-defined]
        assert any(isinstance(value, float) and value != 0 for value in values)
    shown = page.text("p", "td", "span", "dd")
    assert "0 layers take" not in shown
    assert not {"nan", "inf", "-inf", "nan%"} & set(shown.lower().split())


def test_a_single_layer_is_called_so() -> None:
    page = structure(page_result(layers=named_layers("only")))
    assert "The network's only layer" in page.text("p")
    assert "1 of 1 layers" in page.text("span")
    figures(page)


def test_names_of_any_length_and_script_are_whole_in_the_table_and_short_in_the_plots() -> None:
    names = ("x" * 300, "名前" * 150, f"{NASTY}{'y' * 300}")
    page = structure(page_result("z" * 300, layers=named_layers(*names)))
    table = page.text("th", "small").replace("\n", "")
    for name in names[:2]:
        assert name in table
    labels = [
        v for figure in figures(page) for trace in figure["data"] for v in trace.get("y", []) if isinstance(v, str)
    ]  # type: ignore[attr-defined]
    assert labels
    # Counted before plotly's own escapes.
    assert max(len(unescape(label)) for label in labels) <= 40


def test_only_a_recording_that_hides_layers_speaks_of_hatching() -> None:
    told = tuple(replace(layer, identifiable=True) for layer in named_layers("a", "b"))
    assert "Hatched layers" not in structure(page_result(layers=told)).text("p")
    assert "Hatched layers" in structure(page_result(layers=named_layers("a", "b"))).text("p")


def test_roofs_are_drawn_where_the_board_is_known_and_said_to_be_missing_elsewhere() -> None:
    known = structure(page_result())
    names = [trace.get("name", "") for figure in figures(known) for trace in figure["data"]]  # type: ignore[attr-defined]
    assert "peak of tensor cores in float16, 5,120 GMAC/s" in names
    assert "peak of the memory, 68.0 GB/s" in names
    assert "Solid: the peak of Jetson Orin Nano 8 GB, 15 W" in known.text("p")
    unknown = structure(page_result(environment=Environment("a board")))
    names = [trace.get("name", "") for figure in figures(unknown) for trace in figure["data"]]  # type: ignore[attr-defined]
    assert not any("peak" in name for name in names)
    assert "The board's own peak is not known." in unknown.text("p")


def test_a_roof_is_the_least_runtime_at_the_boards_rate() -> None:
    (figure,) = [f for f in figures(structure(page_result())) if "MACs" in json.dumps(f["layout"])]
    roof = figure["data"][-1]  # type: ignore[index]
    # The first layer has 1000 MACs, the last 5000; 5.12e12 of them fit in a second.
    assert roof["x"] == pytest.approx([1e-3, 5e-3])
    assert roof["y"] == pytest.approx([1e3 / 5.12e12 * 1e3, 5e3 / 5.12e12 * 1e3], rel=1e-5)


def test_no_plot_stands_alone_in_half_of_the_page() -> None:
    bare = tuple(without(layer, *_POWERS) for layer in named_layers("a", "b"))
    for result in (page_result(), page_result(layers=bare, trace=None), page_result(layers=named_layers("a"))):
        alone = 0
        for plot in page_data([result]).parts[0].plots:
            if plot.wide:
                assert alone % 2 == 0
            alone = 0 if plot.wide else alone + 1
        assert alone % 2 == 0


def test_layers_of_the_same_network_stand_beside_each_other() -> None:
    low = page_result("net", environment=Environment("orin-nano", "7W"), layers=named_layers("conv1", "pool1", "fc1"))
    predicted = page_result("net", source=Source.PREDICTION, trace=None)
    plots = page_data([page_result("net"), low, predicted]).overview_plots
    assert [plot.title for plot in plots] == [
        "Energy of a cycle",
        "Runtime of a cycle",
        "Energy by layer, side by side",
    ]
    data = plots[-1].figure["data"]
    # Energies of 5, 4, 3, 2 and 1 mJ, the largest first; the second result has three of the layers.
    assert data[0]["x"] == pytest.approx([5, 4, 3, 2, 1])
    assert data[1]["x"] == pytest.approx([0, 0, 3, 2, 1])
    assert [trace["marker"]["pattern"]["shape"] for trace in data] == ["", "", "/"]
    other = page_result("other", layers=tuple(without(n, "layer") for n in named_layers("p", "q")))
    assert len(page_data([page_result("net"), other]).overview_plots) == 2


def test_several_stand_side_by_side() -> None:
    slow = page_result("net", environment=Environment("orin-nano", "7W"), path=Path("low/net"))
    page = structure(page_result("net"), slow, page_result("other"))
    links = [a["href"] for a in page.elements("a") if (a.get("href") or "").startswith("#network")]
    assert set(links) == {"#network-1", "#network-2", "#network-3"}
    targets = [a.get("id") for a in page.elements("section")]
    assert targets[1:] == ["network-1", "network-2", "network-3"]
    assert "different power mode: 15W, 7W" in page.text("li")
    identifiers = [a["id"] for _, a in page.tags if a.get("id")]
    assert len(identifiers) == len(set(identifiers))


def test_results_of_one_name_are_told_apart() -> None:
    same = [page_result("net"), page_result("net", environment=Environment("orin-nano", "7W", "int8"))]
    assert unique_labels(same) == ["net (15W, float16)", "net (7W, int8)"]
    assert len(set(unique_labels([page_result("net")] * 3))) == 3
    assert unique_labels([page_result("a"), page_result("b")]) == ["a", "b"]


def test_a_prediction_stands_beside_what_was_measured() -> None:
    measured = page_result("net")
    predicted = page_result(
        "net",
        source=Source.PREDICTION,
        trace=None,
        runtime_s=None,
        layers=named_layers("conv1", "pool1", "fc1", "relu1"),
    )
    part = page_data([measured, predicted]).parts[0]
    assert part.predicted_by is not None
    assert [row.predicted is not None for row in part.rows] == [True, True, True, True, False]
    assert [plot.title for plot in part.plots][-2:] == [
        "Energy: measured against predicted",
        "Runtime: measured against predicted",
    ]
    page = structure(measured, predicted)
    assert "Predicted (mJ)" in page.text("button")
    # The overview then compares sums of layers, which both know: 1 + 2 + 3 + 4 (+ 5) mJ.
    rows = page_data([measured, predicted]).overview
    assert [row.totals.energy_j.value for row in rows if row.totals.energy_j] == pytest.approx([15e-3, 10e-3])


def test_a_prediction_of_another_network_does_not() -> None:
    other = page_result(
        "x", source=Source.PREDICTION, layers=tuple(without(n, "layer") for n in named_layers("p", "q"))
    )
    assert page_data([page_result("net"), other]).parts[0].predicted_by is None


def test_a_prediction_without_idle_is_compared_above_idle() -> None:
    names = ("conv1", "pool1", "fc1", "relu1", "conv2")
    bare = page_result("net", source=Source.PREDICTION, layers=named_layers(*names, idle=False), idle_power_w=None)
    part = page_data([page_result("net"), bare]).parts[0]
    assert not part.with_idle
    assert part.rows[1].energy is not None
    assert part.rows[1].energy.value == pytest.approx(0.6 * 2e-3)
