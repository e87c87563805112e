"""Windows of ONNX convolutions and poolings, with their padding worked out."""

from __future__ import annotations

from dataclasses import replace

from edgewatt.networks.fusion import padding_of
from edgewatt.networks.onnx_graph import Node, OnnxGraph
from edgewatt.networks.windows import Shape, Window


def convolution_window(node: Node, pad: Node | None, graph: OnnxGraph) -> Window:
    """The window of a Conv or ConvTranspose.

    Args:
        node: The operation.
        pad: A Pad operation in front of it, whose padding becomes the convolution's own.
        graph: The network.
    """
    window = _window(node, graph.shape(node.input(1))[2:], graph)
    if node.op == "ConvTranspose":
        return _transposed(node, window, graph)
    if pad is None:
        return window
    pads, rank = padding_of(pad, graph), len(window.kernel)
    return window.with_more_padding(pads[2 : 2 + rank], pads[4 + rank :])


def pooling_window(node: Node, graph: OnnxGraph) -> Window | None:
    """The window of a pooling; None for a reduction over anything but the whole image."""
    extents = graph.shape(node.input(0))[2:]
    if not node.op.startswith("Reduce"):
        return _window(node, node.integers("kernel_shape") or extents, graph)
    value, rank = graph.values.get(node.input(1)), len(extents) + 2
    axes = node.integers("axes") if value is None else tuple(int(axis) for axis in value)
    if not extents or {axis % rank for axis in axes} != set(range(2, rank)):
        return None
    return _window(node, extents, graph)


def _window(node: Node, kernel: Shape, graph: OnnxGraph) -> Window:
    rank = len(kernel)
    pads = node.integers("pads") or (0,) * 2 * rank
    window = Window(
        kernel,
        node.integers("strides") or (1,) * rank,
        pads[:rank],
        pads[rank:],
        node.integers("dilations") or (1,) * rank,
        bool(node.attributes.get("ceil_mode", 0)),
    )
    mode = str(node.attributes.get("auto_pad", "NOTSET"))
    if not mode.startswith("SAME") or node.op == "ConvTranspose":
        return window
    return window.with_same_padding(graph.shape(node.input(0))[2:], lower=mode == "SAME_LOWER")


def _transposed(node: Node, window: Window, graph: OnnxGraph) -> Window:
    """A transposed convolution's window; where only the output's shape is told, its padding follows from that."""
    mode = str(node.attributes.get("auto_pad", "NOTSET"))
    if not mode.startswith("SAME") and "output_shape" not in node.attributes:
        return window
    extents, outputs = graph.shape(node.input(0))[2:], graph.shape(node.outputs[0])[2:]
    extra = node.integers("output_padding") or (0,) * len(outputs)
    sides = zip(extents, outputs, extra, window.kernel, window.stride, window.dilation, strict=True)
    totals = [max(s * (x - 1) + e + d * (k - 1) + 1 - y, 0) for x, y, e, k, s, d in sides]
    small, large = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
    before, after = (small, large) if mode == "SAME_UPPER" else (large, small)
    return replace(window, pre_padding=before, post_padding=after)
