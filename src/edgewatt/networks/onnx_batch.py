"""Giving an ONNX network another batch."""

from __future__ import annotations

from onnx import ModelProto, ValueInfoProto, numpy_helper

from edgewatt.errors import FormatError


def set_batch(model: ModelProto, activations: frozenset[str], batch: int | None, where: str) -> bool:
    """Fix the first dimension of a network's inputs, in place; shapes must be inferred again afterwards.

    Args:
        model: The network, its Constant nodes as initializers.
        activations: Names of the graph inputs that are the network's.
        batch: Inputs at once; None keeps the file's.
        where: The file, for messages.

    Returns:
        Whether anything changed.

    Raises:
        FormatError: The batch is free and none was given, or another dimension of an input is free.
    """
    inputs = [value for value in model.graph.input if value.name in activations]
    batches = [_fixed_batch(value, batch, where) for value in inputs]
    old = next((size for size in batches if size), None)
    changed = False
    for value, size in zip(inputs, batches, strict=True):
        if size is None or batch is None or size == batch or size not in (0, old):
            continue
        dim = value.type.tensor_type.shape.dim[0]
        dim.Clear()
        dim.dim_value = batch
        changed = True
    if changed and old and batch is not None:
        _scale_targets(model, activations, old, batch)
    return changed


def _fixed_batch(value: ValueInfoProto, batch: int | None, where: str) -> int | None:
    """An input's batch, 0 where it is free, None for a scalar."""
    if not value.type.tensor_type.HasField("shape"):
        raise FormatError(
            f"shapes cannot be inferred: input {value.name!r} has none",
            where=where,
            fix="Export the network with fixed dimensions",
        )
    dims = value.type.tensor_type.shape.dim
    free = [dim.dim_param or "?" for dim in dims[1:] if dim.dim_value < 1]
    if free:
        raise FormatError(
            f"shapes cannot be inferred: input {value.name!r} has free dimensions {', '.join(free)}",
            where=where,
            fix="Export the network with a fixed input size",
        )
    if not dims:
        return None
    if dims[0].dim_value < 1 and batch is None:
        raise FormatError(f"the batch of input {value.name!r} is not fixed", where=where, fix="Give one (--batch)")
    return max(int(dims[0].dim_value), 0)


def _scale_targets(model: ModelProto, activations: frozenset[str], old: int, new: int) -> None:
    """Put the new batch into the constant targets of reshapes, which exporters fill with the old one.

    The batch is taken to be in the first dimension, alone or multiplied with others.
    """
    dependent, targets = set(activations), set()
    for node in model.graph.node:
        if node.op_type in ("Shape", "Size") or dependent.isdisjoint(node.input):
            continue
        dependent.update(node.output)
        if node.op_type in ("Reshape", "Expand") and node.input[0] in dependent:
            targets.add(node.input[1])
    for tensor in model.graph.initializer:
        if tensor.name in targets:
            target = numpy_helper.to_array(tensor).copy()
            if target.size and target[0] > 0 and target[0] % old == 0:
                target[0] = target[0] // old * new
                tensor.CopyFrom(numpy_helper.from_array(target, tensor.name))
