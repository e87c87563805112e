"""An ONNX network in half precision, for builders that take a network's types as they are (TensorRT from 11 on).

Everything that is float32 becomes float16: weights, inputs, outputs, constants and casts. What ONNX prescribes to be
float32 stays: the scales and the region of Resize, and what quantising operations read.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

_LARGEST = float(np.finfo(np.float16).max)
#: Positions of inputs that stay float32, by operation.
_FLOAT32_INPUTS = {"Resize": (1, 2), "Upsample": (1,), "QuantizeLinear": (1,), "DequantizeLinear": (1,)}
_DEFAULT_FLOAT = frozenset({"RandomNormal", "RandomUniform", "EyeLike", "Multinomial", "Bernoulli"})


def with_float16(model: ModelProto) -> ModelProto:
    """A copy of a network that computes in float16 where it computed in float32.

    Weights beyond float16's range are cut to it, as builders do.

    Args:
        model: The network; it is not changed.
    """
    half = ModelProto()
    half.CopyFrom(model)
    _convert_graph(half.graph, frozenset())
    return half


def _convert_graph(graph: GraphProto, outer: frozenset[str]) -> None:
    kept = outer | frozenset(_kept_inputs(graph))
    for tensor in graph.initializer:
        if tensor.name not in kept:
            _convert_tensor(tensor)
    for value in (*graph.input, *graph.output, *graph.value_info):
        kind = value.type.tensor_type
        if kind.elem_type == TensorProto.FLOAT and value.name not in kept:
            kind.elem_type = TensorProto.FLOAT16
    for node in graph.node:
        for attribute in node.attribute:
            _convert_attribute(node, attribute, kept)
        if node.op_type == "ConstantOfShape" and not node.attribute:
            node.attribute.append(_zero())
        if node.op_type in _DEFAULT_FLOAT and not any(attribute.name == "dtype" for attribute in node.attribute):
            node.attribute.append(AttributeProto(name="dtype", type=AttributeProto.INT, i=TensorProto.FLOAT16))


def _kept_inputs(graph: GraphProto) -> Iterator[str]:
    for node in graph.node:
        for position in _FLOAT32_INPUTS.get(node.op_type, ()):
            if position < len(node.input) and node.input[position]:
                yield node.input[position]


def _convert_attribute(node: NodeProto, attribute: AttributeProto, kept: frozenset[str]) -> None:
    if attribute.type == AttributeProto.GRAPH:
        _convert_graph(attribute.g, kept)
    elif attribute.type == AttributeProto.GRAPHS:
        for graph in attribute.graphs:
            _convert_graph(graph, kept)
    elif attribute.type == AttributeProto.TENSOR:
        if node.op_type != "Constant" or node.output[0] not in kept:
            _convert_tensor(attribute.t)
    elif attribute.name in ("to", "dtype") and attribute.i == TensorProto.FLOAT and node.output[0] not in kept:
        attribute.i = TensorProto.FLOAT16
    elif (
        node.op_type == "Constant" and attribute.name in ("value_float", "value_floats") and node.output[0] not in kept
    ):
        value = attribute.f if attribute.name == "value_float" else list(attribute.floats)
        tensor = numpy_helper.from_array(_half(np.array(value, dtype=np.float32)))
        attribute.Clear()
        attribute.name, attribute.type = "value", AttributeProto.TENSOR
        attribute.t.CopyFrom(tensor)


def _convert_tensor(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(_half(numpy_helper.to_array(tensor)), tensor.name))


def _half(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float16]]:
    cut = np.where(np.isfinite(values), np.clip(values, -_LARGEST, _LARGEST), values)
    return cut.astype(np.float16)


def _zero() -> AttributeProto:
    """The value that ConstantOfShape has where none is given, in float16."""
    attribute = AttributeProto(name="value", type=AttributeProto.TENSOR)
    attribute.t.CopyFrom(numpy_helper.from_array(np.zeros(1, dtype=np.float16)))
    return attribute
