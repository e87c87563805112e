"""From the powers of many cycles to one power a layer, with an interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.layer_power import LayerPower

_BLOCKS = 20


def summarise(layers: LayerCycles, power_uw: NDArray[np.float64], idle_power_uw: float) -> list[LayerPower]:
    """Summarise the window method's result, one entry a layer; arguments as for `window_power`'s result."""
    return [
        summarise_layer(name, kind, power_uw[index], layers.latency_ms[index], idle_power_uw / 1e6)
        for index, (name, kind) in enumerate(zip(layers.names, layers.types, strict=True))
    ]


def summarise_layer(
    name: str,
    backend_type: str,
    power_uw: NDArray[np.float64],
    latency_ms: NDArray[np.float64],
    idle_power_w: float | None,
) -> LayerPower:
    """Summarise one layer.

    Args:
        name: The layer's name.
        backend_type: The backend's type of it.
        power_uw: Power with idle in uW in each cycle; NaN for none.
        latency_ms: Latency in ms in each cycle.
        idle_power_w: Idle power in W; None where it is not known.
    """
    values = power_uw[~np.isnan(power_uw)] / 1e6
    runtime_ms = float(latency_ms.mean())
    power = float(values.mean()) if values.size else None
    low, high = mean_interval(values)
    runtime_low_ms, runtime_high_ms = mean_interval(latency_ms)
    return LayerPower(
        layer_name=name,
        layer_type=backend_type,
        runtime_ms=runtime_ms,
        power_w=power,
        power_above_idle_w=None if power is None or idle_power_w is None else power - idle_power_w,
        power_low_w=low,
        power_high_w=high,
        energy_mj=None if power is None else power * runtime_ms,
        samples=int(values.size),
        identifiable=None,
        runtime_low_ms=runtime_low_ms,
        runtime_high_ms=runtime_high_ms,
    )


def mean_interval(values: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """The 90 % interval of a mean, from the means of consecutive blocks.

    A sensor repeats each value many times, so neighbouring values are not independent; means of blocks of
    many cycles are (batch means, e.g. Law, Simulation Modeling and Analysis, section 9.5).

    Args:
        values: Values in order of time.

    Returns:
        The interval's ends; None for fewer than two values.
    """
    if values.size < 2:
        return None, None
    blocks = np.array_split(values, min(_BLOCKS, values.size))
    means = np.array([block.mean() for block in blocks])
    half = float(stdtrit(len(means) - 1, 0.95) * means.std(ddof=1) / np.sqrt(len(means)))
    mean = float(values.mean())
    return mean - half, mean + half
