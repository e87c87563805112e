"""An ONNX file as a graph whose tensors all have shapes, without the data of its weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, inliner, numpy_helper

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.networks.onnx_batch import set_batch
from edgewatt.networks.onnx_inputs import activation_inputs
from edgewatt.networks.windows import Shape

# What the attributes that are looked at must be; a damaged file may hold anything.
_ATTRIBUTE_TYPES = dict.fromkeys(
    ("strides", "pads", "dilations", "kernel_shape", "output_padding", "axes", "perm"), AttributeProto.INTS
) | dict.fromkeys(("group", "ceil_mode", "transA"), AttributeProto.INT)
_STRUCTURE_BELOW = 65  # elements: a smaller constant may be a shape, an axis or a scalar that inference needs


@dataclass(frozen=True)
class Node:
    """An operation of the graph.

    Attributes:
        index: Its position in the file, which is a topological order.
        name: Its name, made up from its operator and position where the file has none.
        op: Operator.
        inputs: Names of the tensors that it reads, empty for one that is left out.
        outputs: Names of the tensors that it writes.
        attributes: Values of its attributes, strings decoded.
    """

    index: int
    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    def input(self, position: int) -> str:
        """The name at a position, empty where there is none."""
        return self.inputs[position] if position < len(self.inputs) else ""

    def integers(self, attribute: str) -> tuple[int, ...]:
        """An attribute that is a list of whole numbers, empty where it is missing."""
        return tuple(int(value) for value in self.attributes.get(attribute) or ())


@dataclass(frozen=True)
class OnnxGraph:
    """A network's operations and tensors.

    Attributes:
        nodes: Operations that work on activations, in the file's order.
        shapes: Dimensions of every tensor.
        types: ONNX element types of tensors, where known.
        constants: Names of tensors that do not depend on the network's input: weights and what is made of them.
        values: Contents of small constants.
        outputs: Names of the network's results.
    """

    nodes: tuple[Node, ...]
    shapes: Mapping[str, Shape]
    types: Mapping[str, int]
    constants: frozenset[str]
    values: Mapping[str, npt.NDArray[Any]]
    outputs: frozenset[str]

    def activations(self, node: Node) -> list[str]:
        """The inputs of a node that depend on the network's input, in order."""
        return [name for name in node.inputs if name and name not in self.constants]

    def shape(self, name: str) -> Shape:
        """A tensor's dimensions, none for one that is left out."""
        return self.shapes.get(name, ())


def read_graph(source: str | Path | ModelProto, batch: int | None = None) -> OnnxGraph:
    """Read an ONNX network and work out every shape.

    Args:
        source: A file, or a model in memory (it is not changed).
        batch: Inputs at once; None keeps the file's batch.

    Raises:
        EdgewattError: `batch` is not positive.
        FormatError: The file is missing, empty or no ONNX model, its batch is free and none was given, or its
            shapes cannot be inferred.
    """
    if batch is not None and batch < 1:
        raise EdgewattError(f"a batch of {batch} is not possible", fix="Give a batch of at least one")
    model, where = (source, "model") if isinstance(source, ModelProto) else (_load(Path(source)), str(source))
    if model.functions:
        model = inliner.inline_local_functions(model)
    _check(model, where)
    activations = activation_inputs(model)
    light = _without_weights(model)
    if set_batch(light, activations, batch, where) or not _has_all_shapes(light):
        light = _infer(light, where)
    return _graph(light, activations, where)


def _load(path: Path) -> ModelProto:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FormatError.of_system(error, "cannot be read", path) from error
    if not content:
        raise FormatError("the file is empty", where=path, fix="Export the network again")
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise FormatError(
            "not an ONNX file, or a truncated one", where=path, fix="Export the network to ONNX again"
        ) from error
    return model


def _check(model: ModelProto, where: str) -> None:
    """Make sure that it is a network whose every tensor comes from somewhere."""
    graph, fix = model.graph, "Export the network to ONNX again"
    if not graph.node or not graph.output or not model.opset_import:
        raise FormatError("not a whole ONNX network: it lacks operations or outputs", where=where, fix=fix)
    texts = (text for node in graph.node for text in (node.name, node.op_type, *node.input, *node.output))
    if not all(isinstance(text, str) for text in texts):
        raise FormatError("the file is damaged: a name is no text", where=where, fix=fix)
    known = {tensor.name for tensor in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    known |= {value.name for value in graph.input} | {""}
    for node in graph.node:
        missing = [name for name in node.input if name not in known]
        if missing:
            name = node.name or node.op_type
            raise FormatError(f"node {name!r} reads {missing[0]!r}, which nothing writes", where=where, fix=fix)
        known.update(node.output)
    lost = [output.name for output in graph.output if output.name not in known]
    if lost:
        raise FormatError(f"nothing writes the network's output {lost[0]!r}", where=where, fix=fix)


def _without_weights(model: ModelProto) -> ModelProto:
    """A copy with weights as inputs without data: shapes follow from the rest, in a fraction of the memory.

    Constant nodes become initializers.
    """
    light = ModelProto(ir_version=min(max(model.ir_version, 4), onnx.IR_VERSION))
    light.opset_import.extend(model.opset_import)
    light.graph.name = model.graph.name or "network"
    light.graph.output.extend(model.graph.output)
    light.graph.value_info.extend(model.graph.value_info)
    tensors = list(model.graph.initializer)
    initialised = {tensor.name for tensor in tensors}
    light.graph.input.extend(value for value in model.graph.input if value.name not in initialised)
    for node in model.graph.node:
        constant = _constant(node)
        if constant is None:
            light.graph.node.append(node)
        else:
            tensors.append(constant)
    for tensor in tensors:
        if prod(tensor.dims) < _STRUCTURE_BELOW and tensor.data_location != TensorProto.EXTERNAL:
            light.graph.initializer.append(tensor)
        else:
            light.graph.input.append(_weight(tensor.name, tensor.data_type, tensor.dims))
    for sparse in model.graph.sparse_initializer:
        light.graph.input.append(_weight(sparse.values.name, sparse.values.data_type, sparse.dims))
    return light


def _weight(name: str, kind: int, dims: Iterable[int]) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(dims))


def _constant(node: NodeProto) -> TensorProto | None:
    """The value of a Constant node as a tensor with the name of its output; None for others."""
    if node.op_type != "Constant" or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    types = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    if attribute.name == "value":
        tensor = TensorProto()
        tensor.CopyFrom(attribute.t)
        tensor.name = node.output[0]
        return tensor
    if attribute.name in types:
        values = np.asarray(helper.get_attribute_value(attribute), dtype=types[attribute.name])
        return numpy_helper.from_array(values, node.output[0])
    return None


def _has_all_shapes(light: ModelProto) -> bool:
    values = (*light.graph.value_info, *light.graph.output)
    known = {value.name for value in values if _static_shape(value) is not None}
    return all(name in known or not name for node in light.graph.node for name in node.output)


def _infer(light: ModelProto, where: str) -> ModelProto:
    del light.graph.value_info[:]
    for output in light.graph.output:
        output.type.tensor_type.ClearField("shape")
    try:
        return onnx.shape_inference.infer_shapes(light, strict_mode=True, data_prop=True)
    except Exception as error:  # the checker written in C++ raises several types of its own
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise FormatError(
            f"shapes cannot be inferred: {reason}",
            where=where,
            fix="Export the network with the wanted batch and input size",
        ) from error


def _static_shape(value: ValueInfoProto) -> Shape | None:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
        return None
    dims = tuple(dim.dim_value for dim in tensor.shape.dim)
    return None if any(dim < 0 for dim in dims) else dims


def _graph(light: ModelProto, activations: frozenset[str], where: str) -> OnnxGraph:
    shapes: dict[str, Shape] = {tensor.name: tuple(tensor.dims) for tensor in light.graph.initializer}
    types: dict[str, int] = {tensor.name: tensor.data_type for tensor in light.graph.initializer}
    for value in (*light.graph.input, *light.graph.value_info, *light.graph.output):
        shape = _static_shape(value)
        if shape is not None:
            shapes[value.name], types[value.name] = shape, value.type.tensor_type.elem_type
    constants = {value.name for value in light.graph.input} - activations
    constants |= {tensor.name for tensor in light.graph.initializer}
    nodes = []
    for index, node in enumerate(light.graph.node):
        # What only reads constants is worked out when the engine is built; a static shape is a constant, too.
        if node.op_type in ("Shape", "Size") or constants.issuperset(filter(None, node.input)):
            constants.update(node.output)
        else:
            nodes.append(_node(index, node, where))
    _check_shapes(nodes, shapes, where)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in light.graph.initializer}
    outputs = frozenset(output.name for output in light.graph.output)
    return OnnxGraph(tuple(nodes), shapes, types, frozenset(constants), values, outputs)


def _node(index: int, node: NodeProto, where: str) -> Node:
    for attribute in node.attribute:
        if attribute.type != _ATTRIBUTE_TYPES.get(attribute.name, attribute.type):
            raise FormatError(
                f"attribute {attribute.name!r} of node {node.name!r} has the wrong type",
                where=where,
                fix="Export the network to ONNX again",
            )
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    decoded = {k: v.decode("utf-8", "replace") if isinstance(v, bytes) else v for k, v in attributes.items()}
    name = node.name or f"{node.op_type}_{index}"
    return Node(index, name, node.op_type, tuple(node.input), tuple(node.output), decoded)


def _check_shapes(nodes: Iterable[Node], shapes: Mapping[str, Shape], where: str) -> None:
    """Make sure that every result has a shape, that reshaping loses nothing and that weights fit their input."""
    for node in nodes:
        unknown = [name for name in (*node.inputs, *node.outputs[:1]) if name and name not in shapes]
        if unknown:
            raise FormatError(
                f"shapes cannot be inferred: that of {unknown[0]!r} at node {node.name!r} ({node.op}) is not known",
                where=where,
                fix="Export the network with fixed dimensions, or with shapes on every tensor",
            )
        if not _fits(node, shapes):
            first, second = shapes[node.input(0)], shapes[node.outputs[0] if node.op == "Reshape" else node.input(1)]
            raise FormatError(
                f"shapes cannot be inferred: at node {node.name!r} ({node.op}), {list(first)} and {list(second)} "
                "do not fit each other",
                where=where,
                fix="Export the network with the wanted batch and input size",
            )


def _fits(node: Node, shapes: Mapping[str, Shape]) -> bool:
    """Whether shapes agree where ONNX's own inference does not look."""
    if node.op == "Reshape":
        return prod(shapes[node.input(0)]) == prod(shapes[node.outputs[0]])
    if node.op == "Conv":
        return shapes[node.input(0)][1] == shapes[node.input(1)][1] * int(node.attributes.get("group", 1))
    if node.op == "ConvTranspose":
        return shapes[node.input(0)][1] == shapes[node.input(1)][0]
    return True
