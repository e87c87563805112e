"""Results to make pages of, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import (
    Environment,
    Finding,
    LayerResult,
    NetworkResult,
    PowerTrace,
    Source,
    Weight,
)

#: What a careless page would take for markup, for the end of its script, or for its template's words.
NASTY = "</script><script>alert(1)</script> & <b onload='x'>\"q\" $title ${css} <!-- %{x} \u2028 é 層"


def named_layers(*names: str, idle: bool = True) -> tuple[LayerResult, ...]:
    """Layers of these names: the i-th takes i tenths of a ms and i mJ, kinds take turns."""
    kinds = list(LayerKind)
    found = []
    for i, name in enumerate(names, start=1):
        kind = kinds[i % len(kinds)]
        energy = Estimate(i / 1e3, 0.9 * i / 1e3, 1.1 * i / 1e3)
        found.append(
            LayerResult(
                name=name,
                kind=kind,
                operation=kind.value,
                runtime_s=Estimate(i / 1e4, 0.99 * i / 1e4, 1.01 * i / 1e4, 19),
                power_w=Estimate(10.0, 9.0, 11.0) if idle else None,
                power_above_idle_w=Estimate(6.0, 5.0, 7.0),
                energy_j=energy if idle else None,
                energy_above_idle_j=energy.scaled(0.6),
                layer=Layer(name, kind, kind.value, (1, i, 8, 8), (1, i, 8, 8), macs=1000 * i, input_bytes=500 * i),
                identifiable=i % 2 == 0,
            )
        )
    return tuple(found)


def power_trace(readings: int, cycles: int) -> PowerTrace:
    """Readings every 0.1 ms that jump about, with one peak of 99 W; cycles of 5 ms fill the middle."""
    time_s = np.arange(readings) / 1e4
    power_w = 8 + np.random.default_rng(0).normal(0, 1, readings)
    power_w[readings // 3] = 99.0
    start_s = time_s[-1] * 0.1 + np.linspace(0, time_s[-1] * 0.8, cycles, endpoint=False)
    return PowerTrace(time_s, power_w, start_s, start_s + 0.64 * time_s[-1] / max(1, cycles))


def page_result(name: str = "net", **changed: Any) -> NetworkResult:
    """A recording with all that a page can show; keywords replace its parts."""
    known: dict[str, Any] = {
        "name": name,
        "source": Source.RECORDING,
        "path": Path("raw") / name,
        "layers": named_layers("conv1", "pool1", "fc1", "relu1", "conv2"),
        "idle_power_w": 4.0,
        "runtime_s": Estimate(1.6e-3, 1.5e-3, 1.7e-3, 19),
        "run_power_w": Estimate(9.0, 8.9, 9.1, 19),
        "run_energy_j": Estimate(16e-3, 15e-3, 17e-3, 19),
        "cycles": 100,
        "environment": Environment("orin-nano", "15W", "float16", "1", "tensorrt", "deconvolve", "locked"),
        "findings": (Finding(Weight.GOOD, "Energy closure +0.5%"), Finding(Weight.BAD, "It is a hand-made one")),
        "made": {"Board": "orin-nano", "Sensor: name": "ina3221"},
        "trace": power_trace(5000, 60),
    }
    return NetworkResult(**{**known, **changed})
