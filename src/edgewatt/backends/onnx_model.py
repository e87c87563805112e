"""An ONNX file made ready to run: weights filled, every operation named once, the input of the wanted shape."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from edgewatt.backends.base import LoadSettings
from edgewatt.backends.network import Network
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.networks.layer import unique_names
from edgewatt.networks.onnx_inputs import activation_inputs
from edgewatt.networks.weights import with_random_weights


def runnable_model(network: Network, settings: LoadSettings) -> ModelProto:
    """Load an ONNX network so that it can be run.

    Args:
        network: An ONNX network.
        settings: Its input's shape, and the seed of its weights where it has none.

    Raises:
        EdgewattError: The network is not ONNX, or its input cannot have that shape.
        FormatError: The file is missing, no ONNX model or a truncated one, or its input's shape is not fixed.
    """
    if network.kind != "onnx":
        raise EdgewattError("only an ONNX file can be run here", where=network.path, fix="Give the network as ONNX")
    try:
        model = onnx.load(network.path)
    except OSError as error:
        raise FormatError.of_system(error, "cannot be read", network.path) from error
    except DecodeError as error:
        raise FormatError(
            "not an ONNX file, or a truncated one", where=network.path, fix="Export the network to ONNX again"
        ) from error
    if not model.graph.node:
        raise FormatError("the network has no operations", where=network.path, fix="Export the network to ONNX again")
    _name_operations(model.graph.node)
    if settings.input_shape is not None:
        _set_input_shape(model, settings.input_shape, network)
    if network.random_weights:
        model = with_random_weights(model, settings.seed)
    input_shapes(model, network)
    return model


def network_inputs(model: ModelProto) -> list[ValueInfoProto]:
    """The inputs that a cycle is fed with."""
    names = activation_inputs(model)
    return [value for value in model.graph.input if value.name in names]


def input_shapes(model: ModelProto, network: Network) -> dict[str, tuple[int, ...]]:
    """Shape of each input.

    Raises:
        FormatError: A shape is not fixed.
    """
    shapes = {}
    for value in network_inputs(model):
        dims = value.type.tensor_type.shape.dim
        shapes[value.name] = tuple(dim.dim_value for dim in dims)
        if any(dim.dim_value < 1 for dim in dims):
            shown = ",".join(str(dim.dim_value or dim.dim_param or "?") for dim in dims)
            raise FormatError(
                f"the shape of input {value.name!r} is not fixed: {shown}",
                where=network.path,
                fix="Give one, for instance --input-shape 1,3,224,224",
            )
    return shapes


def _name_operations(nodes: Sequence[NodeProto]) -> None:
    """Name operations without a name by type and position, and tell apart those that share one."""
    names = unique_names([node.name or f"{node.op_type}_{index}" for index, node in enumerate(nodes)])
    for node, name in zip(nodes, names, strict=True):
        node.name = name


def _set_input_shape(model: ModelProto, shape: tuple[int, ...], network: Network) -> None:
    inputs = network_inputs(model)
    dims = inputs[0].type.tensor_type.shape.dim
    if len(dims) != len(shape) or any(size < 1 for size in shape):
        raise EdgewattError(
            f"the input {inputs[0].name!r} has {len(dims)} dimensions and cannot have the shape {list(shape)}",
            where=network.path,
            fix="Give one size from 1 for each of its dimensions (--input-shape)",
        )
    old = tuple(dim.dim_value for dim in dims)
    if old == shape:
        return
    for dim, size in zip(dims, shape, strict=True):
        dim.Clear()
        dim.dim_value = size
    if old[0] > 0 and old[0] != shape[0]:
        _rebatch_targets(model, old[0], shape[0])
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    try:
        onnx.shape_inference.infer_shapes(_without_weight_data(model), strict_mode=True, data_prop=True)
    except Exception as error:  # the C++ checker raises several types of its own
        raise EdgewattError(
            f"the network does not work on an input of {list(shape)}: {str(error).strip().splitlines()[-1][:200]}",
            where=network.path,
            fix="Give another --input-shape, or export the network with the wanted one",
        ) from error


def _rebatch_targets(model: ModelProto, old: int, new: int) -> None:
    """Put the new batch into the constant targets of reshapes, which exporters fill with the old one."""
    targets = {node.input[1] for node in model.graph.node if node.op_type in ("Reshape", "Expand")}
    for tensor in model.graph.initializer:
        if tensor.name in targets:
            value = numpy_helper.to_array(tensor).copy()
            if value.size and value[0] > 0 and value[0] % old == 0:
                value[0] = value[0] // old * new
                tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))


def _without_weight_data(model: ModelProto) -> ModelProto:
    """A copy with large weights declared only: inference needs their shapes, and has a limit of 2 GB."""
    light = ModelProto(ir_version=max(model.ir_version, 4))
    light.opset_import.extend(model.opset_import)
    light.functions.extend(model.functions)
    light.graph.name = model.graph.name or "network"
    light.graph.node.extend(model.graph.node)
    light.graph.output.extend(model.graph.output)
    light.graph.input.extend(model.graph.input)
    declared = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        if len(tensor.dims) <= 1 and sum(tensor.dims) <= 64:
            light.graph.initializer.append(tensor)
        elif tensor.name not in declared:
            light.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    return light
