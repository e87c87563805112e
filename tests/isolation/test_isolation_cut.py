from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper, shape_inference

from edgewatt.backends.base import LoadSettings
from edgewatt.backends.network import Network, find_network
from edgewatt.backends.onnx_model import runnable_model
from edgewatt.backends.onnxruntime import OnnxRuntimeBackend
from edgewatt.isolation.copies import CopyStyle, copy_style, with_copies
from edgewatt.isolation.cut import CannotCut, NetworkCutter, build_key
from edgewatt.isolation.hollow import filled, hollow_bytes, hollowed, is_hollow
from edgewatt.networks.layer import Layer
from edgewatt.networks.onnx_layers import layers_from_onnx


def _architecture(name: str) -> ModelProto:
    return hollowed(runnable_model(replace(find_network(name), random_weights=False), LoadSettings()))


def _bare(layer: Layer) -> Layer:
    """A layer without its names, and without what its network does with its result."""
    return replace(layer, name="", fused=(), copies=0, copied_bytes=0)


def _node(op: str, inputs: list[str], output: str, **attributes: object) -> object:
    return helper.make_node(op, inputs, [output], name=output, **attributes)


def _model(
    nodes: list[object], inputs: dict[str, list[int]], outputs: list[str], weights: dict[str, list[int]]
) -> ModelProto:
    random = np.random.default_rng(0)
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(random.normal(0, 1, shape).astype(np.float32), n) for n, shape in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return shape_inference.infer_shapes(model)


# ResNet18 in float16: conv1, maxpool, avgpool and fc; two different convolutions in the first stage, of four; in each
# of the three others conv1 with stride 2, the downsampling one, conv2 with the addition (twice) and conv1 of block 2.
@pytest.mark.parametrize(("name", "layers", "different"), [("resnet18", 23, 4 + 2 + 3 * 4), ("lenet", 7, 7)])
def test_every_layer_of_a_network_is_cut_as_it_is(name: str, layers: int, different: int) -> None:
    model = _architecture(name)
    expected = layers_from_onnx(model)
    cutter = NetworkCutter(model, [layer.fused for layer in expected])
    keys = set()
    for layer in expected:
        part = cutter.cut(layer.fused)
        keys.add(build_key(part))
        assert [_bare(found) for found in layers_from_onnx(part)] == [_bare(layer)]
    assert (len(expected), len(keys)) == (layers, different)


@pytest.mark.parametrize("name", ["mobilenet_v3_small", "shufflenet_v2_x1_0", "densenet121"])
@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_squeeze_and_excite_shuffles_and_concatenations_are_cut(name: str, precision: str) -> None:
    model = _architecture(name)
    expected = layers_from_onnx(model, precision=precision)
    cutter = NetworkCutter(model, [layer.fused for layer in expected])
    for layer in expected:
        assert [_bare(found) for found in layers_from_onnx(cutter.cut(layer.fused), precision=precision)] == [
            _bare(layer)
        ]


def test_a_cut_layer_computes_what_it_did_in_the_network() -> None:
    """The cut layer's output for the network's own intermediate tensors, with the same weights, is the network's."""
    import onnxruntime

    nodes = [
        _node("Conv", ["x", "w"], "conv", pads=[1, 1, 1, 1], dilations=[1, 1], group=2),
        _node("Sigmoid", ["conv"], "gate"),
        _node("Mul", ["conv", "gate"], "swish"),
        _node("Reshape", ["swish", "shape"], "flat"),
    ]
    model = _model(nodes, {"x": [1, 4, 6, 6]}, ["flat"], {"w": [6, 2, 3, 3]})
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, -1], np.int64), "shape"))
    cutter = NetworkCutter(hollowed(model), [["conv"], ["gate", "swish"]])
    part = cutter.cut(["gate", "swish"])
    assert [node.op_type for node in part.graph.node] == ["Sigmoid", "Mul"]
    x = np.random.default_rng(1).normal(size=(1, 4, 6, 6)).astype(np.float32)
    model.graph.output.append(helper.make_tensor_value_info("conv", TensorProto.FLOAT, [1, 6, 6, 6]))
    flat, conv = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    session = onnxruntime.InferenceSession(part.SerializeToString())
    (found,) = session.run(None, {session.get_inputs()[0].name: conv})
    np.testing.assert_allclose(found.ravel(), flat.ravel(), rtol=1e-6)


def test_what_no_layer_names_goes_with_the_layers_around_it() -> None:
    """ONNX Runtime folds normalisations into the convolution before and padding into the one behind."""
    nodes = [
        _node("Pad", ["x", "pads"], "padded"),
        _node("Conv", ["padded", "w"], "conv"),
        _node("BatchNormalization", ["conv", "s", "b", "m", "v"], "norm"),
        _node("Relu", ["norm"], "relu"),
        _node("Identity", ["relu"], "same"),
        _node("Conv", ["same", "w2"], "last"),
    ]
    weights = {"w": [5, 3, 3, 3], "s": [5], "b": [5], "m": [5], "v": [5], "w2": [2, 5, 1, 1]}
    model = _model(nodes, {"x": [1, 3, 8, 8]}, ["last"], weights)
    model.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "pads"))
    cutter = NetworkCutter(hollowed(shape_inference.infer_shapes(model)), [["conv"], ["relu"], ["last"]])
    parts = {name: cutter.cut([name]) for name in ("conv", "relu", "last")}
    operations = {name: [node.op_type for node in part.graph.node] for name, part in parts.items()}
    assert operations == {"conv": ["Pad", "Conv", "BatchNormalization"], "relu": ["Relu"], "last": ["Conv"]}
    shapes = [[dim.dim_value for dim in part.graph.input[0].type.tensor_type.shape.dim] for part in parts.values()]
    assert shapes == [[1, 3, 8, 8], [1, 5, 8, 8], [1, 5, 8, 8]]


def test_quantised_layers_keep_their_type() -> None:
    scale = [
        numpy_helper.from_array(np.array(value), name) for name, value in (("s", np.float32(0.1)), ("z", np.int8(0)))
    ]
    nodes = [
        _node("QuantizeLinear", ["x", "s", "z"], "q"),
        _node("DequantizeLinear", ["q", "s", "z"], "dq"),
        _node("DequantizeLinear", ["wq", "s", "z"], "w"),
        _node("Conv", ["dq", "w"], "conv"),
        _node("QuantizeLinear", ["conv", "s", "z"], "q2"),
        _node("DequantizeLinear", ["q2", "s", "z"], "dq2"),
        _node("MaxPool", ["dq2"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    model = _model(nodes, {"x": [1, 8, 8, 8]}, ["pool"], {})
    weight = numpy_helper.from_array(np.ones((8, 8, 3, 3), np.int8), "wq")
    model.graph.initializer.extend([*scale, weight])
    model = hollowed(shape_inference.infer_shapes(model))
    expected = layers_from_onnx(model)
    assert [layer.precision for layer in expected] == ["int8", "int8"]
    cutter = NetworkCutter(model, [layer.fused for layer in expected])
    for layer in expected:
        (found,) = layers_from_onnx(cutter.cut(layer.fused))
        assert _bare(found) == _bare(layer)


def test_why_a_layer_cannot_be_cut_is_told() -> None:
    model = _architecture("lenet")
    cutter = NetworkCutter(model, [])
    with pytest.raises(CannotCut, match="no operation /nowhere"):
        cutter.cut(["/nowhere"])
    with pytest.raises(CannotCut, match="no operation"):
        cutter.cut([])
    assert not cutter.knows(["/nowhere"])


def test_hollow_weights_are_filled_alike_and_with_no_special_numbers() -> None:
    model = _model([_node("Conv", ["x", "w"], "y")], {"x": [1, 3, 8, 8]}, ["y"], {"w": [16, 3, 3, 3]})
    hollow = hollowed(model)
    assert [is_hollow(tensor) for tensor in hollow.graph.initializer] == [True]
    assert hollow_bytes(hollow) == 16 * 3 * 3 * 3 * 4
    first, again, other = (filled(hollow, seed) for seed in (0, 0, 1))
    values = numpy_helper.to_array(first.graph.initializer[0])
    assert first.SerializeToString() == again.SerializeToString() != other.SerializeToString()
    assert values.shape == (16, 3, 3, 3)
    assert 0.015 < values.std() < 0.025
    assert (np.abs(values) > np.finfo(np.float32).tiny).all(), "neither zeros nor denormal numbers"


def test_limits_and_shapes_keep_their_values() -> None:
    model = _model([_node("Clip", ["x", "low", "high"], "y")], {"x": [1, 70]}, ["y"], {})
    limits = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in (("low", 0), ("high", 6))]
    model.graph.initializer.extend(limits)
    part = NetworkCutter(hollowed(model), [["y"]]).cut(["y"])
    assert [float(numpy_helper.to_array(tensor)) for tensor in part.graph.initializer] == [0.0, 6.0]


@pytest.mark.parametrize("style", [CopyStyle(), CopyStyle(shared_inputs=True, unused_outputs=True)])
def test_copies_are_whole_networks_with_weights_of_their_own(style: CopyStyle) -> None:
    model = _model([_node("Conv", ["x", "w"], "y")], {"x": [1, 3, 8, 8]}, ["y"], {"w": [16, 3, 3, 3]})
    copies = with_copies(NetworkCutter(hollowed(model), [["y"]]).cut(["y"]), 5, 5, style)
    checker.check_model(filled(copies))
    operations = [node.op_type for node in copies.graph.node]
    assert (operations.count("Conv"), len(copies.graph.initializer)) == (5, 5)
    assert len(copies.graph.input) == (1 if style.shared_inputs else 5)
    assert len(copies.graph.output) == (1 if style.unused_outputs else 5)
    weights = [numpy_helper.to_array(tensor) for tensor in filled(copies).graph.initializer]
    assert not np.array_equal(weights[0], weights[1])


def test_copies_with_the_same_weights_have_inputs_of_their_own() -> None:
    """Else they were one operation, which optimisers run once."""
    model = _model([_node("Conv", ["x", "w"], "y")], {"x": [1, 3, 8, 8]}, ["y"], {"w": [16, 3, 3, 3]})
    copies = with_copies(hollowed(model), 6, 2, CopyStyle(shared_inputs=True))
    assert (len(copies.graph.initializer), len(copies.graph.input)) == (2, 6)
    assert [node.input[1] for node in copies.graph.node] == ["w_v0", "w_v1"] * 3


@pytest.mark.parametrize("copies", [1, 3])
def test_onnx_runtime_runs_copies_whose_results_nobody_reads(copies: int, tmp_path: Path) -> None:
    """So that no result has to be copied out of the network; other backends would leave them out."""
    model = hollowed(_model([_node("Conv", ["x", "w"], "y")], {"x": [1, 3, 8, 8]}, ["y"], {"w": [16, 3, 3, 3]}))
    path = tmp_path / "copies.onnx"
    path.write_bytes(filled(with_copies(model, copies, copies, copy_style("onnxruntime"))).SerializeToString())
    with OnnxRuntimeBackend(threads=1).load(Network("copies", path, "onnx"), LoadSettings()) as loaded:
        assert sorted(loaded.facts.profiled) == [f"y_c{copy}" for copy in range(copies)]
