"""Cutting layers out of an ONNX network: a layer's operations as a network of their own.

    network    x -> Conv -> Relu -> Add -> Relu -> ...          layer "Conv + Add + Relu" (the Add's other operand is r)
    cut        x, r -> Conv -> Add -> Relu -> y                 shapes, attributes, sizes of weights as in the network

A cut network is named anew from scratch, in order: two layers that are the same give the same bytes. Its weights are
*hollow*: declared with their shapes, without data (see `hollow.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import prod

from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, inliner

from edgewatt.isolation.hollow import hollow_tensor
from edgewatt.networks.onnx_free import free_sources
from edgewatt.networks.onnx_graph import OnnxGraph, read_graph
from edgewatt.networks.onnx_inputs import ALL_ACTIVATIONS

_QUANTISATION = ("QuantizeLinear", "DequantizeLinear")


class CannotCut(Exception):  # noqa: N818 - a reason that is listed beside the layer, not an error of the user's
    """Why a layer cannot be a network of its own, in a sentence without a full stop."""


class NetworkCutter:
    """Cuts layers out of one network.

    Args:
        model: The network, hollow (`hollow.hollowed`), its operations named uniquely and its input's shape fixed.
        layers: Names of the operations of each layer that the backend runs. Operations that no layer names are
            part of the layers around them: what the backend folded away, and what costs nothing.
    """

    def __init__(self, model: ModelProto, layers: Iterable[Sequence[str]]) -> None:
        self._model = inliner.inline_local_functions(model) if model.functions else model
        self._graph: OnnxGraph = read_graph(self._model)
        self._nodes = {node.name: node for node in self._model.graph.node}
        self._order = {node.name: index for index, node in enumerate(self._model.graph.node)}
        self._writer = {name: node for node in self._model.graph.node for name in node.output if name}
        self._readers: dict[str, list[NodeProto]] = {}
        for node in self._model.graph.node:
            for name in dict.fromkeys(node.input):
                self._readers.setdefault(name, []).append(node)
        self._initializers = {tensor.name: tensor for tensor in self._model.graph.initializer}
        sources = free_sources(self._graph)
        self._free = {node.name for node in self._graph.nodes if node.outputs[0] in sources}
        self._running = {node.name for node in self._graph.nodes}
        self._claimed = {name for operations in layers for name in operations if name in self._nodes}

    def knows(self, operations: Iterable[str]) -> bool:
        """Whether the network has operations of all these names."""
        return all(name in self._nodes for name in operations)

    def cut(self, operations: Sequence[str]) -> ModelProto:
        """A layer as a network of its own.

        Args:
            operations: Names of its operations.

        Raises:
            CannotCut: An operation is not in the network, or a tensor's shape is not known.
        """
        missing = [name for name in operations if name not in self._nodes]
        if missing or not operations:
            raise CannotCut(f"the ONNX network has no operation {missing[0] if missing else 'of it'}")
        chosen = {name for name in operations if name in self._running}
        if not chosen:
            raise CannotCut("it depends on constants alone")
        self._join(chosen)
        self._absorb(chosen)
        return self._part(sorted(chosen, key=lambda name: self._order[name]))

    def _is_nobodys(self, node: NodeProto) -> bool:
        return node.name not in self._claimed and node.name in self._running

    def _join(self, chosen: set[str]) -> None:
        """Add what nobody's operations lie between those that were chosen."""
        for name in list(chosen):
            for tensor in self._activations(self._nodes[name]):
                between: list[str] = []
                writer = self._writer.get(tensor)
                while writer is not None and writer.name not in chosen and self._is_nobodys(writer):
                    between.append(writer.name)
                    sources = self._activations(writer)
                    writer = self._writer.get(sources[0]) if sources else None
                if writer is not None and writer.name in chosen:
                    chosen.update(between)

    def _absorb(self, chosen: set[str]) -> None:
        """Add what the backend folded into the layer: operations behind it, padding before it, quantisation around."""
        for name in sorted(chosen, key=lambda name: self._order[name]):
            self._absorb_behind(self._nodes[name], chosen)
            self._absorb_before(self._nodes[name], chosen)

    def _absorb_behind(self, node: NodeProto, chosen: set[str]) -> None:
        while True:
            readers = self._readers.get(node.output[0], [])
            nobodys = len(readers) == 1 and self._is_nobodys(readers[0]) and readers[0].name not in chosen
            if not nobodys or readers[0].name in self._free or readers[0].op_type == "Pad":
                break
            if len(self._activations(readers[0])) > 1 or node.output[0] in self._graph.outputs:
                break  # a concatenation that costs nothing, or a result of the network
            node = readers[0]
            chosen.add(node.name)
        quantised = self._readers.get(node.output[0], [])
        if quantised and all(reader.op_type == "QuantizeLinear" and self._is_nobodys(reader) for reader in quantised):
            chosen.update(reader.name for reader in quantised)

    def _absorb_before(self, node: NodeProto, chosen: set[str]) -> None:
        for tensor in self._activations(node):
            writer = self._writer.get(tensor)
            while writer is not None and self._is_nobodys(writer) and writer.name not in chosen:
                alone = writer.op_type == "Pad" and len(self._readers.get(writer.output[0], [])) == 1
                if not alone and writer.op_type not in _QUANTISATION:
                    break
                chosen.add(writer.name)
                sources = self._activations(writer)
                writer = self._writer.get(sources[0]) if sources else None

    def _activations(self, node: NodeProto) -> list[str]:
        return [name for name in node.input if name and name not in self._graph.constants]

    def _part(self, names: Sequence[str]) -> ModelProto:
        part = _Part(self._graph)
        nodes = [self._nodes[name] for name in names]
        written = {name for node in nodes for name in node.output if name}
        for node in nodes:
            for tensor in node.input:
                if tensor and tensor in self._graph.constants:
                    self._add_constant(tensor, part)
                elif tensor and tensor not in written:
                    part.add_input(tensor)
            part.add_node(node)
        inside = set(names)
        outputs = [
            tensor
            for node in nodes
            for tensor in node.output
            if tensor and (tensor in self._graph.outputs or self._is_read_outside(tensor, inside))
        ]
        part.outputs = list(dict.fromkeys(outputs)) or [nodes[-1].output[0]]
        return part.model(self._model)

    def _is_read_outside(self, tensor: str, inside: set[str]) -> bool:
        return any(reader.name not in inside for reader in self._readers.get(tensor, []))

    def _add_constant(self, tensor: str, part: _Part) -> None:
        """Add a constant, and what it is made of."""
        if tensor in part.names:
            return
        writer = self._writer.get(tensor)
        if writer is None:
            part.add_weight(tensor, self._initializers.get(tensor))
        elif writer.op_type in ("Shape", "Size"):
            part.add_shape(tensor, writer)
        else:
            for name in writer.input:
                if name:
                    self._add_constant(name, part)
            part.add_node(writer)


@dataclass
class _Part:
    """A network that is being put together, its tensors renamed in the order in which they come."""

    graph: OnnxGraph
    names: dict[str, str] = field(default_factory=dict)
    nodes: list[NodeProto] = field(default_factory=list)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def _rename(self, tensor: str, letter: str) -> str:
        return self.names.setdefault(tensor, f"{letter}{len(self.names)}") if tensor else ""

    def add_input(self, tensor: str) -> None:
        if tensor not in self.names:
            self.inputs.append(self._described(tensor, self._rename(tensor, "x")))

    def add_weight(self, tensor: str, initializer: TensorProto | None) -> None:
        name = self._rename(tensor, "w")
        if initializer is None:
            kind = self.graph.types.get(tensor, TensorProto.FLOAT)
            self.initializers.append(hollow_tensor(name, kind, self.graph.shape(tensor)))
            return
        kept = TensorProto()
        kept.CopyFrom(initializer)
        kept.name = name
        self.initializers.append(kept)

    def add_shape(self, tensor: str, node: NodeProto) -> None:
        """The shape of a tensor, which is a constant where shapes are fixed."""
        shape = list(self.graph.shape(node.input[0]))
        values = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        shape = shape[values.get("start", 0) : values.get("end", len(shape))]
        if node.op_type == "Size":
            value = helper.make_tensor(self._rename(tensor, "w"), TensorProto.INT64, [], [prod(shape)])
        else:
            value = helper.make_tensor(self._rename(tensor, "w"), TensorProto.INT64, [len(shape)], shape)
        self.initializers.append(value)

    def add_node(self, node: NodeProto) -> None:
        copy = NodeProto()
        copy.CopyFrom(node)
        copy.doc_string = ""
        copy.name = f"{node.op_type}_{len(self.nodes)}"
        copy.input[:] = [self._rename(name, "t") for name in node.input]
        copy.output[:] = [self._rename(name, "t") for name in node.output]
        attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
        del copy.attribute[:]
        copy.attribute.extend(_without_text(attribute) for attribute in attributes)
        del copy.metadata_props[:]
        self.nodes.append(copy)

    def model(self, source: ModelProto) -> ModelProto:
        part = ModelProto(ir_version=max(source.ir_version, 4))
        part.opset_import.extend(source.opset_import)
        part.metadata_props.add(key=ALL_ACTIVATIONS, value="1")
        part.graph.name = "layer"
        part.graph.node.extend(self.nodes)
        part.graph.input.extend(self.inputs)
        part.graph.initializer.extend(self.initializers)
        part.graph.output.extend(self._described(tensor, self.names[tensor]) for tensor in self.outputs)
        return part

    def _described(self, tensor: str, name: str) -> ValueInfoProto:
        if tensor not in self.graph.shapes:
            raise CannotCut(f"the shape of its tensor {tensor} is not known")
        kind = self.graph.types.get(tensor, TensorProto.FLOAT)
        return helper.make_tensor_value_info(name, kind, list(self.graph.shapes[tensor]))


def _without_text(attribute: AttributeProto) -> AttributeProto:
    copy = AttributeProto()
    copy.CopyFrom(attribute)
    copy.doc_string = ""
    return copy


def build_key(model: ModelProto, options: Mapping[str, object] | None = None) -> str:
    """A short text that two layers share when they are built alike: operations, shapes, attributes, sizes of weights.

    Args:
        model: A cut network.
        options: What else decides how it is built.
    """
    content = model.SerializeToString(deterministic=True) + repr(sorted((options or {}).items())).encode()
    return blake2b(content, digest_size=8).hexdigest()
