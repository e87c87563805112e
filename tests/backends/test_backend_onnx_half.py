from __future__ import annotations

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper
from small_networks import small_network

from edgewatt.backends.onnx_half import with_float16


def _run(model: ModelProto, feed: dict[str, np.ndarray]) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(None, feed)[0]
    return result


def test_a_half_network_gives_nearly_the_same() -> None:
    model = small_network()
    half = with_float16(model)
    checker.check_model(half, full_check=True)
    given = np.random.default_rng(0).normal(size=(1, 3, 16, 16)).astype(np.float32)
    full, halved = _run(model, {"x": given}), _run(half, {"x": given.astype(np.float16)})
    assert halved.dtype == np.float16
    # Half precision keeps 11 bits; some of the sums lose a few.
    np.testing.assert_allclose(halved, full, atol=5e-3 * np.abs(full).max())
    assert not np.array_equal(halved, full)
    assert model == small_network(), "the network itself is left alone"


def test_weights_beyond_the_range_are_cut_and_infinities_kept() -> None:
    model = small_network()
    weights = np.array([1e6, -1e6, np.inf, 2.0, 0, 0, 0, 0], np.float32)
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(weights, "b1"))
    cut = numpy_helper.to_array(with_float16(model).graph.initializer[1])
    assert cut.tolist() == [65504, -65504, np.inf, 2, 0, 0, 0, 0]


def _graph(nodes: list, weights: list | None = None) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "c", "h", "w"])],
        weights or [],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_what_onnx_prescribes_as_float32_stays() -> None:
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    model = _graph([helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest")], [scales])
    half = with_float16(model)
    assert half.graph.initializer[0].data_type == TensorProto.FLOAT
    checker.check_model(half, full_check=True)
    result = _run(half, {"x": np.ones((1, 2, 4, 4), np.float16)})
    assert (result.shape, result.dtype) == ((1, 2, 8, 8), np.float16)


def test_casts_and_constants_follow() -> None:
    nodes = [
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array([2], np.float32))),
        helper.make_node("Constant", [], ["d"], value_float=0.5),
        helper.make_node("Cast", ["x"], ["whole"], to=TensorProto.INT32),
        helper.make_node("Cast", ["whole"], ["back"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["back", "c"], ["product"]),
        helper.make_node("Shape", ["product"], ["shape"]),
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        helper.make_node("Add", ["product", "zeros"], ["sum"]),
        helper.make_node("Mul", ["sum", "d"], ["y"]),
    ]
    half = with_float16(_graph(nodes))
    checker.check_model(half, full_check=True)
    result = _run(half, {"x": np.full((1, 2, 4, 4), 3.5, np.float16)})
    assert result.dtype == np.float16
    assert (result == 3).all()


def test_branches_are_converted_too() -> None:
    def branch(name: str, value: float) -> object:
        constant = numpy_helper.from_array(np.array([value], np.float32))
        node = helper.make_node("Constant", [], [name], value=constant)
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])])

    condition = numpy_helper.from_array(np.array(True), "condition")
    nodes = [
        helper.make_node("If", ["condition"], ["z"], then_branch=branch("a", 1), else_branch=branch("b", 2)),
        helper.make_node("Add", ["x", "z"], ["y"]),
    ]
    half = with_float16(_graph(nodes, [condition]))
    result = _run(half, {"x": np.ones((1, 2, 4, 4), np.float16)})
    assert result.dtype == np.float16
    assert (result == 2).all()
