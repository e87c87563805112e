"""Concatenations that have to copy."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from edgewatt.networks.architectures import network_layers
from edgewatt.networks.concatenation import copied_parts
from edgewatt.networks.onnx_graph import read_graph
from edgewatt.networks.onnx_layers import layers_from_onnx


def _model(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, None)] for name in ("y",)]
    source = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 8, 8))
    graph = helper.make_graph(list(nodes), "g", [source], *ends)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


def _pool(source: str, result: str) -> onnx.NodeProto:
    return helper.make_node("MaxPool", [source], [result], name=result, kernel_shape=[3, 3], pads=[1] * 4)


def _concat(result: str, *sources: str) -> onnx.NodeProto:
    return helper.make_node("Concat", list(sources), [result], name=result, axis=1)


def test_a_part_of_two_concatenations_is_copied_into_the_second() -> None:
    model = _model(
        _pool("x", "a"),
        _pool("a", "b"),
        _concat("ab", "a", "b"),
        _pool("ab", "c"),
        _concat("abc", "a", "b", "c"),
        _pool("abc", "y"),
    )
    assert copied_parts(read_graph(model, None)) == {"abc": ["a", "b"]}
    copies = {layer.name: (layer.copies, layer.copied_bytes) for layer in layers_from_onnx(model)}
    # Two tensors of 4 x 8 x 8 values in float16, read by the last pooling.
    assert copies == {"a": (0, 0), "b": (0, 0), "c": (0, 0), "y": (2, 2 * 4 * 64 * 2)}


def test_a_concatenation_is_made_once_for_all_that_read_it() -> None:
    model = _model(
        _pool("x", "a"),
        _concat("aa", "a", "a"),
        _pool("aa", "b"),
        _pool("aa", "c"),
        _concat("bc", "b", "c"),
        _pool("bc", "y"),
    )
    copies = {layer.name: layer.copies for layer in layers_from_onnx(model)}
    # A tensor that stands twice in one concatenation cannot be in both places either.
    assert copies == {"a": 0, "b": 1, "c": 0, "y": 0}


def test_nested_concatenations_are_placed_as_a_whole() -> None:
    model = _model(
        _pool("x", "a"),
        _pool("x", "b"),
        _pool("x", "c"),
        _concat("ab", "a", "b"),
        _concat("abc", "ab", "c"),
        _pool("abc", "y"),
    )
    assert copied_parts(read_graph(model, None)) == {}


def test_densely_connected_networks_copy_hundreds_of_tensors() -> None:
    # A block of n layers joins n + 1 tensors n times, each new one in one place: n (n + 1) / 2 - 1 copies.
    expected = sum(n * (n + 1) // 2 - 1 for n in (6, 12, 24, 16))
    assert sum(layer.copies for layer in network_layers("densenet121")) == expected == 531
    for name in ("googlenet", "inception_v3", "squeezenet1_0", "resnet18"):
        assert not any(layer.copies for layer in network_layers(name))
