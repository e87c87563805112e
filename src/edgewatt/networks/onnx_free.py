"""Operations that cost nothing: their result is their input under another shape or name."""

from __future__ import annotations

from onnx import TensorProto

from edgewatt.networks.onnx_graph import Node, OnnxGraph
from edgewatt.networks.windows import Shape

_RENAMES = frozenset({"Identity", "Dropout", "Flatten", "Reshape", "Squeeze", "Unsqueeze"})
_QUANTISATION = frozenset({"QuantizeLinear", "DequantizeLinear"})  # part of the layers around it
_POOLINGS = frozenset({"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"})
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16})


def free_sources(graph: OnnxGraph) -> dict[str, str]:
    """For each result of a free operation the tensor that it really is, through chains of them."""
    sources: dict[str, str] = {}
    for node in graph.nodes:
        if _is_free(node, graph):
            source = graph.activations(node)[0]
            sources[node.outputs[0]] = sources.get(source, source)
    return sources


def _is_free(node: Node, graph: OnnxGraph) -> bool:
    if node.op in _RENAMES or node.op in _QUANTISATION:
        return True
    shape, result = graph.shape(node.input(0)), graph.shape(node.outputs[0])
    if node.op == "Cast":  # one type for all floating-point tensors is decided later
        return {graph.types.get(node.input(0)), graph.types.get(node.outputs[0])} <= _FLOATS
    if node.op == "Concat":
        return len(node.inputs) == 1
    if node.op == "Transpose":
        return _keeps_memory(node.integers("perm") or tuple(reversed(range(len(shape)))), shape)
    if node.op in _POOLINGS:  # adaptive pooling of what has the wanted size already
        window = node.integers("kernel_shape") or shape[2:]
        return shape == result and all(size == 1 for size in window)
    return False


def _keeps_memory(order: Shape, shape: Shape) -> bool:
    """Whether a transposition moves nothing but extents of one."""
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved)
