from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from fake_tensorrt import builder_module
from onnx import ModelProto, TensorProto, helper
from small_networks import small_network
from tensorrt_modules import tensorrt_module

from edgewatt.backends.base import LoadSettings
from edgewatt.backends.network import Network, find_network
from edgewatt.backends.onnx_model import runnable_model
from edgewatt.backends.tensorrt_build import build_engine
from edgewatt.errors import EdgewattError

_NETWORK = Network("small", Path("small.onnx"), "onnx")


def _input_type(content: bytes) -> int:
    return int(ModelProto.FromString(content).graph.input[0].type.tensor_type.elem_type)


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("architecture", ["lenet", "squeezenet1_1"])
def test_the_real_builder_parses_and_builds_an_architecture(architecture: str, precision: str) -> None:
    trt = tensorrt_module("tensorrt_rtx")
    network = find_network(architecture)
    plan = build_engine(trt, runnable_model(network, LoadSettings()), precision, network)
    assert len(plan) > 10_000


def test_the_real_builder_builds_smaller_engines_in_half_precision() -> None:
    trt = tensorrt_module("tensorrt_rtx")
    network = find_network("squeezenet1_1")
    model = runnable_model(network, LoadSettings())
    full, half = (len(build_engine(trt, model, precision, network)) for precision in ("float32", "float16"))
    weights = sum(onnx.numpy_helper.to_array(tensor).size for tensor in model.graph.initializer)
    assert full - half > 1.5 * weights, "two bytes less for each weight, but for what is around them"


def test_what_the_real_parser_refuses_is_told_with_its_reason() -> None:
    trt = tensorrt_module("tensorrt_rtx")
    model = small_network()
    model.graph.node[1].op_type = "OperationOfNobody"
    with pytest.raises(EdgewattError, match=r"TensorRT cannot parse it: operation '/relu1' \(OperationOfNobody\): "):
        build_engine(trt, model, "float32", _NETWORK)


@pytest.mark.parametrize(
    ("version", "creation", "flags", "half_input"),
    [("8.5", 1, ["FP16"], False), ("8.6.1", 1, ["FP16"], False), ("10.3", 1, ["FP16"], False), ("11.4", 2, [], True)],
)
def test_each_version_is_asked_for_half_precision_in_its_way(
    version: str, creation: int, flags: list[str], half_input: bool
) -> None:
    trt = builder_module(version)
    assert build_engine(trt, small_network(), "float16", _NETWORK) == b"plan"
    assert trt.asked["creation"] == creation
    assert trt.asked["config"].flags == flags
    assert _input_type(trt.asked["model"]) == (TensorProto.FLOAT16 if half_input else TensorProto.FLOAT)


@pytest.mark.parametrize("version", ["8.6.1", "10.3", "11.4"])
def test_engines_tell_their_layers_and_have_one_stream(version: str) -> None:
    trt = builder_module(version)
    build_engine(trt, small_network(), "float32", _NETWORK)
    config = trt.asked["config"]
    assert config.profiling_verbosity == "detailed"
    assert config.max_aux_streams == 0
    assert config.flags == []
    assert _input_type(trt.asked["model"]) == TensorProto.FLOAT


def test_a_version_without_auxiliary_streams_is_not_told_of_them() -> None:
    trt = builder_module("8.5")
    build_engine(trt, small_network(), "float32", _NETWORK)
    assert not hasattr(trt.asked["config"], "max_aux_streams")


@pytest.mark.parametrize(
    ("version", "precision", "message"),
    [
        ("10.3", "int8", "not quantised"),
        ("11.4", "float8", "not quantised"),
        ("8.6.1", "bfloat16", r"8\.6\.1\) cannot compute in bfloat16"),
        ("11.4", "bfloat16", "takes a network's types as they are"),
    ],
)
def test_types_that_cannot_be_had_are_refused(version: str, precision: str, message: str) -> None:
    with pytest.raises(EdgewattError, match=message):
        build_engine(builder_module(version), small_network(), precision, _NETWORK)


def test_a_quantised_network_may_be_asked_for_in_int8() -> None:
    model = small_network()
    model.graph.node.append(helper.make_node("DequantizeLinear", ["y", "s"], ["z"]))
    trt = builder_module("10.3")
    build_engine(trt, model, "int8", _NETWORK)
    assert trt.asked["config"].flags == ["INT8"]


@pytest.mark.parametrize(
    ("trouble", "message"),
    [("unparsable", r"cannot parse it: operation '/relu1' \(Relu\): no operator 0"), ("unbuildable", "cannot build")],
)
def test_failures_are_errors_of_the_file(trouble: str, message: str) -> None:
    trt = builder_module("10.3")
    trt.asked[trouble] = True
    with pytest.raises(EdgewattError, match=message) as raised:
        build_engine(trt, small_network(), "float16", _NETWORK)
    assert raised.value.where == "small.onnx"
