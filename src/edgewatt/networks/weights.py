"""Weights for networks that come without: the shipped architectures declare theirs as inputs without data.

A layer's time and power on real hardware hardly depend on the values of its weights, but zeros would be a special case
(switching activity, and runtimes that skip them), and numbers that are too large would overflow in half precision.
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from edgewatt.networks.onnx_inputs import activation_inputs

_SPREAD = 0.02  # standard deviation; a common choice to initialise networks with, small enough for float16
_FLOATS = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16, TensorProto.DOUBLE: np.float64}


def with_random_weights(model: ModelProto, seed: int = 0) -> ModelProto:
    """A copy of a network whose weights without data are filled with random numbers from N(0, 0.02).

    Variances of normalisations, which the network takes a root of, are one plus the absolute value of such numbers.
    Weights that the file has are kept; the same seed gives the same weights.

    Args:
        model: The network; it is not changed.
        seed: From 0.
    """
    activations = activation_inputs(model)
    given = {tensor.name for tensor in model.graph.initializer}
    variances = {node.input[4] for node in model.graph.node if node.op_type == "BatchNormalization"}
    random = np.random.default_rng(seed)
    filled = ModelProto()
    filled.CopyFrom(model)
    del filled.graph.input[:]
    for value in model.graph.input:
        if value.name in activations or value.name in given:
            filled.graph.input.append(value)
            continue
        kind = value.type.tensor_type.elem_type
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        numbers = random.standard_normal(shape, dtype=np.float32) * _SPREAD
        if value.name in variances:
            numbers = 1 + np.abs(numbers)
        dtype = _FLOATS.get(kind) or helper.tensor_dtype_to_np_dtype(kind)
        filled.graph.initializer.append(numpy_helper.from_array(numbers.astype(dtype), value.name))
    return filled
