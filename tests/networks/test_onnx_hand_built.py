"""Small networks whose layers were worked out by hand: every kind of window, batch and precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

from edgewatt.networks.architectures import architecture_names, network_layers
from edgewatt.networks.layer import Layer, LayerKind


def write_network(path: Path, nodes: list[NodeProto], weights: dict[str, tuple[int, ...]], image: list[Any]) -> Path:
    """Write a network with one input `x` and one output `y`."""
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), str(path))
    return path


def node(operation: str, inputs: list[str], output: str = "y", **attributes: Any) -> NodeProto:
    return helper.make_node(operation, inputs, [output], name=output, **attributes)


def only_layer(path: Path, nodes: list[NodeProto], weights: dict[str, tuple[int, ...]], **options: Any) -> Layer:
    found = network_layers(write_network(path / "n.onnx", nodes, weights, [1, 8, 10, 12]), **options)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("attributes", "weight", "operation", "output", "macs"),
    [
        # Two groups of four input channels each: 6 x 10 x 12 outputs of 4 x 9.
        ({"group": 2, "pads": [1, 1, 1, 1]}, (6, 4, 3, 3), "convolution", (1, 6, 10, 12), 6 * 120 * 4 * 9),
        # A kernel of 3 at spacing 3 spans 7: 10 - 6 = 4 and 12 - 6 = 6 outputs.
        ({"dilations": [3, 3]}, (6, 8, 3, 3), "convolution", (1, 6, 4, 6), 6 * 24 * 8 * 9),
        ({"dilations": [2, 1], "group": 4}, (8, 2, 3, 3), "convolution", (1, 8, 6, 10), 8 * 60 * 2 * 9),
        ({"group": 8, "strides": [2, 3]}, (8, 1, 2, 3), "depthwise", (1, 8, 5, 4), 8 * 20 * 6),
        # Depthwise with two filters a channel.
        ({"group": 8}, (16, 1, 1, 1), "depthwise", (1, 16, 10, 12), 16 * 120),
        ({}, (5, 8, 1, 12), "convolution", (1, 5, 10, 1), 5 * 10 * 8 * 12),
    ],
)
def test_convolutions(
    tmp_path: Path, attributes: dict[str, Any], weight: tuple[int, ...], operation: str, output: Any, macs: int
) -> None:
    layer = only_layer(tmp_path, [node("Conv", ["x", "w"], **attributes)], {"w": weight}, precision="float32")
    assert (layer.kind, layer.operation) == (LayerKind.CONVOLUTIONAL, operation)
    assert (layer.output_shape, layer.macs, layer.groups) == (output, macs, attributes.get("group", 1))
    assert layer.dilation == tuple(attributes.get("dilations", (1, 1)))
    assert layer.stride == tuple(attributes.get("strides", (1, 1)))
    assert layer.weight_bytes == 4 * int(np.prod(weight)) == 4 * layer.parameters


@pytest.mark.parametrize(
    ("attributes", "weight", "output"),
    [
        # (size - 1) x stride + spacing x (kernel - 1) + 1 - padding + what is added at the end.
        ({"strides": [2, 2], "output_padding": [1, 1], "pads": [1, 1, 1, 1]}, (8, 5, 3, 3), (1, 5, 20, 24)),
        ({"strides": [3, 1], "dilations": [2, 2]}, (8, 5, 3, 2), (1, 5, 32, 14)),
        ({"group": 4}, (8, 3, 2, 2), (1, 12, 11, 13)),
    ],
)
def test_transposed(tmp_path: Path, attributes: dict[str, Any], weight: tuple[int, ...], output: Any) -> None:
    layer = only_layer(tmp_path, [node("ConvTranspose", ["x", "w"], **attributes)], {"w": weight})
    assert (layer.kind, layer.operation, layer.output_shape) == (LayerKind.CONVOLUTIONAL, "transposed", output)
    # Every one of the 8 x 10 x 12 inputs is spread over the kernel and its group's filters.
    assert layer.macs == 8 * 120 * weight[1] * weight[2] * weight[3]


@pytest.mark.parametrize(
    ("pool", "kernel", "output"),
    [
        (node("MaxPool", ["x"], kernel_shape=[3, 3], dilations=[2, 2]), (3, 3), (1, 8, 6, 8)),
        (node("AveragePool", ["x"], kernel_shape=[2, 3], strides=[2, 3], pads=[0, 0, 0, 0]), (2, 3), (1, 8, 5, 4)),
        (node("AveragePool", ["x"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), (3, 3), (1, 8, 5, 6)),
        (node("GlobalAveragePool", ["x"]), (10, 12), (1, 8, 1, 1)),
        (node("GlobalMaxPool", ["x"]), (10, 12), (1, 8, 1, 1)),
    ],
)
def test_pooling(tmp_path: Path, pool: NodeProto, kernel: Any, output: Any) -> None:
    layer = only_layer(tmp_path, [pool], {}, precision="float16")
    assert (layer.kind, layer.kernel, layer.output_shape) == (LayerKind.POOLING, kernel, output)
    assert (layer.macs, layer.parameters, layer.input_bytes) == (0, 0, 2 * 8 * 120)
    assert layer.output_bytes == 2 * int(np.prod(output))


def test_free_batch_of_a_file(tmp_path: Path) -> None:
    nodes = [node("Conv", ["x", "w"], "a"), node("Relu", ["a"], "y")]
    path = write_network(tmp_path / "n.onnx", nodes, {"w": (4, 3, 1, 1)}, ["N", 3, 5, 7])
    assert [layer.input_shape for layer in network_layers(path, batch=6)] == [(6, 3, 5, 7)]


@pytest.mark.parametrize("name", architecture_names())
def test_every_architecture_takes_batch_and_precision(name: str) -> None:
    one, three = network_layers(name, precision="int8"), network_layers(name, precision="int8", batch=3)
    assert [(x.name, x.kind, x.kernel) for x in three] == [(x.name, x.kind, x.kernel) for x in one]
    assert [x.macs for x in three] == [3 * x.macs for x in one]
    assert [x.parameters for x in three] == [x.parameters for x in one]
    assert {x.precision for x in three} == {"int8"}
    convolutions = [x for x in three if x.kind is LayerKind.CONVOLUTIONAL]
    assert {x.input_shape[0] for x in convolutions} == {3}
    # Concatenations, slices and additions make a convolution read more or less than its first input.
    assert any(x.input_bytes == int(np.prod(x.input_shape)) for x in convolutions)
