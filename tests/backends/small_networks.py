"""Small ONNX networks to run, and stand-ins for libraries that need a device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper


def small_network(names: bool = True) -> ModelProto:
    """A padded 3x3 convolution (3 to 8 channels, 16x16), ReLU, 2x2 max pooling, a depthwise 3x3 convolution with
    stride 2, global average pooling and a dense layer of 8 to 10."""
    random = np.random.default_rng(1)

    def weight(name: str, *shape: int) -> TensorProto:
        return numpy_helper.from_array(random.normal(0, 0.1, shape).astype(np.float32), name)

    def node(op: str, inputs: list[str], output: str, **attributes: object) -> onnx.NodeProto:
        return helper.make_node(op, inputs, [output], name=f"/{output}" if names else "", **attributes)

    nodes = [
        node("Conv", ["x", "w1", "b1"], "conv1", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["conv1"], "relu1"),
        node("MaxPool", ["relu1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["pool1", "w2"], "conv2", kernel_shape=[3, 3], strides=[2, 2], group=8),
        node("GlobalAveragePool", ["conv2"], "pool2"),
        node("Flatten", ["pool2"], "flat"),
        node("Gemm", ["flat", "w3", "b3"], "y", transB=1),
    ]
    weights = [
        weight("w1", 8, 3, 3, 3),
        weight("b1", 8),
        weight("w2", 8, 1, 3, 3),
        weight("w3", 10, 8),
        weight("b3", 10),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def save(model: ModelProto, folder: Path, name: str = "small.onnx") -> Path:
    path = folder / name
    onnx.save(model, path)
    return path
