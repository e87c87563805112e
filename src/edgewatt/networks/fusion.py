"""Which operations of an ONNX graph TensorRT runs as one layer.

The rules are those that NVIDIA documents for its builder (TensorRT developer guide, "Layer Fusion") and those that
engine files show: batch normalisation, bias, ReLU or clipping and a residual addition go into the convolution before
them; convolutions that differ in their weights only and share an input run as one; element-wise operations in a row
become one pointwise layer, which the 16-bit and 8-bit convolutions take in as well. Reshaping is free, and so is
concatenation, because producers write to their place in the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from edgewatt.networks.onnx_free import free_sources
from edgewatt.networks.onnx_graph import Node, OnnxGraph

CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
PRODUCTS = frozenset({"Gemm", "MatMul"})
_SIMPLE_ACTIVATIONS = frozenset({"Relu", "Clip", "LeakyRelu"})
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div"})
_POINTWISE_OPERATORS = """
    Relu Clip LeakyRelu Add Sub Mul Div Pow Min Max Sum Mean Neg Abs Exp Log Sqrt Reciprocal Floor Ceil Round Erf
    Sigmoid HardSigmoid HardSwish Swish Tanh Elu Selu Celu Softplus Softsign Mish Gelu PRelu ThresholdedRelu Sign
    Where Not And Or Equal Greater GreaterOrEqual Less LessOrEqual
"""
POINTWISE = frozenset(_POINTWISE_OPERATORS.split())


@dataclass
class Group:
    """Operations that one layer runs.

    Attributes:
        nodes: Its operations, in order.
        main: The one that gives the layer its kind.
        output: The tensor that the last of them writes.
        activated: Whether an activation ends it, after which nothing more is fused.
        added: Whether a residual was added.
        bias: Number of bias values that fused operations give to a layer without bias.
        pad: A padding in front of it that became its own.
        parallel: Convolutions with the same input and window that run with it as one.
    """

    nodes: list[Node]
    main: Node
    output: str
    activated: bool = False
    added: bool = False
    bias: int = 0
    pad: Node | None = None
    parallel: list[Group] = field(default_factory=list)

    @property
    def is_convolution(self) -> bool:
        """Whether it is a convolution of any kind."""
        return self.main.op in CONVOLUTIONS

    @property
    def is_weighted(self) -> bool:
        """Whether it is a convolution or a matrix product."""
        return self.is_convolution or self.main.op in PRODUCTS

    @property
    def is_pointwise(self) -> bool:
        """Whether it holds element-wise operations only."""
        return self.main.op in POINTWISE

    @property
    def written(self) -> set[str]:
        """All tensors that its operations write."""
        return {name for member in (self, *self.parallel) for node in member.nodes for name in node.outputs}


def fuse(graph: OnnxGraph, *, wide: bool) -> list[Group]:
    """Group a graph's operations into layers, in an order that they can run in.

    Args:
        graph: The network.
        wide: Whether it runs in a 32-bit type: then pointwise layers stay apart from convolutions.
    """
    fusion = _Fusion(graph)
    for node in graph.nodes:
        fusion.take(node)
    fusion.merge_parallel()
    if not wide:
        fusion.attach_pointwise()
    return fusion.ordered()


class _Fusion:
    def __init__(self, graph: OnnxGraph) -> None:
        self._graph = graph
        self._sources = free_sources(graph)
        self._parts: dict[str, list[str]] = {}  # what a free concatenation is made of
        self._groups: dict[str, Group] = {}  # by the tensor that they write
        self._readers: dict[str, list[int]] = {}  # positions of operations, -1 for the network's result
        for node in graph.nodes:
            if node.outputs[0] not in self._sources:
                for name in node.inputs:
                    self._readers.setdefault(self._source(name), []).append(node.index)
        for output in graph.outputs:
            self._readers.setdefault(self._source(output), []).append(-1)

    def _source(self, name: str) -> str:
        """The tensor that a free operation's result really is."""
        return self._sources.get(name, name)

    def take(self, node: Node) -> None:
        """Put the next operation, in the file's order, into a group."""
        if node.outputs[0] in self._sources:
            return
        if node.op == "Concat":
            self._parts[node.outputs[0]] = [self._source(name) for name in self._graph.activations(node)]
            return
        group = self._extended(node) or self._merged(node) or self._started(node)
        self._groups[group.output] = group

    def _sole(self, name: str, node: Node) -> Group | None:
        """The group that writes a tensor, if nothing but `node` reads it."""
        source = self._source(name)
        return self._groups.get(source) if self._readers.get(source) == [node.index] else None

    def _extended(self, node: Node) -> Group | None:
        """The layer before an operation with the operation in it, None where it does not take it."""
        activations = self._graph.activations(node)
        group = None
        if len(activations) == 1:
            group = self._sole(activations[0], node)
            if group is not None and not self._takes(group, node):
                group = None
        elif node.op == "Add" and len(activations) == 2:
            group = self._residual_host(node, activations)
        if group is None:
            return None
        del self._groups[group.output]
        self._absorb(group, node)
        return group

    def _takes(self, group: Group, node: Node) -> bool:
        """Whether a layer runs an operation on its own result alone (and constants)."""
        shapes = self._graph.shape(node.outputs[0]), self._graph.shape(group.output)
        if group.activated or prod(shapes[0]) != prod(shapes[1]):
            return False
        if node.op in _SIMPLE_ACTIVATIONS:
            return group.is_weighted or group.main.op == "BatchNormalization"
        if node.op == "BatchNormalization":
            return group.is_weighted and not group.added
        is_folded = node.op in _ARITHMETIC and self._constant_size(node) in (1, self._channels(group))
        return is_folded and group.is_weighted and not group.added

    def _constant_size(self, node: Node) -> int:
        """Elements of an operation's largest constant operand."""
        constants = (name for name in node.inputs if name in self._graph.constants)
        return max((prod(self._graph.shape(name)) for name in constants), default=0)

    def _channels(self, group: Group) -> int:
        shape = self._graph.shape(group.main.outputs[0])
        return shape[1] if group.is_convolution else (shape or (1,))[-1]

    def _residual_host(self, node: Node, activations: list[str]) -> Group | None:
        """The later of the convolutions whose results are added: it adds the other operand to its own."""
        shapes = {self._graph.shape(name) for name in (*activations, node.outputs[0])}
        found = [self._sole(name, node) for name in activations] if len(shapes) == 1 else []
        hosts = [g for g in found if g and g.is_convolution and not g.activated and not g.added]
        return max(hosts, key=lambda group: group.main.index, default=None)

    def _absorb(self, group: Group, node: Node) -> None:
        group.nodes.append(node)
        group.output = node.outputs[0]
        if node.op in _SIMPLE_ACTIVATIONS:
            group.activated = True
        elif len(self._graph.activations(node)) == 2:
            group.added = True
        elif node.op in ("BatchNormalization", "Add", "Sub"):
            group.bias = self._channels(group)

    def _merged(self, node: Node) -> Group | None:
        """An element-wise operation and the pointwise groups that only it reads, None where there are none."""
        if node.op not in POINTWISE:
            return None
        found = [self._sole(name, node) for name in dict.fromkeys(self._graph.activations(node))]
        groups = [group for group in found if group is not None and group.is_pointwise]
        if not groups:
            return None
        for group in groups:
            del self._groups[group.output]
        nodes = sorted((n for group in groups for n in group.nodes), key=lambda n: n.index)
        return Group([*nodes, node], nodes[0], node.outputs[0])

    def _started(self, node: Node) -> Group:
        """A new group; a convolution takes in the zero padding before it."""
        group = Group([node], node, node.outputs[0])
        pad = self._sole(node.input(0), node) if node.op == "Conv" else None
        if pad is not None and is_zero_padding(pad.main, self._graph):
            del self._groups[pad.output]
            group.nodes.insert(0, pad.main)
            group.pad = pad.main
        return group

    def merge_parallel(self) -> None:
        """Let convolutions with the same input, window and activation run as one."""
        first: dict[object, Group] = {}
        for group in sorted(self._groups.values(), key=lambda g: g.main.index):
            signature = self._parallel_signature(group)
            if signature is None:
                continue
            host = first.setdefault(signature, group)
            if host is not group:
                host.parallel.append(group)
                del self._groups[group.output]

    def _parallel_signature(self, group: Group) -> object:
        """What convolutions that run as one have in common; None for one that runs alone."""
        node = group.main
        tail = tuple(n.op for n in group.nodes if n is not node and n.op != "BatchNormalization")
        alone = node.op != "Conv" or group.pad is not None or group.added or tail not in ((), ("Relu",))
        if alone or node.attributes.get("group", 1) != 1:
            return None
        kernel = self._graph.shape(node.input(1))[2:]
        window = tuple(node.integers(key) for key in ("strides", "pads", "dilations"))
        return self._source(node.input(0)), kernel, window, node.attributes.get("auto_pad"), tail

    def attach_pointwise(self) -> None:
        """Let convolutions run the pointwise group that alone reads their result and keeps its shape."""
        for group in sorted(self._groups.values(), key=lambda g: g.main.index):
            if not group.is_pointwise:
                continue
            members = {node.index for node in group.nodes}
            hosts = [g for name in self._inputs(group) if (g := self._attachable(name, group, members))]
            if hosts:
                host = max(hosts, key=lambda g: g.main.index)
                del self._groups[host.output], self._groups[group.output]
                host.nodes.extend(group.nodes)
                host.output, host.activated = group.output, True
                self._groups[host.output] = host

    def _attachable(self, name: str, group: Group, members: set[int]) -> Group | None:
        host = self._groups.get(name)
        if host is None or not host.is_convolution or host.activated or host.parallel:
            return None
        alone = members.issuperset(self._readers.get(name, []))
        same = self._graph.shape(host.output) == self._graph.shape(group.output)
        return host if alone and same else None

    def _inputs(self, group: Group) -> list[str]:
        """Sources of the activations that a group reads from outside of it."""
        inside = group.written
        names = (self._source(name) for node in group.nodes for name in self._graph.activations(node))
        return list(dict.fromkeys(name for name in names if name not in inside))

    def ordered(self) -> list[Group]:
        """All groups, each after those that it reads from, else in the file's order."""
        groups = sorted(self._groups.values(), key=lambda g: g.main.index)
        writer = {name: group for group in groups for name in group.written}
        result: list[Group] = []
        placed: set[int] = set()
        stack = [(group, False) for group in reversed(groups)]
        while stack:
            group, ready = stack.pop()
            if id(group) in placed:
                continue
            if ready:
                placed.add(id(group))
                result.append(group)
                continue
            needed = [writer[part] for name in self._inputs(group) for part in self._origins(name) if part in writer]
            stack.append((group, True))
            waiting = [other for other in needed if id(other) not in placed]
            stack.extend((other, False) for other in sorted(waiting, key=lambda g: -g.main.index))
        return result

    def _origins(self, name: str) -> list[str]:
        """The tensors that a concatenation is made of, through nested ones; else the tensor itself."""
        origins, pending = [], [name]
        while pending:
            source = self._source(pending.pop())
            if source in self._parts:
                pending.extend(self._parts[source])
            else:
                origins.append(source)
        return origins


def is_zero_padding(node: Node, graph: OnnxGraph) -> bool:
    """Whether an operation pads the spatial dimensions with zeros and nothing else."""
    if node.op != "Pad" or node.attributes.get("mode", "constant") != "constant" or node.input(3):
        return False
    pads, value = padding_of(node, graph), graph.values.get(node.input(2))
    rank = len(graph.shape(node.input(0)))
    fill = node.attributes.get("value", 0) if value is None else value.any()
    if fill or len(pads) != 2 * rank or min(pads) < 0 or (node.input(2) and value is None):
        return False
    return not any((*pads[:2], *pads[rank : rank + 2]))


def padding_of(node: Node, graph: OnnxGraph) -> tuple[int, ...]:
    """All begins, then all ends, of a Pad operation; none where they are not constant."""
    value = graph.values.get(node.input(1))
    return node.integers("pads") if value is None else tuple(int(v) for v in value)
