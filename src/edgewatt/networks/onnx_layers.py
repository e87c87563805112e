"""ONNX networks as the layers that TensorRT would run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from onnx import ModelProto, TensorProto

from edgewatt.networks.concatenation import copied_parts
from edgewatt.networks.element_types import (
    ELEMENT_BITS,
    bias_type,
    check_compute_type,
    elements_bytes,
    tensor_bytes,
)
from edgewatt.networks.fusion import PRODUCTS, Group, fuse
from edgewatt.networks.layer import (
    Layer,
    LayerKind,
    check_sizes,
    unique_names,
)
from edgewatt.networks.onnx_free import free_sources
from edgewatt.networks.onnx_graph import Node, OnnxGraph, read_graph
from edgewatt.networks.onnx_windows import convolution_window, pooling_window
from edgewatt.networks.windows import Shape, convolution_fields, image_shape

_INTEGERS = {
    TensorProto.UINT8: "uint8",
    TensorProto.INT8: "int8",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.BOOL: "bool",
}
_POOLINGS = {
    "MaxPool": "max",
    "GlobalMaxPool": "max",
    "ReduceMax": "max",
    "AveragePool": "average",
    "GlobalAveragePool": "average",
    "ReduceMean": "average",
}
# TensorRT's words for what has none of the three kinds; others keep ONNX's in lower case.
_OPERATIONS = {
    "BatchNormalization": "scale",
    "InstanceNormalization": "normalization",
    "GroupNormalization": "normalization",
    "LayerNormalization": "normalization",
    "Transpose": "shuffle",
    "DepthToSpace": "shuffle",
    "SpaceToDepth": "shuffle",
    "Split": "slice",
    "Pad": "slice",
    "Upsample": "resize",
}


def layers_from_onnx(
    source: str | Path | ModelProto, *, batch: int | None = None, precision: str = "float16"
) -> list[Layer]:
    """The layers that TensorRT would run for an ONNX network, in execution order.

    Layers that only change the memory format are not among them: where TensorRT puts them depends on the
    kernels that it picks. Weights need no data.

    Args:
        source: A file, or a model in memory (it is not changed).
        batch: Inputs at once; None keeps the file's batch.
        precision: The type to compute in, one of `COMPUTE_TYPES`; layers between a file's quantising operations
            compute in int8 whatever this says.

    Raises:
        EdgewattError: `batch` or `precision` is not possible.
        FormatError: The file is missing, empty or no ONNX model, its batch is free and none was given, or its
            shapes cannot be inferred.
    """
    check_compute_type(precision)
    graph = read_graph(source, batch)
    converter = _Converter(graph, precision)
    layers = [converter.layer(group) for group in fuse(graph, wide=ELEMENT_BITS[precision] > 16)]
    names = unique_names([layer["name"] for layer in layers])
    found = [Layer(**{**layer, "name": name}) for layer, name in zip(layers, names, strict=True)]
    check_sizes(found, "the model" if isinstance(source, ModelProto) else str(source))
    return found


class _Converter:
    """Turns groups of operations into the fields of layers."""

    def __init__(self, graph: OnnxGraph, precision: str) -> None:
        self._graph = graph
        self._precision = precision
        self._dequantised = {n.outputs[0] for n in graph.nodes if n.op == "DequantizeLinear"}
        readers: dict[str, set[str]] = {}
        for node in graph.nodes:
            for name in node.inputs:
                readers.setdefault(name, set()).add(node.op)
        self._sources, self._copied = free_sources(graph), copied_parts(graph)
        self._quantised = {name for name, ops in readers.items() if ops == {"QuantizeLinear"}} - graph.outputs

    def layer(self, group: Group) -> dict[str, Any]:
        """The fields of one layer."""
        members = [self._single(member) for member in (group, *group.parallel)]
        return members[0] if len(members) == 1 else _together(members)

    def _single(self, group: Group) -> dict[str, Any]:
        fields = self._common(group)
        if group.is_convolution:
            return fields | self._convolution(group)
        if group.main.op in PRODUCTS:
            return fields | self._product(group)
        window = pooling_window(group.main, self._graph) if group.main.op in _POOLINGS else None
        if window is None:
            return fields | self._other(group)
        return fields | {
            "kind": LayerKind.POOLING,
            "operation": _POOLINGS[group.main.op],
            "input_shape": image_shape(fields["input_shape"]),
            "output_shape": image_shape(_with_rank(fields["output_shape"], len(fields["input_shape"]))),
            **window.layer_fields(),
        }

    def _common(self, group: Group) -> dict[str, Any]:
        inputs = self._inputs(group)
        further = [name for name in group.main.outputs[1:] if name]
        # A concatenation is made once, for the first layer that reads it.
        copies = [part for name in inputs for part in self._copied.pop(self._sources.get(name, name), ())]
        return {
            "name": " + ".join(node.name for node in group.nodes),
            "input_shape": self._graph.shape(inputs[0]) if inputs else (),
            "output_shape": self._graph.shape(group.output),
            "precision": self._compute_type(group.main),
            "input_bytes": self._bytes(inputs),
            "output_bytes": self._bytes([group.output, *further]),
            "fused": tuple(node.name for node in group.nodes),
            "backend_type": group.main.op,
            "copies": len(copies),
            "copied_bytes": self._bytes(copies),
        }

    def _compute_type(self, node: Node) -> str:
        return "int8" if node.input(0) in self._dequantised else self._precision

    def _element_type(self, name: str) -> str:
        if name in self._dequantised or name in self._quantised:
            return "int8"
        return _INTEGERS.get(self._graph.types.get(name, TensorProto.FLOAT), self._precision)

    def _bytes(self, names: Sequence[str]) -> int:
        return sum(tensor_bytes(self._graph.shape(name), self._element_type(name)) for name in names)

    def _inputs(self, group: Group) -> list[str]:
        """Activations that a group reads from outside of it, each once."""
        inside = group.written
        names = (name for node in group.nodes for name in self._graph.activations(node))
        return list(dict.fromkeys(name for name in names if name not in inside))

    def _weights(self, weights: int, biases: int, kind: str) -> dict[str, int]:
        size = elements_bytes(weights, kind) + elements_bytes(biases, bias_type(kind))
        return {"parameters": weights + biases, "weight_bytes": size}

    def _count(self, name: str) -> int:
        """Elements of a constant, 0 for what is none."""
        return prod(self._graph.shape(name)) if name in self._graph.constants else 0

    def _convolution(self, group: Group) -> dict[str, Any]:
        node, transposed = group.main, group.main.op == "ConvTranspose"
        first = group.nodes[0].input(0)
        input_shape, output_shape = self._graph.shape(first), self._graph.shape(node.outputs[0])
        groups, window = int(node.attributes.get("group", 1)), convolution_window(node, group.pad, self._graph)
        biases = self._count(node.input(2)) or group.bias
        return {
            **convolution_fields(window, groups, input_shape, output_shape, transposed=transposed),
            **self._weights(self._count(node.input(1)), biases, self._compute_type(node)),
        }

    def _product(self, group: Group) -> dict[str, Any]:
        node, first = group.main, self._graph.shape(group.main.input(0))
        inner = first[0] if node.op == "Gemm" and node.attributes.get("transA") else (first or (1,))[-1]
        weights = self._count(node.input(0)) + self._count(node.input(1))
        biases = self._count(node.input(2)) or group.bias
        return {
            "kind": LayerKind.DENSE,
            "operation": "gemm",
            "macs": prod(self._graph.shape(node.outputs[0])) * inner,
            **self._weights(weights, biases, self._compute_type(node)),
        }

    def _other(self, group: Group) -> dict[str, Any]:
        op = group.main.op
        fields: dict[str, Any] = {"kind": LayerKind.OTHER, "operation": _OPERATIONS.get(op, op.lower())}
        if group.is_pointwise:  # of operands that are broadcast, the largest says what it works on
            shapes = [self._graph.shape(name) for name in self._inputs(group)]
            fields |= {"operation": "pointwise", "input_shape": max(shapes, key=prod, default=())}
        elif op.startswith("Reduce"):
            fields["operation"] = "reduce"
        parameters = self._parameters(group)
        if op == "BatchNormalization":  # mean and variance are folded into scale and shift
            parameters = 2 * self._graph.shape(group.output)[1]
        return fields | self._weights(parameters, 0, fields.get("precision", self._precision))

    def _parameters(self, group: Group) -> int:
        """Elements of constant operands; scalars, and what tells a shape, an axis or a scale, are no weights."""
        if group.main.op in ("Resize", "Upsample"):
            return 0
        names = {name for node in group.nodes for name in node.inputs if name in self._graph.constants}
        floating = (n for n in names if self._graph.types.get(n, TensorProto.FLOAT) not in _INTEGERS)
        return sum(count for name in floating if (count := self._count(name)) > 1)


def _with_rank(shape: Shape, rank: int) -> Shape:
    """A shape with the extents of one that a reduction dropped."""
    return (*shape, *(1,) * (rank - len(shape)))


def _together(members: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Convolutions that run as one: they read their input once and write their results side by side."""
    batch, _, *extents = members[0]["output_shape"]
    channels = sum(member["output_shape"][1] for member in members)
    sums = {key: sum(m[key] for m in members) for key in ("macs", "weight_bytes", "output_bytes", "parameters")}
    return {
        **members[0],
        **sums,
        "name": " || ".join(member["name"] for member in members),
        "output_shape": (batch, channels, *extents),
        "fused": tuple(name for member in members for name in member["fused"]),
    }
