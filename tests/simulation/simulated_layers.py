"""Layers made by hand, for the tests of the simulation."""

from __future__ import annotations

from math import prod

from edgewatt.networks.layer import Layer, LayerKind, convolution_macs

_BYTES = {"int8": 1, "float16": 2, "float32": 4}


def convolution(
    name: str,
    channels: tuple[int, int],
    size: int,
    kernel: int = 3,
    *,
    groups: int = 1,
    precision: str = "float16",
    batch: int = 1,
) -> Layer:
    """A convolution of stride 1 that keeps the size."""
    read, written = channels
    shapes = (batch, read, size, size), (batch, written, size, size)
    parameters = written * read // groups * kernel**2 + written
    width = _BYTES[precision]
    return Layer(
        name=name,
        kind=LayerKind.CONVOLUTIONAL,
        operation="depthwise" if groups == read > 1 else "convolution",
        input_shape=shapes[0],
        output_shape=shapes[1],
        kernel=(kernel, kernel),
        pre_padding=(kernel // 2, kernel // 2),
        post_padding=(kernel // 2, kernel // 2),
        groups=groups,
        precision=precision,
        macs=convolution_macs(shapes[0], shapes[1], (kernel, kernel), groups, transposed=False),
        weight_bytes=parameters * width,
        input_bytes=prod(shapes[0]) * width,
        output_bytes=prod(shapes[1]) * width,
        parameters=parameters,
        backend_type="CaskConvolution",
    )


def pooling(name: str, channels: int, size: int) -> Layer:
    """A 2 x 2 pooling of stride 2."""
    shapes = (1, channels, size, size), (1, channels, size // 2, size // 2)
    return Layer(
        name=name,
        kind=LayerKind.POOLING,
        operation="max",
        input_shape=shapes[0],
        output_shape=shapes[1],
        kernel=(2, 2),
        stride=(2, 2),
        precision="float16",
        input_bytes=2 * prod(shapes[0]),
        output_bytes=2 * prod(shapes[1]),
        backend_type="CaskPooling",
    )


def dense(name: str, read: int, written: int) -> Layer:
    """A fully connected layer."""
    return Layer(
        name=name,
        kind=LayerKind.DENSE,
        operation="gemm",
        input_shape=(1, read),
        output_shape=(1, written),
        precision="float16",
        macs=read * written,
        weight_bytes=2 * (read * written + written),
        input_bytes=2 * read,
        output_bytes=2 * written,
        parameters=read * written + written,
        backend_type="gemm",
    )


def noop(name: str) -> Layer:
    """A layer that an engine lists and does not execute."""
    return Layer(
        name=name,
        kind=LayerKind.OTHER,
        operation="noop",
        input_shape=(1, 1000),
        output_shape=(1, 1000),
        precision="float16",
        input_bytes=2000,
        output_bytes=2000,
        backend_type="NoOp",
    )


def small_network() -> list[Layer]:
    """Six layers of all kinds, one of them not executed, one with a name that is hard to write."""
    return [
        convolution("conv1", (3, 32), 112),
        pooling("pool1", 32, 112),
        convolution('depthwise, "2"\x1f µ', (32, 32), 56, groups=32),
        convolution("conv3", (32, 128), 56),
        noop("copied"),
        dense("fc", 2048, 1000),
    ]
