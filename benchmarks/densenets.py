"""DenseNets as ONNX models without data: networks that do not ship, whose published runtimes priors are tested with.

G. Huang et al., "Densely Connected Convolutional Networks", arXiv 1608.06993: each layer reads all results before it in
its block. The sizes are those of torchvision, which the published runtimes are of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from onnx import ModelProto, NodeProto, TensorProto, helper

#: Growth and layers of each block, and published images/s of TensorRT in float16 on an AGX Xavier: torch2trt of
#: NVIDIA-AI-IOT on GitHub, docs/benchmarks/jetson_xavier.md. DenseNet121 ships, and is among the published results.
PUBLISHED = {
    "densenet161": (48, (6, 12, 36, 24), 43.7),
    "densenet169": (32, (6, 12, 32, 32), 41.7),
    "densenet201": (32, (6, 12, 48, 32), 30.2),
}
#: Channels inside a layer, and after the first convolution, in units of the growth.
_INNER, _FIRST = 4, 2


@dataclass
class _Graph:
    """A graph that grows; every method adds an operation and returns the tensor that it writes."""

    nodes: list[NodeProto] = field(default_factory=list)
    weights: list[TensorProto] = field(default_factory=list)

    def add(self, op: str, inputs: list[str], **attributes: object) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def weight(self, *shape: int) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(helper.make_tensor(name, TensorProto.FLOAT, shape, bytes(4 * prod(shape)), raw=True))
        return name

    def convolution(self, source: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
        size, pads = [kernel, kernel], [kernel // 2] * 4
        weight = self.weight(channels[1], channels[0], *size)
        return self.add("Conv", [source, weight], kernel_shape=size, strides=[stride, stride], pads=pads)

    def normalised(self, source: str, channels: int) -> str:
        scale = self.add("BatchNormalization", [source, *(self.weight(channels) for _ in range(4))])
        return self.add("Relu", [scale])


def densenet(growth: int, blocks: tuple[int, ...]) -> ModelProto:
    """A DenseNet for one image of 224 x 224 points.

    Args:
        growth: Channels that each layer adds.
        blocks: Number of layers of each block.
    """
    graph, channels = _Graph(), _FIRST * growth
    tensor = graph.normalised(graph.convolution("image", (3, channels), 7, 2), channels)
    tensor = graph.add("MaxPool", [tensor], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for index, layers in enumerate(blocks):
        found = [tensor]
        for _ in range(layers):
            joined = found[0] if len(found) == 1 else graph.add("Concat", found, axis=1)
            inner = graph.convolution(graph.normalised(joined, channels), (channels, _INNER * growth), 1)
            result = graph.convolution(graph.normalised(inner, _INNER * growth), (_INNER * growth, growth), 3)
            found, channels = [*found, result], channels + growth
        tensor = graph.normalised(graph.add("Concat", found, axis=1), channels)
        if index < len(blocks) - 1:
            tensor = graph.convolution(tensor, (channels, channels // 2), 1)
            tensor = graph.add("AveragePool", [tensor], kernel_shape=[2, 2], strides=[2, 2])
            channels //= 2
    pooled = graph.add("Flatten", [graph.add("GlobalAveragePool", [tensor])])
    classes = graph.add("Gemm", [pooled, graph.weight(1000, channels), graph.weight(1000)], transB=1)
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
        for name, shape in (("image", (1, 3, 224, 224)), (classes, (1, 1000)))
    ]
    made = helper.make_graph(graph.nodes, "densenet", *ends, initializer=graph.weights)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)])
