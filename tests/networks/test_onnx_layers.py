"""Layers from ONNX: agreement with real engines, and each rule on a small network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.networks.architectures import architecture_path
from edgewatt.networks.engine import layers_from_engine
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.networks.onnx_layers import layers_from_onnx

ENGINES = Path(__file__).parents[2].parent / "shared" / "data" / "engines"


def node(op: str, inputs: str, output: str, **attributes: Any) -> NodeProto:
    return helper.make_node(op, inputs.split(","), [output], name=output, **attributes)


def model(
    nodes: Sequence[NodeProto],
    weights: dict[str, Sequence[int] | np.ndarray],
    image: Sequence[int | str] = (1, 4, 8, 8),
    *,
    output: str = "y",
    opset: int = 17,
) -> ModelProto:
    """A network with real weights, whose input is `x`; weights are given as a shape or as values."""
    arrays = {
        name: value if isinstance(value, np.ndarray) else np.ones(tuple(value), np.float32)
        for name, value in weights.items()
    }
    graph = helper.make_graph(
        list(nodes),
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(image))],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def conv(inputs: str, output: str, **attributes: Any) -> NodeProto:
    return node("Conv", inputs, output, **{"pads": [1, 1, 1, 1], **attributes})


W = {"w": (4, 4, 3, 3)}  # keeps four channels


def only(layers: list[Layer]) -> Layer:
    assert len(layers) == 1
    return layers[0]


def fused(layers: list[Layer]) -> list[tuple[str, ...]]:
    return [layer.fused for layer in layers]


# --- agreement with real engines ------------------------------------------------------------------------------


def signature(layer: Layer) -> tuple[Any, ...]:
    """What an engine and its network must have in common.

    Engines hold the tensors of a fully connected layer as (N, C) or as (N, C, 1, 1).
    """
    shapes = (layer.input_shape, layer.output_shape)
    if layer.kind is LayerKind.DENSE:
        shapes = tuple(shape[:2] if shape[2:] == (1, 1) else shape for shape in shapes)
    window = (layer.kernel, layer.stride, layer.pre_padding, layer.post_padding, layer.dilation, layer.groups)
    return (layer.kind, layer.operation, *shapes, window, layer.macs, layer.parameters)


def typed(layers: list[Layer]) -> list[Layer]:
    return [layer for layer in layers if layer.kind is not LayerKind.OTHER]


def engine(path: str) -> list[Layer]:
    file = ENGINES / path
    if not file.exists():
        pytest.skip(f"{file} is not there")
    return typed(layers_from_engine(json.loads(file.read_text(encoding="utf-8"))["Layers"], path))


def with_late_shortcuts(name: str) -> ModelProto:
    """An architecture with each shortcut's convolution right before the addition that reads it.

    That is the order in which PyTorch's exporter wrote the files of the engines below; the shipped ones were sorted
    again. TensorRT adds in the later one of the two convolutions.
    """
    network = onnx.load(str(architecture_path(name)))
    nodes = list(network.graph.node)
    for shortcut in [n for n in nodes if n.op_type == "Conv" and "downsample" in n.name]:
        nodes.remove(shortcut)
        nodes.insert(next(i for i, n in enumerate(nodes) if shortcut.output[0] in n.input), shortcut)
    del network.graph.node[:]
    network.graph.node.extend(nodes)
    return network


@pytest.mark.parametrize(
    ("path", "name", "batch", "precision"),
    [
        ("rtx3060_onnx_trt/alexnet.engine_info.json", "alexnet", 1, "float32"),
        ("rtx3060_trtexec/alexnet.graph.json", "alexnet", 1, "float16"),
        ("rtx3060_onnx_trt/resnet18.engine_info.json", "resnet18", 1, "float32"),
        ("rtx3060_trtexec/resnet18.graph.json", "resnet18", 1, "float16"),
        ("a100_trtexec/resnet18_fp16.graph.json", "resnet18", 32, "float16"),
        ("a100_trtexec/mobilenet_int8.graph.json", "mobilenet_v2", 1, "int8"),
    ],
)
def test_onnx_agrees_with_the_engine_one_for_one(path: str, name: str, batch: int, precision: str) -> None:
    built = engine(path)
    expected = typed(layers_from_onnx(with_late_shortcuts(name), batch=batch, precision=precision))
    assert [signature(x) for x in expected] == [signature(x) for x in built]
    assert [x.weight_bytes for x in expected] == [x.weight_bytes for x in built]
    if precision != "int8":  # between layers, the int8 engine chose wider types in places
        assert [x.precision for x in expected] == [x.precision for x in built]
        assert [x.input_bytes for x in expected] == [x.input_bytes for x in built]
        assert [x.output_bytes for x in expected] == [x.output_bytes for x in built]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("orin_nano/resnet18.engine_info.json", "resnet18"),
        ("rtx3060_torch_trt/resnet18.engine_info.json", "resnet18"),
        ("rtx3060_torch_trt/alexnet.engine_info.json", "alexnet"),
    ],
)
def test_shipped_architecture_agrees_with_torch_tensorrt_one_for_one(path: str, name: str) -> None:
    built, expected = engine(path), typed(layers_from_onnx(architecture_path(name)))
    assert [signature(x) for x in expected] == [signature(x) for x in built]
    for field in ("precision", "weight_bytes", "input_bytes", "output_bytes"):
        assert [getattr(x, field) for x in expected] == [getattr(x, field) for x in built]


@pytest.mark.parametrize("path", ["rtx3060_trtexec/resnet18.graph.json", "rtx3060_onnx_trt/resnet18.engine_info.json"])
def test_names_are_those_of_the_engine(path: str) -> None:
    """TensorRT joins the names of what it fuses in the same way."""
    built = [x.name for x in engine(path) if x.kind is LayerKind.CONVOLUTIONAL]
    ours = layers_from_onnx(with_late_shortcuts("resnet18"))
    assert [x.name for x in ours if x.kind is LayerKind.CONVOLUTIONAL] == built


# --- convolutions and what is fused into them -----------------------------------------------------------------


def test_convolution() -> None:
    weights = {"w": (6, 2, 3, 5), "b": (6,)}
    network = model([node("Conv", "x,w,b", "y", group=2, pads=[1, 2, 0, 3], strides=[2, 1], dilations=[1, 2])], weights)
    assert only(layers_from_onnx(network)) == Layer(
        name="y",
        kind=LayerKind.CONVOLUTIONAL,
        operation="convolution",
        input_shape=(1, 4, 8, 8),
        output_shape=(1, 6, 4, 5),
        kernel=(3, 5),
        stride=(2, 1),
        pre_padding=(1, 2),
        post_padding=(0, 3),
        dilation=(1, 2),
        groups=2,
        precision="float16",
        macs=6 * 4 * 5 * 2 * 15,
        weight_bytes=2 * (180 + 6),
        input_bytes=2 * 256,
        output_bytes=2 * 120,
        parameters=186,
        fused=("y",),
        backend_type="Conv",
    )


def test_batch_normalisation_and_activation_are_folded() -> None:
    nodes = [
        conv("x,w", "c"),
        node("BatchNormalization", "c,s,s,s,s", "n"),
        node("Clip", "n,low,high", "y"),
    ]
    limits = {"low": np.float32(0), "high": np.float32(6)}
    weights = W | {"s": (4,)} | {name: np.asarray(value) for name, value in limits.items()}
    layer = only(layers_from_onnx(model(nodes, weights)))
    assert layer.fused == ("c", "n", "y")
    assert layer.parameters == 144 + 4  # scale and mean leave one bias a channel


def test_batch_normalisation_before_a_convolution_is_a_scale() -> None:
    nodes = [node("BatchNormalization", "x,s,s,s,s", "n"), node("Relu", "n", "r"), conv("r,w", "y")]
    scale, _ = layers_from_onnx(model(nodes, W | {"s": (4,)}))
    assert (scale.kind, scale.operation, scale.fused) == (LayerKind.OTHER, "scale", ("n", "r"))
    assert (scale.parameters, scale.weight_bytes, scale.input_bytes) == (8, 16, 512)


def test_bias_of_its_own_operation() -> None:
    layer = only(layers_from_onnx(model([conv("x,w", "c"), node("Add", "c,b", "y")], W | {"b": (1, 4, 1, 1)})))
    assert (layer.fused, layer.parameters) == (("c", "y"), 148)


def test_constant_that_is_no_bias_stays_apart() -> None:
    nodes = [conv("x,w", "c"), node("Add", "c,p", "y")]
    layers = layers_from_onnx(model(nodes, W | {"p": (1, 4, 8, 8)}), precision="float32")
    assert [(x.operation, x.parameters) for x in layers] == [("convolution", 144), ("pointwise", 256)]


def test_result_that_others_read_is_not_fused() -> None:
    nodes = [conv("x,w", "c"), node("Relu", "c", "r"), node("MaxPool", "c", "p", kernel_shape=[3, 3], pads=[1] * 4),
             node("Concat", "r,p", "y", axis=1)]  # fmt: skip
    assert fused(layers_from_onnx(model(nodes, W))) == [("c",), ("r",), ("p",)]


def test_network_result_is_not_fused() -> None:
    network = model([conv("x,w", "y"), node("Relu", "y", "r")], W)
    network.graph.output.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, None))
    assert fused(layers_from_onnx(network)) == [("y",), ("r",)]


def test_residual_goes_into_the_later_convolution() -> None:
    nodes = [conv("x,w", "a"), conv("a,w", "b"), conv("a,w", "short"), node("Add", "b,short", "s"),
             node("Relu", "s", "y")]  # fmt: skip
    layers = layers_from_onnx(model(nodes, W), precision="float32")
    assert fused(layers) == [("a",), ("b",), ("short", "s", "y")]
    assert layers[2].input_bytes == 4 * 2 * 256


def test_residual_of_the_network_input() -> None:
    layers = layers_from_onnx(model([conv("x,w", "c"), node("Add", "x,c", "s"), node("Relu", "s", "y")], W))
    assert fused(layers) == [("c", "s", "y")]
    assert only(layers).input_bytes == 2 * 256  # the residual is the input itself, read once
    assert only(layers).kind is LayerKind.CONVOLUTIONAL


def test_residual_after_an_activation_is_a_pointwise_layer() -> None:
    nodes = [conv("x,w", "c"), node("Relu", "c", "r"), node("Add", "x,r", "s"), node("Relu", "s", "y")]
    layers = layers_from_onnx(model(nodes, W))
    assert fused(layers) == [("c", "r"), ("s", "y")]
    assert (layers[1].operation, layers[1].input_bytes, layers[1].output_bytes) == ("pointwise", 1024, 512)


def test_second_residual_waits_for_its_other_operand() -> None:
    """The convolution that adds a branch runs after the branch, though the file has it before."""
    nodes = [conv("x,w", "c"), node("MaxPool", "x", "p", kernel_shape=[3, 3], pads=[1] * 4), node("Add", "c,p", "y")]
    assert fused(layers_from_onnx(model(nodes, W))) == [("p",), ("c", "y")]


def test_broadcast_addition_is_no_residual() -> None:
    nodes = [conv("x,w", "c"), node("GlobalAveragePool", "x", "g"), node("Add", "c,g", "y")]
    layers = layers_from_onnx(model(nodes, W), precision="float32")
    assert fused(layers) == [("c",), ("g",), ("y",)]
    assert layers[2].input_shape == (1, 4, 8, 8)


@pytest.mark.parametrize(
    "activation",
    [
        [node("Sigmoid", "c", "s"), node("Mul", "c,s", "y")],
        [node("HardSwish", "c", "y")],
        [node("HardSigmoid", "c", "s"), node("Mul", "c,s", "y")],
    ],
)
def test_smooth_activations(activation: list[NodeProto]) -> None:
    network = model([conv("x,w", "c"), *activation], W)
    names = tuple(n.output[0] for n in activation)
    assert fused(layers_from_onnx(network, precision="float16")) == [("c", *names)]
    assert fused(layers_from_onnx(network, precision="float32")) == [("c",), names]


def test_smooth_activation_and_residual() -> None:
    nodes = [conv("x,w", "c"), node("Sigmoid", "c", "s"), node("Mul", "c,s", "m"), node("Add", "m,x", "y")]
    assert fused(layers_from_onnx(model(nodes, W))) == [("c", "s", "m", "y")]


def test_squeeze_and_excitation() -> None:
    nodes = [
        conv("x,w", "c"),
        node("Relu", "c", "r"),
        node("GlobalAveragePool", "r", "g"),
        node("Conv", "g,w1", "d"),
        node("Relu", "d", "e"),
        node("Conv", "e,w2", "f"),
        node("Sigmoid", "f", "s"),
        node("Mul", "r,s", "y"),
    ]
    layers = layers_from_onnx(model(nodes, W | {"w1": (2, 4, 1, 1), "w2": (4, 2, 1, 1)}))
    assert fused(layers) == [("c", "r"), ("g",), ("d", "e"), ("f",), ("s", "y")]
    assert [x.kind.value for x in layers] == ["convolutional", "pooling", "dense", "dense", "other"]
    assert (layers[2].kernel, layers[2].macs, layers[2].input_shape) == (None, 8, (1, 4, 1, 1))
    assert (layers[4].input_shape, layers[4].input_bytes) == ((1, 4, 8, 8), 2 * (256 + 4))


def test_pointwise_operations_in_a_row_are_one_layer() -> None:
    """The exact GELU of a transformer block."""
    constants = {"r": np.float32(1.41), "one": np.float32(1), "half": np.float32(0.5)}
    nodes = [node("Softmax", "x", "a"), node("Div", "a,r", "d"), node("Erf", "d", "e"), node("Add", "e,one", "p"),
             node("Mul", "a,p", "m"), node("Mul", "m,half", "y")]  # fmt: skip
    layers = layers_from_onnx(model(nodes, {k: np.asarray(v) for k, v in constants.items()}))
    assert fused(layers) == [("a",), ("d", "e", "p", "m", "y")]
    assert (layers[1].input_bytes, layers[1].parameters) == (512, 0)


def test_depthwise() -> None:
    layer = only(layers_from_onnx(model([conv("x,w", "y", group=4)], {"w": (8, 1, 3, 3)})))
    assert (layer.operation, layer.groups, layer.macs) == ("depthwise", 4, 8 * 64 * 9)


def test_transposed() -> None:
    nodes = [node("ConvTranspose", "x,w,b", "y", strides=[2, 2], pads=[1, 1, 1, 1])]
    layer = only(layers_from_onnx(model(nodes, {"w": (4, 6, 4, 4), "b": (6,)})))
    assert (layer.operation, layer.output_shape) == ("transposed", (1, 6, 16, 16))
    assert (layer.macs, layer.parameters) == (4 * 64 * 6 * 16, 4 * 6 * 16 + 6)


def test_transposed_with_padding_from_its_output_shape() -> None:
    nodes = [node("ConvTranspose", "x,w", "y", strides=[2, 2], output_shape=[15, 16])]
    layer = only(layers_from_onnx(model(nodes, {"w": (4, 6, 4, 4)})))
    assert (layer.output_shape, layer.padding) == ((1, 6, 15, 16), (3, 2))


def test_one_dimensional() -> None:
    layer = only(layers_from_onnx(model([node("Conv", "x,w", "y", strides=[2])], {"w": (8, 4, 3)}, image=(1, 4, 9))))
    assert (layer.input_shape, layer.output_shape) == ((1, 4, 1, 9), (1, 8, 1, 4))
    assert (layer.kernel, layer.stride, layer.macs) == ((1, 3), (1, 2), 8 * 4 * 4 * 3)


def test_three_dimensional() -> None:
    layer = only(layers_from_onnx(model([node("Conv", "x,w", "y")], {"w": (8, 4, 3, 3, 3)}, image=(1, 4, 5, 5, 5))))
    assert (layer.kind, layer.kernel, layer.output_shape) == (LayerKind.CONVOLUTIONAL, None, (1, 8, 3, 3, 3))
    assert layer.macs == 8 * 27 * 4 * 27


@pytest.mark.parametrize(("mode", "before", "after"), [("SAME_UPPER", (0, 0), (1, 1)), ("SAME_LOWER", (1, 1), (0, 0))])
def test_automatic_padding(mode: str, before: tuple[int, int], after: tuple[int, int]) -> None:
    layer = only(layers_from_onnx(model([node("Conv", "x,w", "y", auto_pad=mode, strides=[2, 2])], W)))
    assert (layer.output_shape, layer.pre_padding, layer.post_padding) == ((1, 4, 4, 4), before, after)


def test_zero_padding_becomes_the_convolutions_own() -> None:
    pads = np.array([0, 0, 1, 2, 0, 0, 3, 4], np.int64)
    nodes = [node("Pad", "x,pads", "p"), node("Conv", "p,w", "y")]
    layer = only(layers_from_onnx(model(nodes, W | {"pads": pads})))
    assert (layer.fused, layer.input_shape) == (("p", "y"), (1, 4, 8, 8))
    assert (layer.pre_padding, layer.post_padding) == ((1, 2), (3, 4))
    reflected = [node("Pad", "x,pads", "p", mode="reflect"), node("Conv", "p,w", "y")]
    assert [x.operation for x in layers_from_onnx(model(reflected, W | {"pads": pads}))] == ["slice", "convolution"]


def test_convolutions_with_one_input_and_window_run_as_one() -> None:
    """The reductions of an inception block: names and sums as in TensorRT's merged layers."""
    nodes = [node("Conv", "x,w1", "a"), node("Relu", "a", "ra"), node("Conv", "x,w2", "b"), node("Relu", "b", "rb"),
             node("Conv", "x,w3", "c"), conv("rb,w4", "d"), node("Concat", "ra,c,d", "y", axis=1)]  # fmt: skip
    shapes = {"w1": (2, 4, 1, 1), "w2": (3, 4, 1, 1), "w3": (5, 4, 1, 1), "w4": (7, 3, 3, 3)}
    both, alone, last = layers_from_onnx(model(nodes, shapes))
    assert (both.name, both.output_shape) == ("a + ra || b + rb", (1, 5, 8, 8))
    assert (both.macs, both.parameters, both.input_bytes, both.output_bytes) == (64 * 4 * 5, 20, 512, 640)
    assert (alone.name, last.name, last.input_shape) == ("c", "d", (1, 3, 8, 8))


# --- pooling --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (node("MaxPool", "x", "y", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0]),
         ("max", (3, 2), (2, 2), (2, 0), (1, 4, 4, 4))),
        (node("MaxPool", "x", "y", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
         ("max", (3, 3), (2, 2), (0, 0), (1, 4, 4, 4))),
        (node("AveragePool", "x", "y", kernel_shape=[2, 2], strides=[2, 2]),
         ("average", (2, 2), (2, 2), (0, 0), (1, 4, 4, 4))),
        (node("GlobalAveragePool", "x", "y"), ("average", (8, 8), (1, 1), (0, 0), (1, 4, 1, 1))),
        (node("GlobalMaxPool", "x", "y"), ("max", (8, 8), (1, 1), (0, 0), (1, 4, 1, 1))),
        (node("ReduceMean", "x", "y", axes=[2, 3]), ("average", (8, 8), (1, 1), (0, 0), (1, 4, 1, 1))),
        (node("ReduceMean", "x", "y", axes=[-1, -2], keepdims=0), ("average", (8, 8), (1, 1), (0, 0), (1, 4, 1, 1))),
        (node("ReduceMax", "x", "y", axes=[2, 3], keepdims=0), ("max", (8, 8), (1, 1), (0, 0), (1, 4, 1, 1))),
    ],
)  # fmt: skip
def test_pooling(operation: NodeProto, expected: tuple[Any, ...]) -> None:
    layer = only(layers_from_onnx(model([operation], {})))
    assert layer.kind is LayerKind.POOLING
    assert (layer.operation, layer.kernel, layer.stride, layer.padding, layer.output_shape) == expected
    assert (layer.macs, layer.input_bytes) == (0, 512)


def test_reduction_with_axes_as_an_input() -> None:
    axes = {"axes": np.array([2, 3], np.int64)}
    assert only(layers_from_onnx(model([node("ReduceMean", "x,axes", "y")], axes, opset=18))).kernel == (8, 8)


@pytest.mark.parametrize("axes", [[1], [3], [1, 2, 3]])
def test_reduction_over_something_else_is_other(axes: list[int]) -> None:
    layer = only(layers_from_onnx(model([node("ReduceMean", "x", "y", axes=axes)], {})))
    assert (layer.kind, layer.operation) == (LayerKind.OTHER, "reduce")


# --- matrix products ------------------------------------------------------------------------------------------


def test_gemm() -> None:
    nodes = [node("Flatten", "x", "f"), node("Gemm", "f,w,b", "g", transB=1), node("Relu", "g", "y")]
    layer = only(layers_from_onnx(model(nodes, {"w": (10, 256), "b": (10,)}), batch=3))
    assert (layer.kind, layer.operation, layer.fused) == (LayerKind.DENSE, "gemm", ("g", "y"))
    assert (layer.input_shape, layer.output_shape, layer.macs) == ((3, 256), (3, 10), 3 * 2560)
    assert (layer.parameters, layer.weight_bytes, layer.input_bytes) == (2570, 5140, 1536)


def test_matmul_with_a_bias_behind_it() -> None:
    nodes = [node("MatMul", "x,w", "m"), node("Add", "b,m", "y")]
    layer = only(layers_from_onnx(model(nodes, {"w": (8, 5), "b": (5,)})))
    assert (layer.fused, layer.macs, layer.parameters) == (("m", "y"), 4 * 8 * 5 * 8, 45)


def test_product_of_activations() -> None:
    nodes = [node("Softmax", "x", "s"), node("MatMul", "x,s", "y")]
    layer = layers_from_onnx(model(nodes, {}))[1]
    assert (layer.kind, layer.macs, layer.parameters, layer.input_bytes) == (LayerKind.DENSE, 4 * 8 * 8 * 8, 0, 1024)


# --- what is free, and the rest -------------------------------------------------------------------------------


def test_free_operations_leave_no_layer() -> None:
    shape = {"shape": np.array([1, 4, 64], np.int64)}
    nodes = [
        conv("x,w", "c"),
        node("Identity", "c", "i"),
        node("Dropout", "i", "d"),
        node("AveragePool", "d", "p", kernel_shape=[1, 1]),
        node("Cast", "p", "k", to=TensorProto.FLOAT16),
        node("Cast", "k", "l", to=TensorProto.FLOAT),
        node("Relu", "l", "r"),
        node("Transpose", "r", "t", perm=[1, 0, 2, 3]),
        node("Reshape", "t,shape", "s"),
        node("Softmax", "s", "y"),
    ]
    layers = layers_from_onnx(model(nodes, W | shape))
    assert fused(layers) == [("c", "r"), ("y",)]
    assert layers[1].input_shape == (1, 4, 64)


def test_concatenation_is_free() -> None:
    nodes = [conv("x,w", "a"), node("Concat", "x,a", "c", axis=1), node("Concat", "c,a", "d", axis=1),
             node("Conv", "d,v", "y")]  # fmt: skip
    layers = layers_from_onnx(model(nodes, W | {"v": (2, 12, 1, 1)}))
    assert fused(layers) == [("a",), ("y",)]
    assert (layers[1].input_shape, layers[1].input_bytes) == ((1, 12, 8, 8), 2 * 768)


def test_constants_leave_no_layer() -> None:
    value = numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32))
    nodes = [
        helper.make_node("Constant", [], ["w"], value=value),
        node("Transpose", "w", "wt", perm=[1, 0, 2, 3]),
        helper.make_node("Constant", [], ["low"], value_float=0.0),
        helper.make_node("Constant", [], ["shape"], value_ints=[0, -1]),
        conv("x,wt", "c"),
        node("Clip", "c,low", "k"),
        node("Reshape", "k,shape", "y"),
    ]
    layer = only(layers_from_onnx(model(nodes, {})))
    assert (layer.fused, layer.parameters) == (("c", "k"), 144)


def test_shape_arithmetic_leaves_no_layer() -> None:
    indices = {"first": np.array(0, np.int64), "axis": np.array([0], np.int64), "rest": np.array([-1], np.int64)}
    nodes = [
        conv("x,w", "c"),
        node("Shape", "c", "s"),
        node("Gather", "s,first", "n"),
        node("Unsqueeze", "n,axis", "u"),
        node("Concat", "u,rest", "t", axis=0),
        node("Reshape", "c,t", "r"),
        node("Softmax", "r", "y"),
    ]
    layers = layers_from_onnx(model(nodes, W | indices, image=("N", 4, 8, 8)), batch=5)
    assert fused(layers) == [("c",), ("y",)]
    assert layers[1].input_shape == (5, 256)


def test_other_layers() -> None:
    starts = {k: np.array([v], np.int64) for k, v in (("from", 0), ("to", 2), ("axis", 1))}
    nodes = [
        node("Slice", "x,from,to,axis", "s"),
        node("Transpose", "s", "t", perm=[0, 2, 3, 1]),
        node("LayerNormalization", "t,g,b", "y", axis=-1),
    ]
    layers = layers_from_onnx(model(nodes, starts | {"g": (2,), "b": (2,)}))
    assert [(x.kind.value, x.operation) for x in layers] == [
        ("other", "slice"),
        ("other", "shuffle"),
        ("other", "normalization"),
    ]
    assert [x.parameters for x in layers] == [0, 0, 4]
    assert [x.output_bytes for x in layers] == [256, 256, 256]


def test_every_output_of_a_split_counts() -> None:
    split = helper.make_node("Split", ["x"], ["a", "b"], name="split", axis=1)
    layers = layers_from_onnx(model([split, node("Add", "a,b", "y")], {}))
    assert [(x.operation, x.output_bytes) for x in layers] == [("slice", 512), ("pointwise", 256)]


def test_integers_keep_their_size() -> None:
    network = model([node("ArgMax", "x", "y", axis=1)], {})
    network.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    assert only(layers_from_onnx(network)).output_bytes == 64 * 8


def test_repeated_names_are_told_apart() -> None:
    network = model([conv("x,w", "a"), conv("a,w", "y")], W)
    for operation in network.graph.node:
        operation.name = "conv"
    assert [x.name for x in layers_from_onnx(network)] == ["conv", "conv (2)"]


# --- precision and batch --------------------------------------------------------------------------------------


def test_precision_sets_the_size_of_elements() -> None:
    network = model([conv("x,w,b", "y")], W | {"b": (4,)})
    sizes = {p: only(layers_from_onnx(network, precision=p)) for p in ("float32", "float16", "bfloat16", "int8")}
    assert {p: x.input_bytes for p, x in sizes.items()} == {
        "float32": 1024,
        "float16": 512,
        "bfloat16": 512,
        "int8": 256,
    }
    assert {p: x.weight_bytes for p, x in sizes.items()} == {
        "float32": 592, "float16": 296, "bfloat16": 296, "int8": 144 + 16
    }  # fmt: skip


def test_quantised_network_computes_in_int8() -> None:
    scales = {"s": np.asarray(np.float32(0.1)), "z": np.asarray(np.int8(0))}
    quantised = {"q": np.ones((4, 4, 3, 3), np.int8)}
    nodes = [
        node("QuantizeLinear", "x,s,z", "xq"),
        node("DequantizeLinear", "xq,s,z", "xd"),
        node("DequantizeLinear", "q,s,z", "wd"),
        conv("xd,wd,b", "c"),
        node("Relu", "c", "r"),
        node("QuantizeLinear", "r,s,z", "rq"),
        node("DequantizeLinear", "rq,s,z", "rd"),
        node("MaxPool", "rd", "y", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    layers = layers_from_onnx(model(nodes, scales | quantised | {"b": (4,)}))
    assert fused(layers) == [("c", "r"), ("y",)]
    assert [x.precision for x in layers] == ["int8", "int8"]
    assert (layers[0].weight_bytes, layers[0].input_bytes, layers[0].output_bytes) == (144 + 16, 256, 256)
    assert (layers[1].input_bytes, layers[1].output_bytes) == (256, 128)


def test_free_batch_must_be_given() -> None:
    network = model([conv("x,w", "y")], W, image=("batch", 4, 8, 8))
    with pytest.raises(FormatError, match="batch of input 'x'"):
        layers_from_onnx(network)
    assert only(layers_from_onnx(network, batch=7)).input_shape == (7, 4, 8, 8)


def test_other_batch_scales_reshapes_that_hold_the_old_one() -> None:
    shapes = {"t": np.array([2, 2, 2, 8, 8], np.int64), "u": np.array([-1, 256], np.int64)}
    nodes = [node("Reshape", "x,t", "a"), node("Transpose", "a", "b", perm=[0, 2, 1, 3, 4]),
             node("Reshape", "b,u", "c"), node("Gemm", "c,w", "y")]  # fmt: skip
    network = model(nodes, shapes | {"w": (256, 3)}, image=(2, 4, 8, 8))
    before = network.SerializeToString()
    shuffle, dense = layers_from_onnx(network, batch=6)
    assert (shuffle.input_shape, dense.output_shape) == ((6, 2, 2, 8, 8), (6, 3))
    assert network.SerializeToString() == before


def test_batch_that_reshapes_cannot_take_is_an_error() -> None:
    shapes = {"t": np.array([1, 512], np.int64)}  # the batch is not in the first dimension
    network = model([node("Reshape", "x,t", "a"), node("Softmax", "a", "y")], shapes, image=(2, 4, 8, 8))
    assert only(layers_from_onnx(network)).input_shape == (1, 512)
    with pytest.raises(FormatError, match="shapes cannot be inferred"):
        layers_from_onnx(network, batch=3)


@pytest.mark.parametrize("batch", [0, -1])
def test_impossible_batch(batch: int) -> None:
    with pytest.raises(EdgewattError, match="at least one"):
        layers_from_onnx(model([conv("x,w", "y")], W), batch=batch)


def test_unknown_precision_lists_the_known() -> None:
    with pytest.raises(EdgewattError, match="float32, float16"):
        layers_from_onnx(model([conv("x,w", "y")], W), precision="fp16")


# --- files ----------------------------------------------------------------------------------------------------


def test_weights_may_be_inputs_without_data() -> None:
    filled = model(
        [conv("x,w,b", "c"), node("Mul", "g,c", "m"), node("Relu", "m", "y")], W | {"b": (4,), "g": (4, 1, 1)}
    )
    bare = ModelProto()
    bare.CopyFrom(filled)
    for tensor in filled.graph.initializer:
        value = helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        bare.graph.input.insert(0, value)  # before the image, to make it harder
    del bare.graph.initializer[:]
    assert layers_from_onnx(bare) == layers_from_onnx(filled)


def test_local_functions_are_looked_into() -> None:
    body = [helper.make_node("Conv", ["i", "k"], ["o"], name="inner", pads=[1, 1, 1, 1])]
    function = helper.make_function("local", "Block", ["i", "k"], ["o"], body, [helper.make_opsetid("", 17)])
    network = model([helper.make_node("Block", ["x", "w"], ["y"], domain="local")], W)
    network.opset_import.append(helper.make_opsetid("local", 1))
    network.functions.append(function)
    assert only(layers_from_onnx(network)).macs == 4 * 64 * 36


def test_file_with_weights(tmp_path: Path) -> None:
    network = model([conv("x,w", "y")], W)
    path = tmp_path / "network.onnx"
    onnx.save(network, str(path))
    assert layers_from_onnx(path) == layers_from_onnx(str(path)) == layers_from_onnx(network)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "empty"), (b"this is no model\n" * 9, "not an"), (b'{"Layers": []}', "not an"), (b"\x00" * 40, "not an")],
)
def test_not_a_network(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "network.onnx"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=reason) as caught:
        layers_from_onnx(path)
    assert caught.value.where == str(path)


def test_truncated_file_is_an_error_wherever_it_ends(tmp_path: Path) -> None:
    content = architecture_path("lenet").read_bytes()
    path = tmp_path / "lenet.onnx"
    for length in range(1, len(content), 97):
        path.write_bytes(content[:length])
        with pytest.raises(FormatError):
            layers_from_onnx(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        layers_from_onnx(tmp_path / "none.onnx")


def test_free_extents_cannot_be_inferred() -> None:
    network = model([conv("x,w", "y")], W, image=(1, 4, "height", 8))
    with pytest.raises(FormatError, match="free dimensions height"):
        layers_from_onnx(network)


def test_unknown_operation_cannot_be_inferred() -> None:
    network = model([helper.make_node("Strange", ["x"], ["y"], name="odd", domain="own")], {})
    network.opset_import.append(helper.make_opsetid("own", 1))
    with pytest.raises(FormatError, match="'odd'"):
        layers_from_onnx(network)


def test_contradicting_shapes_are_an_error() -> None:
    with pytest.raises(FormatError, match="cannot be inferred"):
        layers_from_onnx(model([conv("x,w", "y")], {"w": (4, 5, 3, 3)}))


def test_tensor_that_nothing_writes_is_an_error() -> None:
    with pytest.raises(FormatError, match="'lost'"):
        layers_from_onnx(model([conv("lost,w", "y")], W))


def test_attribute_of_the_wrong_type_is_an_error() -> None:
    network = model([node("MaxPool", "x", "y", kernel_shape=[2, 2], strides="fast")], {})
    network.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4]))
    with pytest.raises(FormatError, match="attribute 'strides' of node 'y'"):
        layers_from_onnx(network)


def test_damaged_names_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "damaged.onnx"
    path.write_bytes(model([conv("x,w", "y")], W).SerializeToString().replace(b"Conv", b"C\xffnv"))
    with pytest.raises(FormatError, match="damaged"):
        layers_from_onnx(path)


def test_newer_file_version_is_read() -> None:
    network = model([conv("x,w", "y")], W)
    network.ir_version = onnx.IR_VERSION + 1
    assert only(layers_from_onnx(network)).parameters == 144
