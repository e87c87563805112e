"""Weights without data: declared with their shapes until a network is really run.

A network of many copies of a layer is written and read many times; what its weights take in memory they take only
while it is loaded. The values are then drawn, each tensor's from its own name, so that the same network always gets
the same ones: from N(0, 0.02), as `edgewatt.networks.weights` does it and for its reasons. Zeros and denormal numbers
would cost other times and powers than real ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from zlib import crc32

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from edgewatt.networks.onnx_inputs import ALL_ACTIVATIONS, activation_inputs

#: A constant with fewer elements may be a shape, an axis or a limit, whose value matters.
STRUCTURE_BELOW = 65
#: Operations that read nothing else but weights beside their input.
_WEIGHTED = frozenset(
    {"Conv", "ConvTranspose", "Gemm", "BatchNormalization", "InstanceNormalization", "LayerNormalization"}
)
_SPREAD = 0.02
_FLOATS = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16, TensorProto.DOUBLE: np.float64}


def hollow_tensor(name: str, kind: int, shape: Sequence[int]) -> TensorProto:
    """A weight without data.

    Args:
        name: Its name.
        kind: ONNX's number for its element type.
        shape: Its dimensions.
    """
    # The mark of data that is kept elsewhere: whoever only wants shapes does not look for it then.
    return TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)


def is_hollow(tensor: TensorProto) -> bool:
    """Whether a tensor is one of `hollow_tensor`'s."""
    return tensor.data_location == TensorProto.EXTERNAL and not tensor.external_data


def hollowed(model: ModelProto) -> ModelProto:
    """A copy of a network without the data of its weights.

    Weights that the file declares as inputs without data become hollow weights, too. What may be a shape, an axis or a
    limit keeps its value.

    Args:
        model: The network; it is not changed.
    """
    activations = activation_inputs(model)
    given = {tensor.name for tensor in model.graph.initializer}
    result = ModelProto(ir_version=max(model.ir_version, 4), producer_name=model.producer_name)
    result.opset_import.extend(model.opset_import)
    result.functions.extend(model.functions)
    result.metadata_props.add(key=ALL_ACTIVATIONS, value="1")
    result.graph.name = model.graph.name or "network"
    result.graph.node.extend(model.graph.node)
    result.graph.output.extend(model.graph.output)
    result.graph.value_info.extend(model.graph.value_info)
    readers: dict[str, set[str]] = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, set()).add(node.op_type)
    for tensor in model.graph.initializer:
        read_as_weight = bool(readers.get(tensor.name)) and readers[tensor.name] <= _WEIGHTED
        weight = tensor.data_type in _FLOATS and (prod(tensor.dims) >= STRUCTURE_BELOW or read_as_weight)
        result.graph.initializer.append(
            hollow_tensor(tensor.name, tensor.data_type, tensor.dims) if weight or is_hollow(tensor) else tensor
        )
    for value in model.graph.input:
        if value.name in activations:
            result.graph.input.append(value)
        elif value.name not in given:
            kind = value.type.tensor_type
            result.graph.initializer.append(
                hollow_tensor(value.name, kind.elem_type, [dim.dim_value for dim in kind.shape.dim])
            )
    return result


def hollow_bytes(model: ModelProto) -> int:
    """Bytes that a network's hollow weights take once they are filled."""
    return sum(
        prod(tensor.dims) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        for tensor in model.graph.initializer
        if is_hollow(tensor)
    )


def filled(model: ModelProto, seed: int = 0) -> ModelProto:
    """A copy of a network whose hollow weights have data.

    Args:
        model: The network; it is not changed.
        seed: From 0.
    """
    variances = {node.input[4] for node in model.graph.node if node.op_type == "BatchNormalization"}
    result = ModelProto()
    result.CopyFrom(model)
    for tensor in result.graph.initializer:
        if is_hollow(tensor):
            tensor.CopyFrom(_drawn(tensor, tensor.name in variances, seed))
    return result


def _drawn(tensor: TensorProto, is_variance: bool, seed: int) -> TensorProto:
    random = np.random.default_rng([seed, crc32(tensor.name.encode())])
    dtype = _FLOATS.get(tensor.data_type) or helper.tensor_dtype_to_np_dtype(tensor.data_type)
    shape = tuple(tensor.dims)
    if np.issubdtype(dtype, np.integer):
        information = np.iinfo(dtype)
        least, most = max(information.min, -127), min(information.max, 127)
        return numpy_helper.from_array(random.integers(least, most, shape, endpoint=True).astype(dtype), tensor.name)
    if dtype == np.bool_:
        return numpy_helper.from_array(random.integers(0, 2, shape).astype(dtype), tensor.name)
    numbers = random.standard_normal(shape, dtype=np.float32) * _SPREAD
    if is_variance:
        numbers = 1 + np.abs(numbers)
    return numpy_helper.from_array(numbers.astype(dtype), tensor.name)
