"""Layers of networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.reports.tables import kind_cell, name_cell, new_table, number
from edgewatt.wording import counted


def layers_json(layers: Sequence[Layer]) -> dict[str, Any]:
    """A network's layers for machines."""
    return {"layers": [_layer_json(layer) for layer in layers], "totals": totals(layers)}


def totals(layers: Sequence[Layer]) -> dict[str, int]:
    """Sums over a network's layers."""
    return {
        "layers": len(layers),
        "macs": sum(layer.macs for layer in layers),
        "bytes": sum(layer.total_bytes for layer in layers),
        "parameters": sum(layer.parameters for layer in layers),
        **{f"{kind}_layers": sum(layer.kind is kind for layer in layers) for kind in LayerKind},
    }


def layers_table(title: str, layers: Sequence[Layer]) -> Table:
    """A network's layers; shapes without the batch."""
    batch = next((layer.batch_size for layer in layers if layer.input_shape), 1)
    table = new_table(
        f"{title}, batch {batch}",
        ["layer", "kind"],
        ["input", "output", "k", "s", "g", "MMACs", "MB"],
        optional=[[4, 5, 6], [1], [8], [7]],
    )
    for layer in layers:
        windowed = layer.kernel is not None
        table.add_row(
            name_cell(layer.name),
            kind_cell(layer.kind, layer.operation),
            _shape(layer.input_shape[1:]),
            _shape(layer.output_shape[1:]),
            _shape(layer.kernel or ()),
            _shape(layer.stride) if windowed else "",
            str(layer.groups) if layer.kind is LayerKind.CONVOLUTIONAL else "",
            number(layer.macs / 1e6, 1),
            number(layer.total_bytes / 1e6),
        )
    sums = totals(layers)
    table.add_section()
    table.add_row(counted(len(layers), "layer"), *[""] * 6, number(sums["macs"] / 1e6, 1), number(sums["bytes"] / 1e6))
    return table


def architectures_json(networks: Mapping[str, Sequence[Layer]]) -> dict[str, Any]:
    """The shipped architectures for machines."""
    return {"architectures": [{"name": name, **totals(layers)} for name, layers in networks.items()]}


def architectures_table(networks: Mapping[str, Sequence[Layer]]) -> Table:
    """The shipped architectures."""
    table = new_table("Shipped architectures", ["network"], ["layers", "GMACs", "million parameters"])
    for name, layers in networks.items():
        sums = totals(layers)
        table.add_row(name, str(len(layers)), number(sums["macs"] / 1e9, 3), number(sums["parameters"] / 1e6))
    return table


def _layer_json(layer: Layer) -> dict[str, Any]:
    return {
        "name": layer.name,
        "kind": layer.kind.value,
        "operation": layer.operation,
        "input": _image_shape(layer, layer.input_shape),
        "output": _image_shape(layer, layer.output_shape),
        "kernel": None if layer.kernel is None else list(layer.kernel),
        "stride": list(layer.stride),
        "padding": list(layer.padding),
        "groups": layer.groups,
        "dilation": list(layer.dilation),
        "precision": layer.precision,
        "macs": layer.macs,
        "bytes": layer.total_bytes,
        "parameters": layer.parameters,
        "fused": list(layer.fused),
    }


def _image_shape(layer: Layer, shape: Sequence[int]) -> list[int]:
    """A shape as [n, c, h, w]: a matrix product of two dimensions is one over a single point."""
    flat = layer.kind is LayerKind.DENSE and len(shape) == 2
    return [*shape, 1, 1] if flat else list(shape)


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
