"""Which inputs of an ONNX graph are the network's, and which are weights that come without data."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto, NodeProto, ValueInfoProto

_WEIGHT_POSITIONS = {
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "Gemm": (1, 2),
    "MatMul": (1,),
    "BatchNormalization": (1, 2, 3, 4),
    "LayerNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "GroupNormalization": (1, 2),
    "PRelu": (1,),
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
}
_ELEMENTWISE = frozenset({"Add", "Sub", "Mul", "Div", "Pow"})
_PREPARATION = frozenset(
    {"Transpose", "QuantizeLinear", "DequantizeLinear", "Cast", "Reshape", "Identity", "Unsqueeze"}
)
_Uses = Mapping[str, list[tuple[NodeProto, int]]]
#: Key of a model's metadata that says that every input without data is an activation, whatever is done with it.
ALL_ACTIVATIONS = "edgewatt_all_inputs_are_activations"


def activation_inputs(model: ModelProto) -> frozenset[str]:
    """Names of the graph inputs that are activations.

    A weightless file declares its weights as inputs too. An input is a weight if all that is done with it is
    what is done with weights: it is a filter, a bias or a normalisation's parameter, or a factor or summand of at
    most three fixed dimensions. Where that leaves none, the first input is the network's. A model whose metadata has
    `ALL_ACTIVATIONS` says itself that it has no such weights.
    """
    initialised = {tensor.name for tensor in model.graph.initializer}
    initialised |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    inputs = [value for value in model.graph.input if value.name not in initialised]
    if any(entry.key == ALL_ACTIVATIONS for entry in model.metadata_props):
        return frozenset(value.name for value in inputs)
    uses: dict[str, list[tuple[NodeProto, int]]] = {}
    for node in model.graph.node:
        for position, name in enumerate(node.input):
            uses.setdefault(name, []).append((node, position))
    found = [value.name for value in inputs if not _is_weight(value.name, _is_small(value), uses)]
    return frozenset(found or [value.name for value in inputs[:1]])


def _is_small(value: ValueInfoProto) -> bool:
    dims = value.type.tensor_type.shape.dim
    return len(dims) <= 3 and all(dim.dim_value > 0 for dim in dims)


def _is_weight(name: str, small: bool, uses: _Uses) -> bool:
    return name in uses and all(_is_weight_use(node, position, small, uses) for node, position in uses[name])


def _is_weight_use(node: NodeProto, position: int, small: bool, uses: _Uses) -> bool:
    if position in _WEIGHT_POSITIONS.get(node.op_type, ()):
        return True
    if node.op_type in _ELEMENTWISE:
        return small
    return node.op_type in _PREPARATION and position == 0 and _is_weight(node.output[0], small, uses)
