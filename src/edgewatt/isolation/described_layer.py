"""A layer as a network of its own, from its description alone: for layers of an engine without an ONNX file.

What a description leaves open is chosen: padding is written out, an activation is the one that the name of a fused
operation tells.
"""

from __future__ import annotations

import re
from math import prod

from onnx import ModelProto, TensorProto, helper

from edgewatt.isolation.cut import CannotCut
from edgewatt.isolation.hollow import hollow_tensor
from edgewatt.isolation.single_layer import (
    activation_nodes,
    clip_limits,
    convolution_model,
    dense_model,
    network_of,
    pooling_model,
    transposed_convolution_model,
    with_tail,
)
from edgewatt.networks.element_types import tensor_bytes
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.networks.windows import Window

#: Element-wise operations of one operand, by what their names in a network contain.
_ACTIVATIONS = {
    "leakyrelu": "LeakyRelu",
    "hardsigmoid": "HardSigmoid",
    "sigmoid": "Sigmoid",
    "relu6": "Clip",
    "relu": "Relu",
    "clip": "Clip",
    "tanh": "Tanh",
    "elu": "Elu",
}


def layer_model(layer: Layer) -> ModelProto:
    """A layer as a network of its own.

    Args:
        layer: Its description.

    Raises:
        CannotCut: The description does not say enough, or the layer is no operation that ONNX has.
    """
    if layer.kind is LayerKind.CONVOLUTIONAL:
        return _convolutional(layer)
    if layer.kind is LayerKind.POOLING:
        return _pooling(layer)
    return _dense(layer) if layer.kind is LayerKind.DENSE else _other(layer)


def _convolutional(layer: Layer) -> ModelProto:
    if layer.kernel is None or len(layer.input_shape) != 4 or len(layer.output_shape) != 4:
        raise CannotCut("its window or its shapes are not told")
    weights = layer.output_shape[1] * layer.input_shape[1] // layer.groups * prod(layer.kernel)
    bias = layer.parameters > weights or layer.parameters == 0
    window = {"stride": layer.stride, "pre_padding": layer.pre_padding, "post_padding": layer.post_padding}
    if layer.operation == "transposed":
        return transposed_convolution_model(
            layer.input_shape,
            layer.output_shape,
            layer.kernel,
            **window,
            dilation=layer.dilation,
            groups=layer.groups,
            bias=bias,
            activation=_activation(layer),
        )
    model = convolution_model(
        layer.input_shape,
        layer.output_shape[1],
        layer.kernel,
        **window,
        dilation=layer.dilation,
        groups=layer.groups,
        bias=bias,
        activation=_activation(layer),
        residual=_further_input(layer),
    )
    return _checked(model, layer)


def _pooling(layer: Layer) -> ModelProto:
    if layer.kernel is None or len(layer.input_shape) != 4:
        raise CannotCut("its window or its shapes are not told")
    window = Window(layer.kernel, layer.stride, layer.pre_padding, layer.post_padding, (1, 1))
    model = pooling_model(
        layer.input_shape,
        layer.operation,
        layer.kernel,
        stride=layer.stride,
        pre_padding=layer.pre_padding,
        post_padding=layer.post_padding,
        round_up=window.outputs(layer.input_shape[2:]) != tuple(layer.output_shape[2:]),
    )
    return _checked(model, layer)


def _dense(layer: Layer) -> ModelProto:
    if not layer.input_shape or not layer.output_shape or not layer.macs:
        raise CannotCut("its shapes are not told")
    if len(layer.input_shape) == 4 and layer.input_shape[2:] == (1, 1):
        return _checked(
            convolution_model(layer.input_shape, layer.output_shape[1], (1, 1), activation=_activation(layer)), layer
        )
    inner, outputs = layer.input_shape[-1], layer.output_shape[-1]
    if prod(layer.output_shape) * inner != layer.macs:
        raise CannotCut("its inner size is not the last extent of its input")
    if layer.parameters >= inner * outputs:
        bias = layer.parameters > inner * outputs
        return _checked(dense_model(layer.input_shape, outputs, bias=bias, activation=_activation(layer)), layer)
    other = (*layer.input_shape[:-2], inner, outputs)
    node = helper.make_node("MatMul", ["x0", "x1"], ["t0"], "MatMul_0")
    return network_of([node], {"x0": layer.input_shape, "x1": other}, "t0", layer.output_shape, [])


def _other(layer: Layer) -> ModelProto:
    shape, operation = layer.output_shape, layer.operation.lower()
    if operation in ("softmax", "logsoftmax") and layer.input_shape == shape:
        operator = "Softmax" if operation == "softmax" else "LogSoftmax"
        axis = 1 if len(shape) == 4 else -1
        node = helper.make_node(operator, ["x0"], ["t0"], "Softmax_0", axis=axis)
        return network_of([node], {"x0": shape}, "t0", shape, [])
    if operation in ("pointwise", "pointwisev2", "elementwise", "activation") and layer.input_shape == shape:
        return _pointwise(layer)
    if operation == "scale" and layer.input_shape == shape and len(shape) >= 2:
        weights = [hollow_tensor(f"w{index}", TensorProto.FLOAT, (shape[1],)) for index in range(4)]
        names = ["x0", *(tensor.name for tensor in weights)]
        node = helper.make_node("BatchNormalization", names, ["t0"], "Scale_0")
        return with_tail([node], {"x0": shape}, shape, weights, _activation(layer), residual=False)
    if operation == "reformat":
        raise CannotCut("it changes the memory format alone, which is no operation of a network")
    raise CannotCut(f"an operation {layer.operation!r} cannot be built from its description alone")


def _pointwise(layer: Layer) -> ModelProto:
    """Element-wise operations in a row: those that names tell, of as many inputs of the result's size as are read."""
    shape = layer.output_shape
    count = max(layer.input_bytes // max(tensor_bytes(shape, layer.precision), 1), 1)
    inputs = {f"x{index}": shape for index in range(count)}
    nodes, last = [], "x0"
    for index in range(1, count):
        operator = "Mul" if "mul" in layer.name.lower() else "Add"
        nodes.append(helper.make_node(operator, [last, f"x{index}"], [f"t{index}"], f"{operator}_{index}"))
        last = f"t{index}"
    activation = _activation(layer) or ("Relu" if not nodes else None)
    if activation is not None:
        nodes += activation_nodes(activation, last, "t0")
        last = "t0"
    limits = clip_limits() if activation == "Clip" else []
    return network_of(nodes, inputs, last, shape, limits)


def _activation(layer: Layer) -> str | None:
    """The activation that the last of the fused operations' names tells, None for none."""
    for name in reversed(layer.fused or (layer.name,)):
        word = re.sub(r"[^a-z0-9]", "", name.lower().rsplit("/", 1)[-1])
        found = next((operator for part, operator in _ACTIVATIONS.items() if part in word), None)
        if found is not None:
            return found
    return None


def _further_input(layer: Layer) -> bool:
    """Whether it reads a second input of its output's size."""
    own = tensor_bytes(layer.input_shape, layer.precision)
    return layer.input_bytes >= own + tensor_bytes(layer.output_shape, layer.precision)


def _checked(model: ModelProto, layer: Layer) -> ModelProto:
    """A model whose output has the shape that the description tells."""
    shape = tuple(dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim)
    if shape != layer.output_shape:
        raise CannotCut(f"its description gives an output of {list(shape)}, not of {list(layer.output_shape)}")
    return model
