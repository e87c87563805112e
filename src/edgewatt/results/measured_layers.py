"""Measured layers as results: their powers and runtimes beside what the engine knows of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path

from edgewatt.dataset.features import table_kind
from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.engine_info import read_engine_info
from edgewatt.formats.layer_power import LayerPower
from edgewatt.networks.engine import layers_from_engine
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.results.estimate import Estimate, product
from edgewatt.results.network_result import Finding, LayerResult, Weight

#: Blocks whose scatter the intervals of runtimes, and of the window method's powers, are from.
_BLOCKS = 20
_FEW_SAMPLES = 10


def engine_layers(path: Path) -> dict[str, Layer]:
    """What an engine knows of its layers, by name; nothing, with a warning, where its file does not tell.

    Args:
        path: The engine inspector's JSON, which may be missing.
    """
    if not path.exists():
        warn("there is no description of the engine, so layers have no kind, shapes or MACs", where=path)
        return {}
    try:
        return {layer.name: layer for layer in layers_from_engine(read_engine_info(path).layers, str(path))}
    except EdgewattError as error:
        warn(f"layers have no kind, shapes or MACs: {error}")
        return {}


def measured_layer(
    power: LayerPower, layer: Layer | None, idle_power_w: float | None, runtime_s: Estimate | None, method: str
) -> LayerResult:
    """One measured layer.

    Args:
        power: Its row of `layer_power.csv`.
        layer: What the engine knows of it.
        idle_power_w: Idle power; None where it is not known.
        runtime_s: Its runtime, where a file has every cycle of it; None takes the row's.
        method: The mapping method: the window method's interval is of the means of blocks.
    """
    runtime = runtime_s or _row_runtime(power)
    degrees = max(1, min(_BLOCKS, power.samples) - 1) if method == "window" else inf
    power_w = above = None
    if power.power_w is not None:
        power_w = Estimate(power.power_w, power.power_low_w, power.power_high_w, degrees)
    if power_w is not None and idle_power_w is not None:
        above = power_w.shifted(-idle_power_w)
    kind, operation = kind_and_operation(layer, power.layer_type)
    return LayerResult(
        name=power.layer_name,
        kind=kind,
        operation=operation,
        runtime_s=runtime,
        power_w=power_w,
        power_above_idle_w=above,
        energy_j=product(power_w, runtime),
        energy_above_idle_j=product(above, runtime),
        layer=layer,
        samples=power.samples,
        identifiable=power.identifiable,
        remarks=_remarks(power),
    )


def timed_layer(name: str, backend_type: str, layer: Layer | None, runtime_s: Estimate | None) -> LayerResult:
    """A layer of a recording without power."""
    kind, operation = kind_and_operation(layer, backend_type)
    return LayerResult(name=name, kind=kind, operation=operation, runtime_s=runtime_s, layer=layer)


def kind_and_operation(layer: Layer | None, backend_type: str) -> tuple[LayerKind, str]:
    """The kind whose table a layer belongs to, and what it does."""
    if layer is None:
        return LayerKind.OTHER, backend_type.lower()
    return table_kind(layer) or LayerKind.OTHER, layer.operation


def layer_findings(layers: Sequence[LayerResult], method: str) -> list[Finding]:
    """What the layers' powers tell of how far to trust them."""
    executed = [layer for layer in layers if layer.runtime_s is not None and layer.runtime_s.value > 0]
    found = []
    without = sum(layer.power_w is None for layer in executed)
    if without:
        found.append(Finding(Weight.CAUTION, f"{without} of {len(executed)} layers have no power: no reading told it"))
    hidden = sum(layer.identifiable is False for layer in executed)
    if hidden:
        found.append(
            Finding(
                Weight.CAUTION if hidden * 2 <= len(executed) else Weight.BAD,
                f"{hidden} of {len(executed)} layers cannot be told from their neighbours; they are marked",
            )
        )
    elif executed and all(layer.identifiable for layer in executed):
        found.append(Finding(Weight.GOOD, f"All {len(executed)} layers are told apart by the recording"))
    if method == "window":
        found.append(
            Finding(
                Weight.CAUTION,
                "The window method cannot say which layers it tells apart: a sensor's reading is older and wider than "
                "most layers. Its intervals hold the scatter of the readings, not this bias",
            )
        )
    few = sum(layer.power_w is not None and (layer.samples or 0) < _FEW_SAMPLES for layer in executed)
    if few:
        found.append(
            Finding(
                Weight.CAUTION,
                f"{few} {'layer has' if few == 1 else 'layers have'} fewer than {_FEW_SAMPLES} power values",
            )
        )
    return found


def _row_runtime(power: LayerPower) -> Estimate:
    # A row does not tell the number of cycles: as if they fill all blocks.
    low, high = power.runtime_low_ms, power.runtime_high_ms
    return Estimate(power.runtime_ms, low, high, _BLOCKS - 1).scaled(1e-3)


def _remarks(power: LayerPower) -> tuple[str, ...]:
    remarks = []
    if power.identifiable is False:
        remarks.append("not told apart from its neighbours")
    if power.power_w is None:
        remarks.append("no power")
    elif power.samples < _FEW_SAMPLES:
        remarks.append(f"{power.samples} power values")
    return tuple(remarks)
