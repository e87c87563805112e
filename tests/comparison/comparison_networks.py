"""Networks to compare, made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import Environment, LayerResult, NetworkResult, Source


def layer_result(
    name: str, energy_mj: float = 1.0, noise: float = 0.01, channels: int = 8, shape: bool = True
) -> LayerResult:
    """A convolution of 0.1 ms with a given energy; `noise` is half of its interval's width as a share of it."""
    details = Layer(name, LayerKind.CONVOLUTIONAL, "convolution", (1, channels, 8, 8), (1, channels, 8, 8), (3, 3))

    def estimate(value: float) -> Estimate:
        return Estimate(value, value * (1 - noise), value * (1 + noise))

    return LayerResult(
        name=name,
        kind=LayerKind.CONVOLUTIONAL,
        operation="convolution",
        runtime_s=estimate(1e-4),
        power_w=estimate(energy_mj * 10 + 4),
        power_above_idle_w=estimate(energy_mj * 10),
        energy_j=estimate(energy_mj / 1e3 + 4e-4),
        energy_above_idle_j=estimate(energy_mj / 1e3),
        layer=details if shape else None,
    )


def network_result(*layers: LayerResult, source: Source = Source.MAPPED, **environment: Any) -> NetworkResult:
    """A network of these layers."""
    known = Environment(**{"board": "orin-nano", "precision": "float16", "method": "window", **environment})
    return NetworkResult("net", source, Path("net"), layers, idle_power_w=4.0, environment=known)
