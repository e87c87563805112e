"""What a layer is, whichever backend or file it was read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod

from edgewatt.errors import FormatError, printable

#: Operations that a backend lists but does not execute.
FREE_OPERATIONS = frozenset({"noop", "shape_call", "constant"})


class LayerKind(str, Enum):
    """The four kinds of layer that have tables and predictors of their own."""

    CONVOLUTIONAL = "convolutional"
    POOLING = "pooling"
    DENSE = "dense"
    OTHER = "other"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Layer:
    """One entry of a backend's execution plan, with its fused operations.

    Shapes are logical (N, C, H, W) whatever the memory format; a tensor of a dense or other layer keeps
    the dimensions that it has.

    Attributes:
        name: Unique in its network.
        kind: Which table and predictor it belongs to.
        operation: What it does, finer than its kind: `convolution`, `depthwise`, `transposed`, `max`, `average`,
            `gemm`, `reformat`, `noop`, `elementwise`, ...
        input_shape: Dimensions of the activations that it reads (the first, where there are several).
        output_shape: Dimensions of what it writes.
        kernel: Window height and width; None where the layer has none.
        stride: Step of the window, height and width.
        pre_padding: Padding above and left of the input.
        post_padding: Padding below and right of the input.
        dilation: Spacing of the kernel's elements.
        groups: Number of groups that input channels are split into.
        precision: Name of the type that it computes in: `float32`, `float16`, `int8`, ...
        macs: Multiply-accumulate operations of one cycle (whole batch).
        weight_bytes: Bytes of weights and bias.
        input_bytes: Bytes of all activations read.
        output_bytes: Bytes of all activations written.
        parameters: Number of weights and biases.
        fused: Names of the operations that were fused into it, in order.
        backend_type: The backend's own word for its type (TensorRT's `LayerType`); empty where there is none.
        copies: Tensors that are copied together for it to read, see `edgewatt.networks.concatenation`. A backend's plan
            lists copies as layers of their own, so layers that were read from one have none.
        copied_bytes: Bytes of these tensors.
    """

    name: str
    kind: LayerKind
    operation: str
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    kernel: tuple[int, int] | None = None
    stride: tuple[int, int] = (1, 1)
    pre_padding: tuple[int, int] = (0, 0)
    post_padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    precision: str = "float32"
    macs: int = 0
    weight_bytes: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    parameters: int = 0
    fused: tuple[str, ...] = field(default=())
    backend_type: str = ""
    copies: int = 0
    copied_bytes: int = 0

    @property
    def batch_size(self) -> int:
        """Number of inputs that one cycle works on."""
        return self.input_shape[0] if self.input_shape else 1

    @property
    def padding(self) -> tuple[int, int]:
        """Total padding (pre + post), height and width, as the training tables hold it."""
        return (self.pre_padding[0] + self.post_padding[0], self.pre_padding[1] + self.post_padding[1])

    @property
    def total_bytes(self) -> int:
        """Bytes of weights, activations read and activations written."""
        return self.weight_bytes + self.input_bytes + self.output_bytes


def check_sizes(layers: Sequence[Layer], where: str) -> None:
    """Check that layers are of a size that any board could hold.

    Raises:
        FormatError: A size is beyond 32 bits, or a layer's work or bytes are beyond 60.
    """
    for layer in layers:
        window = (*(layer.kernel or ()), *layer.stride, *layer.dilation, *layer.padding, layer.groups)
        size = max((*layer.input_shape, *layer.output_shape, *window), default=0)
        if size >= 2**31 or max(layer.macs, layer.total_bytes, layer.parameters) >= 2**60:
            raise FormatError(
                "its sizes are beyond what any board can hold",
                where=f"{where}, layer {printable(layer.name)!r}",
                fix="Check the batch; if that is right, the file is damaged",
            )


def convolution_macs(
    input_shape: tuple[int, ...],
    output_shape: tuple[int, ...],
    kernel: tuple[int, ...],
    groups: int,
    *,
    transposed: bool,
) -> int:
    """Multiply-accumulates of a convolution.

    Every output element sums over one group's channels and the kernel; in a transposed convolution every input element
    is spread over the kernel.
    """
    base, channels = (input_shape, output_shape[1]) if transposed else (output_shape, input_shape[1])
    return prod(base) * (channels // groups) * prod(kernel)


def unique_names(names: list[str]) -> list[str]:
    """Tell apart layers that share a name: the second `a` becomes `a (2)`, the third `a (3)`.

    A number that would collide with a name that is there already is passed over.
    """
    taken, seen, result = set(names), {}, []
    for name in names:
        if name not in seen:
            seen[name] = 1
            result.append(name)
            continue
        number = seen[name] + 1
        while f"{name} ({number})" in taken:
            number += 1
        seen[name] = number
        taken.add(f"{name} ({number})")
        result.append(f"{name} ({number})")
    return result
