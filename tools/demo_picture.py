"""Draw the demo's result as `docs/images/demo.svg`, the picture of the README.

    python tools/demo_picture.py [docs/images/demo.svg] [--cycles 3000] [--seed 0]

It runs the whole demo on the simulated board and draws the predicted layers of one network that was held out, and the
predictions of all networks that were, beside the truth. The picture names no font of another site: it uses whichever
monospaced font the reader has.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from edgewatt.demo import DemoResult, run_demo
from edgewatt.formats.atomic import write_bytes
from edgewatt.networks.architectures import network_layers
from edgewatt.predictors.prediction import predict
from edgewatt.reports.demo import demo_parts
from edgewatt.reports.predictions import prediction_lines, prediction_table

NETWORK = "resnet18"
WIDTH = 92
_PICTURE = Path(__file__).parents[1] / "docs" / "images" / "demo.svg"

#: Light letters on a dark ground of its own, so that it reads on a light page and on a dark one.
_THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)

#: rich's own layout without the fonts that it would fetch from elsewhere; rich fills in what stands in braces.
_LAYOUT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>The demo of edgewatt: predicted layers, and predicted beside true energy, on a simulated board</title>
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def draw(result: DemoResult) -> str:
    """The demo's result as SVG text."""
    engine = result.folder / "raw_data" / NETWORK / "trt_profiling" / "trt_engine_info.json"
    prediction = predict(network_layers(engine), result.training.predictors)
    *_, comparison, marked = demo_parts(result)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    for part in (prediction_table(NETWORK, prediction), *prediction_lines(prediction), "", comparison, "", marked):
        console.print(part, markup=False)
    svg = console.export_svg(
        title="edgewatt demo", theme=_THEME, code_format=_LAYOUT, font_aspect_ratio=0.61, unique_id="edgewatt-demo"
    )
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


def main() -> None:
    """Run the demo and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path, nargs="?", default=_PICTURE, help="the SVG file to write")
    parser.add_argument("--cycles", type=int, default=3000, help="cycles of each simulated recording")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        result = run_demo(Path(scratch), cycles=arguments.cycles, seed=arguments.seed, progress=lambda _: None)
        write_bytes(arguments.picture, draw(result).encode())


if __name__ == "__main__":
    main()
