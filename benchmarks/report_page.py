"""How large the report page is and how fast it opens, in a browser that never saw it. Prints a table.

    python benchmarks/report_page.py                                          the table of docs/reports.md
    python benchmarks/report_page.py --layers 200 --readings 1000000 --opens 1

Needs Chromium. Each opening has a new browser with an empty profile; the browser's own start is not counted. Times are
the page's own clock, which begins with the navigation, and end when a frame with the plots has been painted.
"""

from __future__ import annotations

import argparse
import runpy
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.reports.html import write_report
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import LayerResult, NetworkResult, PowerTrace, Source

_DRIVER = runpy.run_path(str(Path(__file__).parents[1] / "tests" / "reports" / "chromium_driver.py"))

#: Waits until plots are drawn and a frame is painted, and gives the milliseconds since the navigation began.
_WHEN_DRAWN = """new Promise((done) => {
  const plots = [...document.querySelectorAll(".plot")].filter(SCOPE);
  const look = () => plots.every((plot) => plot.querySelector(".main-svg"))
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now())))
    : setTimeout(look, 5);
  look();
})"""
_IN_VIEW = _WHEN_DRAWN.replace("SCOPE", "(plot) => plot.getBoundingClientRect().top < innerHeight")
_ALL = _WHEN_DRAWN.replace("SCOPE", "() => true")
_SCROLL = """(async () => {
  for (const plot of document.querySelectorAll(".plot")) {
    plot.scrollIntoView({ behavior: "instant" });
    await new Promise(requestAnimationFrame);
  }
})()"""
_SORT = """(() => {
  const begin = performance.now();
  const headings = [...document.querySelectorAll("table.sortable thead button")];
  headings.find((heading) => heading.textContent.startsWith("Energy")).click();
  document.body.getBoundingClientRect();
  return performance.now() - begin;
})()"""


def made_result(layers: int, readings: int) -> NetworkResult:
    """A recording of that size: kinds take turns, a cycle takes 5 ms, a reading 0.1 ms."""
    random = np.random.default_rng(0)
    kinds = list(LayerKind)
    found = []
    for i in range(layers):
        name = f"/features/features.{i}/conv/conv.1/Conv + /features/features.{i}/conv/conv.1/Clip"
        kind = kinds[i % len(kinds)]
        power, runtime = 5 + 5 * float(random.random()), 1e-5 + 1e-4 * float(random.random())
        found.append(
            LayerResult(
                name=name,
                kind=kind,
                operation=kind.value,
                runtime_s=Estimate(runtime, 0.99 * runtime, 1.01 * runtime, 19),
                power_w=Estimate(power, 0.9 * power, 1.1 * power),
                power_above_idle_w=Estimate(power - 4),
                energy_j=Estimate(power * runtime, 0.9 * power * runtime, 1.1 * power * runtime),
                energy_above_idle_j=Estimate((power - 4) * runtime),
                layer=Layer(
                    name, kind, kind.value, (1, 64, 56, 56), (1, 64, 56, 56), macs=10**6 + i, input_bytes=10**5
                ),
                identifiable=i % 3 != 0,
            )
        )
    time_s = np.arange(readings) / 1e4
    starts = np.arange(time_s[0], time_s[-1], 5e-3)
    trace = PowerTrace(time_s, 8 + random.normal(0, 1, readings), starts, starts + 4e-3)
    return NetworkResult("net", Source.RECORDING, Path("raw_data/net"), tuple(found), idle_power_w=4.0, trace=trace)


def opened(page: Path) -> dict[str, float]:
    """Open the page in a browser of its own: seconds until its text, the plots in view and all plots are drawn."""
    browser = _DRIVER["find_chromium"]()
    if browser is None:
        raise SystemExit("there is no Chromium on this machine")
    with tempfile.TemporaryDirectory() as profile, _DRIVER["Page"](browser, Path(profile)) as driven:
        driven.open(page)
        in_view = driven.run(_IN_VIEW)
        first: Any = driven.run("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        sort = driven.run(_SORT)
        driven.run("performance.mark('scroll')")
        driven.run(_SCROLL)
        scrolled = driven.run(_ALL) - driven.run("performance.getEntriesByName('scroll')[0].startTime")
        if driven.problems:
            raise SystemExit(f"the page complains: {driven.problems}")
    return {"text": (first or in_view) / 1e3, "in_view": in_view / 1e3, "sort": sort / 1e3, "all": scrolled / 1e3}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Size and opening time of the report page.")
    parser.add_argument("--layers", type=int, nargs="*", default=[20, 200])
    parser.add_argument("--readings", type=int, nargs="*", default=[10_000, 1_000_000])
    parser.add_argument("--opens", type=int, default=5, help="openings of each page")
    options = parser.parse_args()
    table = Table(title=f"Seconds: medians of {options.opens} cold openings, least and most for the plots in view")
    for name in (
        "layers",
        "readings",
        "MB",
        "written",
        "first text",
        "plots in view",
        "least",
        "most",
        "sorted",
        "all plots",
    ):
        table.add_column(name, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        for layers in options.layers:
            for readings in options.readings:
                result, page = made_result(layers, readings), Path(folder) / "report.html"
                begin = time.perf_counter()
                write_report(page, [result])
                written = time.perf_counter() - begin
                times = [opened(page) for _ in range(options.opens)]
                middle = {name: median(one[name] for one in times) for name in times[0]}
                table.add_row(
                    str(layers),
                    f"{readings:,}",
                    f"{page.stat().st_size / 1e6:.2f}",
                    f"{written:.2f}",
                    f"{middle['text']:.2f}",
                    f"{middle['in_view']:.2f}",
                    f"{min(one['in_view'] for one in times):.2f}",
                    f"{max(one['in_view'] for one in times):.2f}",
                    f"{middle['sort']:.3f}",
                    f"{middle['all']:.2f}",
                )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
