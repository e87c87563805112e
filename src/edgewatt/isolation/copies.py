"""Many copies of a layer in one network.

    x0 -> layer -> y0
    x1 -> layer -> y1          one call runs them one after another, as it does the layers of a network
    x2 -> layer -> y2

What a call costs beside its layers (starting it, waiting for it) is then small beside them, and layers follow each
other on the device as they do in a network. The copies may have weights of their own, which is how caches are left as
cold as a network leaves them: between two runs of one copy, all the others pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from onnx import ModelProto, TensorProto, helper

from edgewatt.isolation.hollow import is_hollow
from edgewatt.networks.onnx_inputs import ALL_ACTIVATIONS


@dataclass(frozen=True)
class CopyStyle:
    """How copies may be put together, which depends on what a backend's optimiser does with them.

    Attributes:
        shared_inputs: Whether copies with weights of their own may read one input. TensorRT runs convolutions that do
            as one, so that there each copy has its own; ONNX Runtime does not, and an input that was just written is
            in the cache, as it is in a network.
        unused_outputs: Whether results may be left unused. TensorRT leaves out what nobody reads; ONNX Runtime runs
            it, and a result that nobody reads is written to memory that is used again, as in a network. A result of
            the network would be copied into new memory in each call, which for large ones takes as long as the layer.
    """

    shared_inputs: bool = False
    unused_outputs: bool = False


#: By the backend's name; others are taken to optimise like TensorRT.
_STYLES = {"onnxruntime": CopyStyle(shared_inputs=True, unused_outputs=True)}


def copy_style(backend: str) -> CopyStyle:
    """How copies are put together for a backend."""
    return _STYLES.get(backend, CopyStyle())


def with_copies(model: ModelProto, copies: int, variants: int = 1, style: CopyStyle | None = None) -> ModelProto:
    """A network of several copies of a layer.

    Args:
        model: The layer as a network, as `cut` or `single_layer` make it.
        copies: How many, from 1.
        variants: How many different sets of weights they have, in turn.
        style: How they may be put together.
    """
    style = style or CopyStyle()
    if copies == 1 and not style.unused_outputs:
        return model
    weights = {tensor.name for tensor in model.graph.initializer if is_hollow(tensor)}
    # Copies that share input and weights are the same operation, which optimisers run once.
    shares_inputs = style.shared_inputs and bool(weights) and variants >= copies
    result = ModelProto(ir_version=model.ir_version)
    result.opset_import.extend(model.opset_import)
    result.metadata_props.add(key=ALL_ACTIVATIONS, value="1")
    result.graph.name = "copies"
    kept = {tensor.name for tensor in model.graph.initializer} - weights
    shared = kept | ({value.name for value in model.graph.input} if shares_inputs else set())
    for copy in range(copies):
        variant = copy % variants
        names = _Names(shared, weights, copy, variant)
        _add_copy(result, model, names, first=copy == 0, new_weights=copy < variants)
        if not style.unused_outputs:
            _add_described(result.graph.output, model.graph.output, names, set())
    if style.unused_outputs:
        _add_small_output(result)
    return result


def _add_small_output(model: ModelProto) -> None:
    """A result that costs nothing, for a network that has no other: the shape of an input, which is known."""
    first = model.graph.input[0]
    rank = len(first.type.tensor_type.shape.dim)
    model.graph.node.append(helper.make_node("Shape", [first.name], ["shape_of_input"], "shape_of_input"))
    model.graph.output.append(helper.make_tensor_value_info("shape_of_input", TensorProto.INT64, [rank]))


@dataclass(frozen=True)
class _Names:
    shared: set[str]
    weights: set[str]
    copy: int
    variant: int

    def of(self, name: str) -> str:
        if not name or name in self.shared:
            return name
        return f"{name}_v{self.variant}" if name in self.weights else f"{name}_c{self.copy}"


def _add_copy(result: ModelProto, model: ModelProto, names: _Names, *, first: bool, new_weights: bool) -> None:
    for node in model.graph.node:
        added = result.graph.node.add()
        added.CopyFrom(node)
        added.name = f"{node.name}_c{names.copy}"
        added.input[:] = [names.of(name) for name in node.input]
        added.output[:] = [names.of(name) for name in node.output]
    known = set() if first else names.shared
    _add_described(result.graph.input, model.graph.input, names, known)
    for tensor in model.graph.initializer:
        is_weight = tensor.name in names.weights
        if (is_weight and new_weights) or (not is_weight and first):
            _add_renamed(result, tensor, names.of(tensor.name))


def _add_described(result: object, values: object, names: _Names, known: set[str]) -> None:
    for value in values:  # type: ignore[attr-defined]
        if value.name not in known:
            added = result.add()  # type: ignore[attr-defined]
            added.CopyFrom(value)
            added.name = names.of(value.name)


def _add_renamed(result: ModelProto, tensor: TensorProto, name: str) -> None:
    added = result.graph.initializer.add()
    added.CopyFrom(tensor)
    added.name = name
