"""A single layer as a network of its own, from its sizes: for layers that no network has.

    convolution_model((1, 64, 56, 56), 128, (3, 3), stride=(2, 2), pre_padding=(1, 1), post_padding=(1, 1))

Weights are hollow (see `hollow.py`), types are float32: a backend computes in the precision that it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto, NodeProto, TensorProto, helper

from edgewatt.isolation.cut import CannotCut
from edgewatt.isolation.hollow import hollow_tensor
from edgewatt.networks.onnx_inputs import ALL_ACTIVATIONS
from edgewatt.networks.windows import Window

Shape = tuple[int, ...]
Pair = tuple[int, int]

#: Read by every backend that is supported, and old enough for TensorRT 8.
_OPSET, _IR_VERSION = 13, 8


def convolution_model(
    input_shape: Shape,
    output_channels: int,
    kernel: Pair,
    *,
    stride: Pair = (1, 1),
    pre_padding: Pair = (0, 0),
    post_padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    bias: bool = True,
    activation: str | None = "Relu",
    residual: bool = False,
) -> ModelProto:
    """A convolution.

    Args:
        input_shape: (N, C, H, W).
        output_channels: Its output channels.
        kernel: Window height and width.
        stride: Step of the window.
        pre_padding: Padding above and left.
        post_padding: Padding below and right.
        dilation: Spacing of the kernel's elements.
        groups: Groups of channels; as many as input channels make it depthwise.
        bias: Whether it adds a bias.
        activation: The ONNX operator of the activation behind it; None for none.
        residual: Whether it adds a second input to its result before the activation.

    Raises:
        CannotCut: Channels cannot be split into the groups, or the window does not fit the input.
    """
    batch, channels, *extents = input_shape
    if groups < 1 or channels % groups or output_channels % groups:
        raise CannotCut(f"{channels} and {output_channels} channels cannot be split into {groups} groups")
    window = Window(kernel, stride, pre_padding, post_padding, dilation)
    output_shape = (batch, output_channels, *window.outputs(extents))
    _check_shape(output_shape)
    weights = _weights((output_channels, channels // groups, *kernel), output_channels if bias else None)
    node = _convolution_node("Conv", weights, window, groups)
    return with_tail([node], {"x0": input_shape}, output_shape, weights, activation, residual)


def transposed_convolution_model(
    input_shape: Shape,
    output_shape: Shape,
    kernel: Pair,
    *,
    stride: Pair = (1, 1),
    pre_padding: Pair = (0, 0),
    post_padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    bias: bool = True,
    activation: str | None = "Relu",
) -> ModelProto:
    """A transposed convolution; arguments as for `convolution_model`.

    Raises:
        CannotCut: No padding of the output gives its shape.
    """
    sides = zip(input_shape[2:], output_shape[2:], kernel, stride, pre_padding, post_padding, dilation, strict=True)
    extra = [y - ((x - 1) * s - a - b + d * (k - 1) + 1) for x, y, k, s, a, b, d in sides]
    if any(not 0 <= size < max(s, d) for size, s, d in zip(extra, stride, dilation, strict=True)):
        raise CannotCut(f"its window does not give an output of {list(output_shape)}")
    weights = _weights((input_shape[1], output_shape[1] // groups, *kernel), output_shape[1] if bias else None)
    window = Window(kernel, stride, pre_padding, post_padding, dilation)
    node = _convolution_node("ConvTranspose", weights, window, groups, output_padding=extra)
    return with_tail([node], {"x0": input_shape}, output_shape, weights, activation, residual=False)


def _weights(kernels: Shape, bias: int | None) -> list[TensorProto]:
    """Hollow kernels, or a matrix, and a bias of so many values where there is one."""
    weights = [hollow_tensor("w0", TensorProto.FLOAT, kernels)]
    return weights if bias is None else [*weights, hollow_tensor("w1", TensorProto.FLOAT, (bias,))]


def _convolution_node(
    operator: str, weights: Sequence[TensorProto], window: Window, groups: int, **further: Sequence[int]
) -> NodeProto:
    return helper.make_node(
        operator,
        ["x0", *(tensor.name for tensor in weights)],
        ["t0"],
        f"{operator}_0",
        kernel_shape=window.kernel,
        strides=window.stride,
        pads=(*window.pre_padding, *window.post_padding),
        dilations=window.dilation,
        group=groups,
        **further,
    )


def pooling_model(
    input_shape: Shape,
    operation: str,
    kernel: Pair,
    *,
    stride: Pair = (1, 1),
    pre_padding: Pair = (0, 0),
    post_padding: Pair = (0, 0),
    round_up: bool = False,
) -> ModelProto:
    """A pooling; other arguments as for `convolution_model`.

    Args:
        input_shape: (N, C, H, W).
        operation: `max` or `average`.
        kernel: Window height and width; that of the whole input makes it global.
        stride: Step of the window.
        pre_padding: Padding above and left.
        post_padding: Padding below and right.
        round_up: Whether a last step that leaves the padded input counts.

    Raises:
        CannotCut: There is no such operation, or the window does not fit the input.
    """
    operators = {"max": "MaxPool", "average": "AveragePool"}
    if operation not in operators:
        raise CannotCut(f"there is no pooling {operation!r}")
    window = Window(kernel, stride, pre_padding, post_padding, (1, 1), round_up)
    output_shape = (*input_shape[:2], *window.outputs(input_shape[2:]))
    _check_shape(output_shape)
    if tuple(input_shape[2:]) == kernel and not any((*pre_padding, *post_padding)):
        node = helper.make_node(f"Global{operators[operation]}", ["x0"], ["t0"], "Pool_0")
    else:
        node = helper.make_node(
            operators[operation],
            ["x0"],
            ["t0"],
            "Pool_0",
            kernel_shape=kernel,
            strides=stride,
            pads=(*pre_padding, *post_padding),
            ceil_mode=int(round_up),
        )
    return network_of([node], {"x0": input_shape}, "t0", output_shape, [])


def dense_model(input_shape: Shape, outputs: int, *, bias: bool = True, activation: str | None = None) -> ModelProto:
    """A matrix product with weights.

    Args:
        input_shape: Its last extent is the inner size.
        outputs: Columns of the result.
        bias: Whether it adds a bias.
        activation: As for `convolution_model`.
    """
    output_shape = (*input_shape[:-1], outputs)
    _check_shape(output_shape)
    inner = input_shape[-1]
    if len(input_shape) == 2:
        weights = _weights((outputs, inner), outputs if bias else None)
        names = ["x0", *(tensor.name for tensor in weights)]
        nodes = [helper.make_node("Gemm", names, ["t0"], "Gemm_0", transB=1)]
    else:
        weights = _weights((inner, outputs), outputs if bias else None)
        nodes = [helper.make_node("MatMul", ["x0", "w0"], ["t0" if not bias else "m0"], "MatMul_0")]
        if bias:
            nodes.append(helper.make_node("Add", ["m0", "w1"], ["t0"], "Add_0"))
    return with_tail(nodes, {"x0": input_shape}, output_shape, weights, activation, residual=False)


def with_tail(
    nodes: list[NodeProto],
    inputs: dict[str, Shape],
    output_shape: Shape,
    weights: list[TensorProto],
    activation: str | None,
    residual: bool,
) -> ModelProto:
    """The operations with a residual addition and an activation behind them."""
    last = nodes[-1].output[0]
    if residual:
        nodes = [*nodes, helper.make_node("Add", [last, "x1"], ["t1"], "Add_1")]
        inputs, last = {**inputs, "x1": output_shape}, "t1"
    if activation is not None:
        nodes = [*nodes, *activation_nodes(activation, last, "t2")]
        last = "t2"
        weights = [*weights, *clip_limits()] if activation == "Clip" else weights
    return network_of(nodes, inputs, last, output_shape, weights)


def activation_nodes(operator: str, source: str, result: str) -> list[NodeProto]:
    """An activation as operations; a clipping reads the limits of `clip_limits`."""
    names = [source, "least", "most"] if operator == "Clip" else [source]
    return [helper.make_node(operator, names, [result], f"{operator}_2")]


def clip_limits() -> list[TensorProto]:
    """The limits of a clipping to 0 and 6."""
    return [helper.make_tensor(name, TensorProto.FLOAT, [], [value]) for name, value in (("least", 0.0), ("most", 6.0))]


def network_of(
    nodes: Sequence[NodeProto],
    inputs: dict[str, Shape],
    output: str,
    output_shape: Shape,
    weights: Sequence[TensorProto],
) -> ModelProto:
    """A network of some operations.

    Args:
        nodes: The operations, in order.
        inputs: Shape of each input by name.
        output: Name of its result.
        output_shape: Shape of it.
        weights: Its weights.
    """
    described = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    result = helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)
    model = ModelProto(ir_version=_IR_VERSION)
    model.opset_import.append(helper.make_opsetid("", _OPSET))
    model.metadata_props.add(key=ALL_ACTIVATIONS, value="1")
    model.graph.name = "layer"
    model.graph.node.extend(nodes)
    model.graph.input.extend(described)
    model.graph.output.append(result)
    model.graph.initializer.extend(weights)
    return model


def _check_shape(shape: Shape) -> None:
    if any(size < 1 for size in shape):
        raise CannotCut("its window does not fit its input")
