"""What concatenations have to copy.

A concatenation is free where those that write its parts can write to their place in the result. A part that lies in
another concatenation already cannot be in two places: it is copied. TensorRT's builder logs both, as "Retargeting x to
y" and as "Generating copy for x to y because input is not movable" (github.com/NVIDIA/TensorRT, issue 3254). Networks
that concatenate all earlier results again and again, as DenseNet does, run hundreds of such copies.
"""

from __future__ import annotations

from edgewatt.networks.onnx_free import free_sources
from edgewatt.networks.onnx_graph import OnnxGraph


def copied_parts(graph: OnnxGraph) -> dict[str, list[str]]:
    """The parts of each concatenation that are copied, by the tensor that it makes; those without are absent."""
    sources = free_sources(graph)
    placed: set[str] = set()
    copied: dict[str, list[str]] = {}
    for node in graph.nodes:
        if node.op != "Concat" or node.outputs[0] in sources:
            continue
        parts = [sources.get(name, name) for name in graph.activations(node)]
        again = []
        for part in parts:
            if part in placed:
                again.append(part)
            placed.add(part)
        if again:
            copied[node.outputs[0]] = again
    return copied
