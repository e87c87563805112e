from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_networks import save, small_network

from edgewatt.backends.base import LoadSettings
from edgewatt.backends.network import Network, find_network
from edgewatt.backends.onnx_model import input_shapes, runnable_model
from edgewatt.errors import EdgewattError, FormatError


def _network(tmp_path: Path, **kwargs: object) -> Network:
    return find_network(save(small_network(**kwargs), tmp_path))  # type: ignore[arg-type]


def test_operations_without_a_name_get_one_each(tmp_path: Path) -> None:
    model = runnable_model(_network(tmp_path, names=False), LoadSettings())
    assert [node.name for node in model.graph.node] == [
        "Conv_0", "Relu_1", "MaxPool_2", "Conv_3", "GlobalAveragePool_4", "Flatten_5", "Gemm_6",
    ]  # fmt: skip


def test_operations_that_share_a_name_are_told_apart(tmp_path: Path) -> None:
    model = small_network()
    model.graph.node[3].name = "/conv1"
    loaded = runnable_model(find_network(save(model, tmp_path)), LoadSettings())
    assert [loaded.graph.node[index].name for index in (0, 3)] == ["/conv1", "/conv1 (2)"]


@pytest.mark.parametrize("shape", [(4, 3, 16, 16), (1, 3, 24, 20)])
def test_another_input_shape_runs(tmp_path: Path, shape: tuple[int, ...]) -> None:
    network = _network(tmp_path)
    model = runnable_model(network, LoadSettings(input_shape=shape))
    assert input_shapes(model, network) == {"x": shape}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.zeros(shape, np.float32)})
    assert result.shape == (shape[0], 10)


def test_another_batch_goes_into_reshapes(tmp_path: Path) -> None:
    model = small_network()
    flatten = next(node for node in model.graph.node if node.op_type == "Flatten")
    flatten.op_type = "Reshape"
    flatten.input.append("target")
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 8], np.int64), "target"))
    loaded = runnable_model(find_network(save(model, tmp_path)), LoadSettings(input_shape=(3, 3, 16, 16)))
    session = onnxruntime.InferenceSession(loaded.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.zeros((3, 3, 16, 16), np.float32)})
    assert result.shape == (3, 10)


def test_an_impossible_input_shape_is_refused(tmp_path: Path) -> None:
    model = small_network()
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((16, 16), np.float32), "position"))
    model.graph.node.insert(1, helper.make_node("Add", ["conv1", "position"], ["placed"]))
    model.graph.node[2].input[0] = "placed"
    network = find_network(save(model, tmp_path))
    with pytest.raises(EdgewattError, match="4 dimensions and cannot have the shape"):
        runnable_model(network, LoadSettings(input_shape=(1, 3, 16)))
    with pytest.raises(EdgewattError, match=r"does not work on an input of .1, 3, 24, 20."):
        runnable_model(network, LoadSettings(input_shape=(1, 3, 24, 20)))


def test_a_free_dimension_needs_a_shape(tmp_path: Path) -> None:
    model = small_network()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    network = find_network(save(model, tmp_path))
    with pytest.raises(FormatError, match="not fixed: batch,3,16,16"):
        runnable_model(network, LoadSettings())
    assert input_shapes(runnable_model(network, LoadSettings(input_shape=(2, 3, 16, 16))), network) == {
        "x": (2, 3, 16, 16)
    }


def test_files_that_are_no_networks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"\x08\x07\xff\xff\xff")
    with pytest.raises(FormatError, match="not an ONNX file"):
        runnable_model(Network("broken", path, "onnx"), LoadSettings())
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="no operations"):
        runnable_model(Network("empty", path, "onnx"), LoadSettings())
    with pytest.raises(EdgewattError, match="only an ONNX file"):
        runnable_model(Network("engine", path, "engine"), LoadSettings())


def test_an_architecture_gets_weights() -> None:
    network = find_network("lenet")
    model = runnable_model(network, LoadSettings(seed=3))
    assert [value.name for value in model.graph.input] == ["input"]
    assert all(tensor.data_type in (TensorProto.FLOAT, TensorProto.INT64) for tensor in model.graph.initializer)
    assert runnable_model(network, LoadSettings(seed=3)) == model
    assert runnable_model(network, LoadSettings(seed=4)) != model
