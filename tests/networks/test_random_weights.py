from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgewatt.networks.architectures import architecture_path
from edgewatt.networks.weights import with_random_weights


def test_weights_are_drawn_from_the_stated_distribution() -> None:
    model = onnx.load(architecture_path("lenet"))
    filled = with_random_weights(model, seed=1)
    given = {tensor.name for tensor in model.graph.initializer}
    drawn = [tensor for tensor in filled.graph.initializer if tensor.name not in given]
    values = np.concatenate([numpy_helper.to_array(tensor).ravel() for tensor in drawn])
    every = sum(int(np.prod(tensor.dims)) for tensor in filled.graph.initializer if tensor.data_type == 1)
    # LeNet-5's parameters: 6 x (25 + 1), 16 x (6 x 25 + 1), and dense layers of 400, 120, 84 and 10 units.
    assert every == 6 * 26 + 16 * 151 + 120 * 401 + 84 * 121 + 10 * 85
    assert values.std() == pytest.approx(0.02, rel=0.02)
    assert abs(values.mean()) < 4 * 0.02 / np.sqrt(values.size)
    assert len(model.graph.initializer) < len(filled.graph.initializer), "the model itself is left alone"


def test_the_seed_decides() -> None:
    model = onnx.load(architecture_path("lenet"))
    assert with_random_weights(model, 5) == with_random_weights(model, 5)
    assert with_random_weights(model, 5) != with_random_weights(model, 6)


@pytest.mark.parametrize("name", ["lenet", "mobilenet_v3_small", "shufflenet_v2_x1_0"])
def test_a_filled_network_gives_finite_results(name: str) -> None:
    filled = with_random_weights(onnx.load(architecture_path(name)))
    session = onnxruntime.InferenceSession(filled.SerializeToString(), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    (result,) = session.run(None, {given.name: np.random.default_rng(0).normal(size=given.shape).astype(np.float32)})
    assert np.isfinite(result).all()
    assert result.std() > 0


def test_given_weights_and_types_are_kept_and_variances_are_positive() -> None:
    names = ["scale", "shift", "mean", "variance"]
    node = helper.make_node("BatchNormalization", ["x", *names], ["y"])
    shape = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT16, [64]) for name in names}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [1, 64, 2, 2]), *shape.values()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [1, 64, 2, 2])],
        [numpy_helper.from_array(np.full(64, 7, np.float16), "shift")],
    )
    filled = with_random_weights(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in filled.graph.initializer}
    assert set(values) == set(names)
    assert all(value.dtype == np.float16 for value in values.values())
    assert (values["shift"] == 7).all()
    assert (values["variance"] >= 1).all()
    assert (values["scale"] < 0).any()
