"""Convolutional and pooling layers of the engine inspector."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from edgewatt.errors import FormatError, warn
from edgewatt.networks.engine_matrix import MatrixContext
from edgewatt.networks.engine_record import EngineRecord
from edgewatt.networks.layer import Layer, LayerKind, convolution_macs
from edgewatt.networks.windows import Shape, Window, convolution_operation, image_shape, is_dense_window


def pooling_layer(record: EngineRecord, name: str) -> Layer:
    """A pooling; its window is in `WindowSize`, unlike a convolution's.

    Raises:
        FormatError: It has no inputs or outputs, or a window that does not fit them.
    """
    kernel = record.integers("WindowSize", "Kernel") or _unit_window(record)
    input_shape, output_shape, window = _aligned(record, _window(record, kernel))
    window = _with_implied_padding(record, window, input_shape)
    told = record.has("WindowSize", "Kernel")
    if not told and len(kernel) < 3:
        warn("the pooling does not tell its window", where=record.where, fix="Export the engine again")
    kind = str(record.get("PoolingType") or "pooling").lower()
    return Layer(
        name=name,
        kind=LayerKind.POOLING,
        operation={"avg": "average"}.get(kind, kind),
        input_shape=image_shape(input_shape),
        output_shape=image_shape(output_shape),
        **(window.layer_fields() if told else {}),
        **record.common_fields(),
    )


def _unit_window(record: EngineRecord) -> Shape:
    """A window of one element that fits the input, for a pooling that does not tell its own."""
    return (1,) * max(len(record.inputs[0].shape) - 2, 1) if record.inputs else (1, 1)


def convolution_layer(record: EngineRecord, name: str) -> Layer:
    """A convolution of any kind, also one fused with a pooling (its own keys are prefixed then).

    Raises:
        FormatError: Its window does not fit its tensors.
    """
    input_shape, output_shape, window = _aligned(record, _window(record, record.integers("Kernel")))
    groups, transposed = record.integer("Groups", 1), record.is_transposed
    if not transposed:
        window = _with_implied_padding(record, window, input_shape)
    channels = _channels(record, output_shape)
    pooled = record.has("PoolingWindowSize")
    extents = window.outputs(input_shape[2:]) if pooled else output_shape[2:]
    own_output = (output_shape[0], channels, *extents)
    _check(record, window, groups, input_shape, own_output)
    macs = convolution_macs(input_shape, own_output, window.kernel, groups, transposed=transposed)
    dense = is_dense_window(window.kernel, groups, input_shape, output_shape) and not (pooled or transposed)
    return Layer(
        name=name,
        input_shape=image_shape(input_shape),
        output_shape=image_shape(output_shape),
        groups=groups,
        macs=macs,
        **_kind(dense, groups, input_shape, transposed),
        **({} if dense else window.layer_fields()),
        **record.common_fields(),
    )


def windowless_convolution_layer(record: EngineRecord, name: str, context: MatrixContext) -> Layer:
    """A convolution that does not tell its window: one inside of a generated kernel.

    The window is taken from the shape of its weights, where they are among its inputs; stride and padding are
    then those that lead from its input's extents to its output's. Where only the number of weights is known,
    the multiply-accumulates follow from it.

    Raises:
        FormatError: It has no inputs or outputs with channels and extents.
    """
    activation, constants, activations = context.split(record)
    if activation is None or not record.outputs:
        raise FormatError("a convolution without inputs or outputs", where=record.where)
    told = record.counted("Weights")[0]
    if told:
        activation, constants, activations = record.inputs[0], [], list(record.inputs)
    input_shape, output_shape = activation.shape, record.outputs[0].shape
    if min(len(input_shape), len(output_shape)) < 3:
        raise FormatError(
            f"a convolution with tensors of {list(input_shape)} and {list(output_shape)}", where=record.where
        )
    filters = _filters(input_shape, output_shape, [t.shape for t in constants])
    groups, window, weights = record.integer("Groups", 1), None, told
    if filters is not None:
        groups, weights = input_shape[1] // filters[1], prod(filters)
        window = _inferred_window(filters[2:], input_shape[2:], output_shape[2:])
    if not weights:
        warn("the convolution does not tell its window; its multiply-accumulates count as 0", where=record.where)
    base, channels = (input_shape, input_shape[1]) if record.is_transposed else (output_shape, output_shape[1])
    dense = window is not None and is_dense_window(window.kernel, groups, input_shape, output_shape)
    return Layer(
        name=name,
        input_shape=image_shape(input_shape),
        output_shape=image_shape(output_shape),
        groups=groups,
        macs=prod(base) // max(channels, 1) * weights,
        **_kind(dense, groups, input_shape, record.is_transposed),
        **({} if dense or window is None else window.layer_fields()),
        **record.common_fields(activations=activations, constants=constants),
    )


def _kind(dense: bool, groups: int, input_shape: Shape, transposed: bool) -> dict[str, Any]:
    operation = convolution_operation(groups, input_shape[1], transposed=transposed)
    return {
        "kind": LayerKind.DENSE if dense else LayerKind.CONVOLUTIONAL,
        "operation": "gemm" if dense else operation,
    }


def _window(record: EngineRecord, kernel: Shape) -> Window:
    values = {}
    for key, default in (("Stride", 1), ("PrePadding", 0), ("PostPadding", 0), ("Dilation", 1)):
        found = record.integers(key)
        if found and len(found) != len(kernel):
            raise FormatError(f"{key} {list(found)} does not fit the window {list(kernel)}", where=record.where)
        values[key] = found or (default,) * len(kernel)
    if min(*kernel, *values["Stride"], *values["Dilation"], 1) < 1:
        raise FormatError("window, stride and dilation must be at least one", where=record.where)
    round_up = "ROUND_UP" in record.padding_mode
    return Window(kernel, values["Stride"], values["PrePadding"], values["PostPadding"], values["Dilation"], round_up)


def _aligned(record: EngineRecord, window: Window) -> tuple[Shape, Shape, Window]:
    """Shapes of the first input and output as (batch, channels, extents), and the window that fits them."""
    if not record.inputs or not record.outputs:
        raise FormatError("a convolution or pooling without inputs or outputs", where=record.where)
    input_shape, output_shape, rank = record.inputs[0].shape, record.outputs[0].shape, len(window.kernel)
    if len(input_shape) == len(output_shape) == rank + 2:
        return input_shape, output_shape, window
    if len(input_shape) == len(output_shape) == rank + 1:
        maps = record.get("OutMaps")
        flat = 1 in window.kernel if maps is None else output_shape[1] == maps
        if rank == 2 and flat:
            return input_shape, output_shape, window.one_dimensional()
        return (1, *input_shape), (1, *output_shape), window  # an implicit batch is left out
    raise FormatError(
        f"a window of {list(window.kernel)} does not fit tensors of {list(input_shape)} and {list(output_shape)}",
        where=record.where,
    )


def _with_implied_padding(record: EngineRecord, window: Window, input_shape: Shape) -> Window:
    """The window with the padding that a SAME mode implies, where the engine left the explicit one at zero."""
    if "SAME" not in record.padding_mode or any((*window.pre_padding, *window.post_padding)):
        return window
    return window.with_same_padding(input_shape[2:], lower="LOWER" in record.padding_mode)


def _channels(record: EngineRecord, output_shape: Shape) -> int:
    """Output channels; those of all outputs where convolutions that share an input run as one."""
    together = sum(tensor.shape[1] for tensor in record.outputs if len(tensor.shape) == len(output_shape))
    return together if len(record.outputs) > 1 and together == record.get("OutMaps") else output_shape[1]


def _check(record: EngineRecord, window: Window, groups: int, input_shape: Shape, output_shape: Shape) -> None:
    """Warn where a convolution's keys contradict its shapes: one of them, and what follows from it, is wrong."""
    maps, channels = record.get("OutMaps"), output_shape[1]
    if maps is not None and maps != channels:
        _contradiction(record, f"{maps} output channels (OutMaps)", f"an output of {channels}")
    if input_shape[1] % groups or channels % groups:
        _contradiction(record, f"{groups} groups", f"{input_shape[1]} input and {channels} output channels")
    expected = window.outputs(input_shape[2:])
    if not record.is_transposed and expected != output_shape[2:]:
        _contradiction(record, f"a window that gives an output of {list(expected)}", f"one of {list(output_shape[2:])}")
    weights, needed = record.counted("Weights")[0], prod(window.kernel) * input_shape[1] * channels // groups
    if weights and weights != needed:
        _contradiction(record, f"{weights} weights", f"a window and channels that need {needed}")


def _contradiction(record: EngineRecord, told: str, shown: str) -> None:
    warn(
        f"the convolution tells of {told} but has {shown}",
        where=record.where,
        fix="Its multiply-accumulates follow from its shapes and may be wrong; export the engine again",
    )


def _filters(input_shape: Shape, output_shape: Shape, candidates: Sequence[Shape]) -> Shape | None:
    """The candidate that can be filters: (output channels, input channels of a group, window)."""
    for shape in candidates:
        fits = len(shape) == len(input_shape) == len(output_shape) >= 3 and shape[0] == output_shape[1]
        if fits and shape[1] and input_shape[1] % shape[1] == 0:
            return shape
    return None


def _inferred_window(kernel: Shape, extents: Shape, outputs: Shape) -> Window:
    """The window that leads from input to output extents, its padding split as evenly as can be."""
    strides = tuple(max(1, extent // max(output, 1)) for extent, output in zip(extents, outputs, strict=True))
    totals = [
        max((output - 1) * stride + size - extent, 0)
        for output, stride, size, extent in zip(outputs, strides, kernel, extents, strict=True)
    ]
    before, after = tuple(total // 2 for total in totals), tuple(total - total // 2 for total in totals)
    return Window(kernel, strides, before, after, (1,) * len(kernel))
