"""The operations that ONNX Runtime executes, as entries of the engine inspector's schema.

Which operations run, and on what shapes, the runtime reports; windows and weights are the network's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from onnx import ModelProto, TensorProto

from edgewatt.backends.onnxruntime_profile import LayerEvent
from edgewatt.networks.element_types import ELEMENT_BITS, elements_bytes, tensor_bytes
from edgewatt.networks.engine import engine_entry
from edgewatt.networks.layer import Layer, LayerKind, unique_names
from edgewatt.networks.onnx_graph import Node, OnnxGraph, read_graph
from edgewatt.networks.onnx_windows import convolution_window, pooling_window
from edgewatt.networks.windows import convolution_fields, image_shape

Shape = tuple[int, ...]
Tensor = tuple[str, Shape]

_POOLINGS = {
    "MaxPool": "max",
    "GlobalMaxPool": "max",
    "AveragePool": "average",
    "GlobalAveragePool": "average",
    "ReduceMean": "average",
}
_TYPES = {"float": "float32", "double": "float64"}
#: Constants of these types are weights; others tell shapes, axes and indices.
_WEIGHTS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16})


def layer_entries(model: ModelProto, events: Sequence[LayerEvent]) -> list[dict[str, Any]]:
    """Describe the layers of one cycle.

    Args:
        model: The network that was run, its operations named uniquely.
        events: The executions of one cycle, in order.
    """
    converter = _Converter(read_graph(model))
    names = unique_names([event.name for event in events])
    return [
        engine_entry(converter.layer(event, name)) | {"Name": event.name}
        for event, name in zip(events, names, strict=True)
    ]


class _Converter:
    def __init__(self, graph: OnnxGraph) -> None:
        self._graph = graph
        self._nodes = {node.name: node for node in graph.nodes}
        self._writers = {output: node for node in graph.nodes for output in node.outputs if output}

    def layer(self, event: LayerEvent, name: str) -> Layer:
        """The layer of one execution; an operation that the runtime made up has shapes alone."""
        op = str(event.args.get("op_name", ""))
        node = self._nodes.get(event.name)
        if node is not None and node.op != op:
            node = None
        inputs = _tensors(event.args.get("input_type_shape"))
        outputs = _tensors(event.args.get("output_type_shape"))
        fields = self._common(name, op, node, inputs, outputs)
        if node is not None and inputs and outputs:
            fields |= self._special(node, inputs, outputs)
        return Layer(**fields)

    def _special(self, node: Node, inputs: list[Tensor], outputs: list[Tensor]) -> dict[str, Any]:
        if node.op in ("Conv", "ConvTranspose"):
            return self._convolution(node, inputs, outputs)
        if node.op in ("Gemm", "MatMul"):
            return _product(node, inputs, outputs)
        return self._pooling(node, inputs) if node.op in _POOLINGS else {}

    def _common(
        self, name: str, op: str, node: Node | None, inputs: list[Tensor], outputs: list[Tensor]
    ) -> dict[str, Any]:
        weights = self._weights(node)
        activations = _without(inputs, weights)
        precision = next((kind for kind, _ in activations or inputs), "float32")
        count = sum(prod(shape) for shape in weights if prod(shape) > 1)
        return {
            "name": name,
            "kind": LayerKind.OTHER,
            "operation": op.lower(),
            "input_shape": (activations or inputs or [("", ())])[0][1],
            "output_shape": outputs[0][1] if outputs else (),
            "precision": precision,
            "input_bytes": _bytes(activations),
            "output_bytes": _bytes(outputs),
            "parameters": count,
            "weight_bytes": elements_bytes(count, precision),
            "fused": (name,),
            "backend_type": op,
        }

    def _weights(self, node: Node | None) -> list[Shape]:
        """Shapes of an operation's weights."""
        constants = self._graph.constants
        names = [name for name in node.inputs if name in constants] if node is not None else []
        return [self._graph.shape(name) for name in names if self._graph.types.get(name) in _WEIGHTS]

    def _convolution(self, node: Node, inputs: list[Tensor], outputs: list[Tensor]) -> dict[str, Any]:
        input_shape, output_shape = inputs[0][1], outputs[0][1]
        weight = self._graph.shape(node.input(1))
        groups, transposed = int(node.attributes.get("group", 1)), node.op == "ConvTranspose"
        # The runtime folds a batch normalisation into the convolution, whose shift then is a bias that it did not have.
        biases = output_shape[1] if node.input(2) or len(inputs) > len(node.inputs) else 0
        parameters = prod(weight) + biases
        window = convolution_window(node, self._folded_padding(node, input_shape), self._graph)
        return {
            **convolution_fields(window, groups, input_shape, output_shape, transposed=transposed),
            "parameters": parameters,
            "weight_bytes": elements_bytes(parameters, inputs[0][0]),
            "input_bytes": _bytes(inputs[:1]),
        }

    def _folded_padding(self, node: Node, read: Shape) -> Node | None:
        """The Pad operation that the runtime made part of a convolution: it then reads what that would have read."""
        writer = self._writers.get(node.input(0))
        if writer is None or writer.op != "Pad" or self._graph.shape(node.input(0)) == read:
            return None
        return writer

    def _pooling(self, node: Node, inputs: list[Tensor]) -> dict[str, Any]:
        window = pooling_window(node, self._graph)
        if window is None:
            return {}
        shape = inputs[0][1]
        return {
            "kind": LayerKind.POOLING,
            "operation": _POOLINGS[node.op],
            "input_shape": image_shape(shape),
            "output_shape": image_shape((*shape[:2], *window.outputs(shape[2:]))),
            "parameters": 0,
            "weight_bytes": 0,
            **window.layer_fields(),
        }


def _product(node: Node, inputs: list[Tensor], outputs: list[Tensor]) -> dict[str, Any]:
    # A weight that was packed for the processor is no longer among the inputs that the runtime reports, but the
    # first input is always there.
    first = inputs[0][1]
    inner = first[0] if node.op == "Gemm" and node.attributes.get("transA") else first[-1]
    return {"kind": LayerKind.DENSE, "operation": "gemm", "macs": prod(outputs[0][1]) * inner}


def _tensors(reported: object) -> list[Tensor]:
    """The runtime's `[{"float": [1, 3, 224, 224]}, ...]` as types and shapes."""
    pairs = [pair for entry in reported for pair in entry.items()] if isinstance(reported, list) else []
    return [(_type(kind), tuple(shape)) for kind, shape in pairs]


def _type(word: str) -> str:
    named = _TYPES.get(word, word)
    return named if named in ELEMENT_BITS else "uint8"


def _without(tensors: list[Tensor], weights: list[Shape]) -> list[Tensor]:
    """The tensors that are not weights; weights stand behind activations, each with its own shape."""
    left, kept = list(weights), []
    for tensor in reversed(tensors):
        if tensor[1] in left:
            left.remove(tensor[1])
        else:
            kept.append(tensor)
    return kept[::-1]


def _bytes(tensors: Sequence[Tensor]) -> int:
    return sum(tensor_bytes(shape, kind) for kind, shape in tensors)
