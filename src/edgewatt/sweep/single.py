"""A layer by its numbers: what a sweep chooses, what it builds, and how the layer is described."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from onnx import ModelProto

from edgewatt.isolation.cut import CannotCut
from edgewatt.isolation.single_layer import convolution_model, dense_model, pooling_model
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.networks.onnx_layers import layers_from_onnx

Pair = tuple[int, int]
_ONE, _NONE = (1, 1), (0, 0)


@dataclass(frozen=True)
class SingleLayer:
    """A convolution, a pooling or a matrix product with weights.

    Attributes:
        operation: `convolution`, `max`, `average` or `gemm`.
        input_shape: (N, C, H, W), or of a matrix product its rows and inner size.
        outputs: Output channels or columns; those of the input for a pooling.
        kernel: Window height and width.
        stride: Step of the window.
        pre_padding: Padding above and left.
        post_padding: Padding below and right.
        dilation: Spacing of the kernel's elements.
        groups: Groups of channels; as many as input channels make a convolution depthwise.
        activation: ONNX's operator of the activation behind it: `Relu`, `Clip` (from 0 to 6); None for none.
        residual: Whether a second input is added before the activation.
        round_up: Whether a pooling's last step that leaves the padded input counts.
    """

    operation: str
    input_shape: tuple[int, ...]
    outputs: int
    kernel: Pair = _ONE
    stride: Pair = _ONE
    pre_padding: Pair = _NONE
    post_padding: Pair = _NONE
    dilation: Pair = _ONE
    groups: int = 1
    activation: str | None = None
    residual: bool = False
    round_up: bool = False

    @property
    def kind(self) -> LayerKind:
        """Which table it belongs to: a 1x1 convolution over an extent of one is a matrix product."""
        if self.operation == "gemm":
            return LayerKind.DENSE
        if self.operation != "convolution":
            return LayerKind.POOLING
        flat = (*self.input_shape[2:], *self.output_shape[2:], *self.kernel, self.groups)
        return LayerKind.DENSE if all(size == 1 for size in flat) else LayerKind.CONVOLUTIONAL

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of its result; an extent below 1 where the window does not fit."""
        if self.operation == "gemm":
            return (*self.input_shape[:-1], self.outputs)
        sides = zip(
            self.input_shape[2:],
            self.kernel,
            self.stride,
            self.pre_padding,
            self.post_padding,
            self.dilation,
            strict=True,
        )
        spans = [(x + a + b - d * (k - 1) - 1, s) for x, k, s, a, b, d in sides]
        extents = ((-(-span // step) if self.round_up else span // step) + 1 for span, step in spans)
        return (self.input_shape[0], self.outputs, *extents)

    @property
    def weights(self) -> int:
        """Elements of its weights, without bias."""
        if self.operation == "gemm":
            return self.input_shape[-1] * self.outputs
        if self.operation != "convolution":
            return 0
        return self.outputs * (self.input_shape[1] // self.groups) * prod(self.kernel)

    @property
    def elements(self) -> int:
        """Elements of its weights, inputs and outputs."""
        outputs = prod(self.output_shape)
        return self.weights + prod(self.input_shape) + outputs * (2 if self.residual else 1)

    @property
    def macs(self) -> int:
        """Multiply-accumulates; for a pooling the elements that its windows read."""
        outputs = prod(self.output_shape)
        if self.operation == "gemm":
            return outputs * self.input_shape[-1]
        if self.operation != "convolution":
            return outputs * prod(self.kernel)
        return outputs * (self.input_shape[1] // self.groups) * prod(self.kernel)

    def without_details(self) -> SingleLayer:
        """What it shares with layers that no feature tells from it: of another activation, or padded elsewhere."""
        both = (self.pre_padding[0] + self.post_padding[0], self.pre_padding[1] + self.post_padding[1])
        return replace(self, activation=None, pre_padding=both, post_padding=_NONE)

    def without_tail(self) -> SingleLayer:
        """It without what follows it: the activation and the residual addition."""
        return replace(self, activation=None, residual=False)

    def model(self) -> ModelProto:
        """It as a network of its own, with hollow weights.

        Raises:
            CannotCut: Its window does not fit, or its channels cannot be split into groups.
        """
        if self.operation == "gemm":
            return dense_model(self.input_shape, self.outputs, activation=self.activation)
        if self.operation != "convolution":
            return pooling_model(
                self.input_shape,
                self.operation,
                self.kernel,
                stride=self.stride,
                pre_padding=self.pre_padding,
                post_padding=self.post_padding,
                round_up=self.round_up,
            )
        return convolution_model(
            self.input_shape,
            self.outputs,
            self.kernel,
            stride=self.stride,
            pre_padding=self.pre_padding,
            post_padding=self.post_padding,
            dilation=self.dilation,
            groups=self.groups,
            activation=self.activation,
            residual=self.residual,
        )

    def layer(self, name: str, precision: str) -> Layer:
        """Its description, as that of a network's layer.

        Args:
            name: What it is called.
            precision: The type that it computes in.

        Raises:
            CannotCut: It cannot be built, or is not one layer.
        """
        found = layers_from_onnx(self.model(), precision=precision)
        if len(found) != 1:
            raise CannotCut(f"it is {len(found)} layers")
        return replace(found[0], name=name)

    def label(self) -> str:
        """What it is, in a few characters: `conv3x3s2-64x56x56-128`."""
        size = "x".join(map(str, self.input_shape[1:] if self.operation != "gemm" else self.input_shape[-1:]))
        window = "" if self.operation == "gemm" else "x".join(map(str, self.kernel))
        parts = [f"{_SHORT.get(self.operation, self.operation)}{window}"]
        parts[0] += f"s{self.stride[0]}" if self.stride != _ONE else ""
        parts[0] += f"d{self.dilation[0]}" if self.dilation != _ONE else ""
        parts[0] += f"g{self.groups}" if self.groups != 1 else ""
        parts.append(size)
        if self.operation in ("convolution", "gemm"):
            parts.append(str(self.outputs))
        batch = self.input_shape[0]
        return "-".join(parts) + (f"-b{batch}" if batch != 1 else "")


_SHORT = {"convolution": "conv", "gemm": "dense", "average": "avg"}


def single_layer(layer: Layer) -> SingleLayer | None:
    """A network's layer by its numbers; None for one that a sweep does not measure.

    Activations that some backends run by themselves are left out, so that a layer is one layer with all of them.

    Args:
        layer: The layer.
    """
    if layer.operation == "transposed" or not layer.input_shape or not layer.output_shape:
        return None
    image = len(layer.input_shape) == 4 and len(layer.output_shape) == 4
    if layer.kind is LayerKind.DENSE and not image:
        if len(layer.input_shape) != 2 or layer.parameters < layer.input_shape[-1] * layer.output_shape[-1]:
            return None
        found = SingleLayer("gemm", layer.input_shape, layer.output_shape[-1], activation=_activation(layer))
    elif layer.kind in (LayerKind.CONVOLUTIONAL, LayerKind.DENSE) and image:
        added = layer.input_bytes - _bytes_of(layer, layer.input_shape)
        found = SingleLayer(
            "convolution",
            layer.input_shape,
            layer.output_shape[1],
            layer.kernel or _ONE,
            layer.stride,
            layer.pre_padding,
            layer.post_padding,
            layer.dilation,
            layer.groups,
            _activation(layer),
            residual=added >= _bytes_of(layer, layer.output_shape),
        )
    elif layer.kind is LayerKind.POOLING and image and layer.kernel is not None:
        found = SingleLayer(
            layer.operation,
            layer.input_shape,
            layer.input_shape[1],
            layer.kernel,
            layer.stride,
            layer.pre_padding,
            layer.post_padding,
        )
        if found.output_shape != layer.output_shape:
            found = replace(found, round_up=True)
    else:
        return None
    return found if found.output_shape == layer.output_shape else None


def _activation(layer: Layer) -> str | None:
    names = " ".join(layer.fused).lower()
    if "clip" in names or "relu6" in names:
        return "Clip"
    return "Relu" if "relu" in names and "leaky" not in names else None


def _bytes_of(layer: Layer, shape: tuple[int, ...]) -> int:
    return prod(shape) * (2 if layer.precision in ("float16", "bfloat16") else 4)
