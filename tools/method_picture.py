"""Draw docs/images/layer_power.svg: layers' powers by both mapping methods, and the truth, of one simulated recording.

python tools/method_picture.py docs/images/layer_power.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from edgewatt.formats.engine_info import EngineInfo
from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.recording import Recording, RecordingPaths
from edgewatt.mapping.deconvolve import deconvolve
from edgewatt.mapping.summary import summarise
from edgewatt.mapping.window import reading_ranges, window_power
from edgewatt.networks.architectures import network_layers
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.recording import simulate_network
from edgewatt.simulation.settings import REFERENCE

_CYCLES = 10_000
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 880, 340, 50, 40, 40
_MOST_W = 14.0
_TRUTH, _DECONVOLVED, _WINDOW = "#444444", "#0b7a3b", "#c4661f"


def picture() -> str:
    """The picture as SVG."""
    simulated = simulate_network(
        network_layers("resnet18"), ORIN_NANO, REFERENCE.with_cycles(_CYCLES), name="resnet18", seed=0
    )
    latencies = simulated.latencies
    assert latencies.end_us is not None
    cycles = LayerCycles(
        latencies.names, ("",) * len(latencies.names), np.array(latencies.latency_ms), np.array(latencies.end_us)
    )
    paths = RecordingPaths(Path("resnet18"))
    recording = Recording(paths, simulated.power_log, cycles, EngineInfo((), ()), None, None)
    found = deconvolve(recording, simulated.idle_power_w).layers
    ranges = reading_ranges(cycles, simulated.power_log)
    window = summarise(cycles, window_power(ranges, simulated.power_log), simulated.idle_power_w * 1e6)
    return _drawn([float(power) for power in simulated.truth["power_w"]], found, window)


def _y(power_w: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * power_w / _MOST_W


def _drawn(truth: list[float], found: list[LayerPower], window: list[LayerPower]) -> str:
    step = (_WIDTH - _LEFT - 10) / len(truth)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for watts in range(0, int(_MOST_W) + 1, 2):
        parts.append(f'<path d="M{_LEFT} {_y(watts):.1f}H{_WIDTH - 10}" stroke="#dddddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{_y(watts) + 4:.1f}" text-anchor="end">{watts} W</text>')
    for index, (true, one, base) in enumerate(zip(truth, found, window, strict=True)):
        left, middle = _LEFT + index * step, _LEFT + (index + 0.5) * step
        parts.append(f'<path d="M{left + 3:.1f} {_y(true):.1f}h{step - 6:.1f}" stroke="{_TRUTH}" stroke-width="3"/>')
        if base.power_w is not None:
            parts.append(f'<circle cx="{middle + 6:.1f}" cy="{_y(base.power_w):.1f}" r="4" fill="{_WINDOW}"/>')
        if one.power_w is not None and one.power_low_w is not None and one.power_high_w is not None:
            ends = _y(one.power_low_w), _y(one.power_high_w)
            parts.append(
                f'<path d="M{middle - 4:.1f} {ends[0]:.1f}V{ends[1]:.1f}" stroke="{_DECONVOLVED}" stroke-width="2"/>'
            )
            parts.append(f'<circle cx="{middle - 4:.1f}" cy="{_y(one.power_w):.1f}" r="4" fill="{_DECONVOLVED}"/>')
        parts.append(
            f'<text x="{middle:.1f}" y="{_HEIGHT - 22}" text-anchor="middle" fill="{_TRUTH}">{index + 1}</text>'
        )
    legend = (("truth", _TRUTH), ("deconvolve, with 90 % interval", _DECONVOLVED), ("window", _WINDOW))
    for place, (text, colour) in enumerate(legend):
        parts.append(f'<rect x="{_LEFT + place * 230}" y="14" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{_LEFT + place * 230 + 18}" y="24">{text}</text>')
    parts.append(
        f'<text x="{_WIDTH / 2:.0f}" y="{_HEIGHT - 5}" text-anchor="middle">layer of ResNet18 (simulated, {_CYCLES:,} '
        "cycles)</text></svg>"
    )
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), encoding="utf-8")
