"""The page in headless Chromium: it opens without a complaint, draws, sorts and filters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium_driver import Page, find_chromium
from page_results import NASTY, named_layers, page_result, power_trace

from edgewatt.reports.html import write_report
from edgewatt.results.network_result import Source

pytestmark = pytest.mark.xdist_group("browser")

_DRAWN = "[...document.querySelectorAll('.plot')].every(p => p.querySelector('.main-svg'))"
_SCROLL = """(async () => {
  for (const plot of document.querySelectorAll('.plot')) {
    plot.scrollIntoView({behavior: 'instant'});
    await new Promise(done => setTimeout(done, 30));
  }
})()"""
_NAMES = "[...document.querySelectorAll('#network-1-table tbody tr:not([hidden]) .name')].map(n => n.textContent)"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    names = ("conv1", "pool1", "fc1", "relu1", f"conv2{NASTY}")
    predicted = page_result("net", source=Source.PREDICTION, layers=named_layers(*names), trace=None)
    write_report(path, [page_result("net", layers=named_layers(*names)), predicted])
    return path


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = find_chromium()
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    with Page(path, tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def browser(chromium: Page) -> Page:
    chromium.renew()
    return chromium


def test_it_opens_draws_sorts_and_filters(browser: Page, report: Path) -> None:
    browser.open(report)
    browser.run(_SCROLL)
    browser.wait_for(_DRAWN)
    assert browser.run("document.querySelectorAll('#network-1-plot-0 .bars .point').length") == 5
    # Sorted by energy, the greatest first, and back; from the keyboard.
    buttons = "[...document.querySelectorAll('#network-1-table thead button')]"
    browser.run(f"{buttons}.find(b => b.textContent.startsWith('Energy')).focus()")
    browser.press("Enter")
    assert [name[:5] for name in browser.run(_NAMES)] == ["conv2", "relu1", "fc1", "pool1", "conv1"]
    sorts = f"{buttons}.map(b => b.parentElement.getAttribute('aria-sort')).filter(Boolean)"
    assert browser.run(sorts) == ["descending"]
    browser.press("Enter")
    assert [name[:5] for name in browser.run(_NAMES)] == ["conv1", "pool1", "fc1", "relu1", "conv2"]
    assert browser.run(sorts) == ["ascending"]
    # Found by text, then by kind, and all again.
    browser.run("document.querySelector('#network-1 input[type=search]').focus()")
    browser.type("conv")
    assert [name[:5] for name in browser.run(_NAMES)] == ["conv1", "relu1", "conv2"]  # relu1 is of that kind
    assert browser.run("document.querySelector('#network-1 .count').textContent") == "3 of 5 layers"
    choose = "(s => { s.value = 'pooling'; s.dispatchEvent(new Event('input')); })"
    browser.run(f"{choose}(document.querySelector('#network-1 select'))")
    kinds = "[...document.querySelectorAll('#network-1-table tbody tr:not([hidden])')].map(r => r.dataset.kind)"
    assert browser.run(kinds) == ["pooling", "pooling"]
    assert browser.problems == []
    assert all(address.startswith(("file:", "data:", "blob:")) for address in browser.requests)
    assert (
        browser.run("document.querySelectorAll('script').length")
        == browser.run("document.querySelectorAll('.plot').length") + 2
    )


def test_it_follows_the_system_to_the_dark_and_the_switch_back(browser: Page, report: Path) -> None:
    browser.prefer(dark=True)
    browser.open(report)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = browser.run(ground)
    browser.wait_for("document.querySelector('.plot .main-svg')")
    ink = "getComputedStyle(document.querySelector('.plot .xtick text')).fill"
    pale = browser.run(ink)
    browser.run("document.getElementById('theme').click()")
    assert sum(_channels(browser.run(ground))) > sum(_channels(dark)) + 400
    assert sum(_channels(browser.run(ink))) < sum(_channels(pale)) - 300
    assert browser.run("document.getElementById('theme').getAttribute('aria-label')") == "Switch to dark colours"
    assert browser.problems == []


def test_a_phone_shows_it_without_scrolling_sideways(browser: Page, report: Path) -> None:
    browser.resize(390, 844)
    browser.open(report)
    browser.run(_SCROLL)
    browser.wait_for(_DRAWN)
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.run(fits)
    browser.resize(360, 640)
    browser.wait_for(fits)
    assert browser.problems == []


def test_text_stands_out_from_its_ground(browser: Page, report: Path) -> None:
    """4.5 to 1 for text, as WCAG 2.1 asks for (success criterion 1.4.3)."""
    browser.open(report)
    texts = "h1, figcaption p, .spread, .badge, .weight, td small, a, .count, .brand, dt"
    grounds = []
    for dark in (False, True):
        browser.prefer(dark=dark)
        ground = browser.run("getComputedStyle(document.querySelector('.panel')).backgroundColor")
        grounds.append(ground)
        colours = browser.run(
            f"[...document.querySelectorAll('{texts}')].map(e => [e.className || e.tagName, getComputedStyle(e).color])"
        )
        assert len(colours) > 20
        for name, text in colours:
            assert _contrast(_channels(text), _channels(ground)) >= 4.5, (name, dark)
    assert grounds[0] != grounds[1]


def test_a_large_page_opens_and_draws(browser: Page, tmp_path: Path) -> None:
    names = [f"/features/features.{i}/conv/conv.1/Conv" for i in range(200)]
    result = page_result(layers=named_layers(*names), trace=power_trace(1_000_000, 30_000))
    write_report(tmp_path / "large.html", [result])
    browser.open(tmp_path / "large.html")
    browser.wait_for("document.querySelector('.plot .main-svg')")
    browser.run(_SCROLL)
    browser.wait_for(_DRAWN)
    assert browser.problems == []


def test_printing_draws_every_plot_in_light_colours_and_opens_what_is_folded(browser: Page, report: Path) -> None:
    browser.prefer(dark=True)
    browser.open(report)
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(_DRAWN)
    assert browser.run("[...document.querySelectorAll('details')].every(d => d.open)")
    assert min(_channels(browser.run("getComputedStyle(document.body).backgroundColor"))) > 200
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("[...document.querySelectorAll('details')].every(d => !d.open)")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == ground
    assert browser.problems == []


def _channels(colour: str) -> list[float]:
    return [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]


def _contrast(first: list[float], second: list[float]) -> float:
    def luminance(channels: list[float]) -> float:
        linear = [c / 12.92 if (c := v / 255) <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for v in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
