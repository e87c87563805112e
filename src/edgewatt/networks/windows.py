"""What the sliding window of a convolution or a pooling means, whatever file it was read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Any

from edgewatt.networks.layer import LayerKind, convolution_macs

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """A window, one value for each spatial dimension (one to three of them).

    Attributes:
        kernel: Its size.
        stride: Its step.
        pre_padding: Padding before the input's first element.
        post_padding: Padding behind the input's last element.
        dilation: Spacing of its elements.
        round_up: Whether a last step that leaves the padded input counts as well.
    """

    kernel: Shape
    stride: Shape
    pre_padding: Shape
    post_padding: Shape
    dilation: Shape
    round_up: bool = False

    def outputs(self, extents: Sequence[int]) -> Shape:
        """Output extents over input extents."""
        rounded = ceil if self.round_up else floor
        sides = zip(extents, self.kernel, self.stride, self.pre_padding, self.post_padding, self.dilation, strict=True)
        return tuple(rounded((x + a + b - d * (k - 1) - 1) / s) + 1 for x, k, s, a, b, d in sides)

    def with_same_padding(self, extents: Sequence[int], *, lower: bool) -> Window:
        """The window with the padding that makes every output extent ceil(extent / stride).

        Args:
            extents: Input extents.
            lower: Whether an odd element of padding goes before the input rather than behind it.
        """
        dimensions = zip(extents, self.kernel, self.stride, self.dilation, strict=True)
        totals = [max((ceil(x / s) - 1) * s + d * (k - 1) + 1 - x, 0) for x, k, s, d in dimensions]
        small, large = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
        before, after = (large, small) if lower else (small, large)
        return replace(self, pre_padding=before, post_padding=after)

    def with_more_padding(self, before: Sequence[int], after: Sequence[int]) -> Window:
        """The window with padding added to its own."""
        return replace(
            self,
            pre_padding=tuple(a + b for a, b in zip(self.pre_padding, before, strict=True)),
            post_padding=tuple(a + b for a, b in zip(self.post_padding, after, strict=True)),
        )

    def one_dimensional(self) -> Window:
        """A two-dimensional window over a one-dimensional input, without the dimension that does nothing."""
        kept = 0 if self.kernel[1] == 1 else 1
        return Window(
            (self.kernel[kept],),
            (self.stride[kept],),
            (self.pre_padding[kept],),
            (self.post_padding[kept],),
            (self.dilation[kept],),
            self.round_up,
        )

    def layer_fields(self) -> dict[str, Any]:
        """The window as a layer's fields, with a height of one where it has one dimension.

        A window over three dimensions has no place in a layer: no fields.
        """
        if len(self.kernel) > 2:
            return {}
        return {
            "kernel": _pair(self.kernel, 1),
            "stride": _pair(self.stride, 1),
            "pre_padding": _pair(self.pre_padding, 0),
            "post_padding": _pair(self.post_padding, 0),
            "dilation": _pair(self.dilation, 1),
        }


def _pair(values: Shape, fill: int) -> tuple[int, int]:
    return (fill, values[0]) if len(values) == 1 else (values[0], values[1])


def image_shape(shape: Sequence[int]) -> Shape:
    """A shape with two spatial dimensions: (N, C, W) gets a height of one; others are kept."""
    return (shape[0], shape[1], 1, shape[2]) if len(shape) == 3 else tuple(shape)


def is_dense_window(
    kernel: Sequence[int], groups: int, input_shape: Sequence[int], output_shape: Sequence[int]
) -> bool:
    """Whether a convolution is a plain matrix product: one group, and kernel and extents all one.

    A 1x1 convolution over a larger extent is not: its weights are used at every position.
    """
    extents = (*input_shape[2:], *output_shape[2:])
    return groups == 1 and all(size == 1 for size in (*kernel, *extents))


def convolution_fields(
    window: Window, groups: int, input_shape: Shape, output_shape: Shape, *, transposed: bool
) -> dict[str, Any]:
    """What every description of a convolution gives a layer: kind, shapes, window and multiply-accumulates."""
    dense = is_dense_window(window.kernel, groups, input_shape, output_shape) and not transposed
    operation = convolution_operation(groups, input_shape[1], transposed=transposed)
    return {
        "kind": LayerKind.DENSE if dense else LayerKind.CONVOLUTIONAL,
        "operation": "gemm" if dense else operation,
        "input_shape": image_shape(input_shape),
        "output_shape": image_shape(output_shape),
        "groups": groups,
        "macs": convolution_macs(input_shape, output_shape, window.kernel, groups, transposed=transposed),
        **({} if dense else window.layer_fields()),
    }


def convolution_operation(groups: int, input_channels: int, *, transposed: bool) -> str:
    """`convolution`, `depthwise` (one group for each of several input channels) or `transposed`."""
    if transposed:
        return "transposed"
    return "depthwise" if groups == input_channels > 1 else "convolution"
