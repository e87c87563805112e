"""A layer as an entry of the engine inspector's JSON, so that every backend writes the same file."""

from __future__ import annotations

from math import prod
from typing import Any

from edgewatt.networks.element_types import ELEMENT_BITS, elements_bytes, tensor_bytes, tensorrt_name
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.networks.windows import Shape


def engine_entry(layer: Layer) -> dict[str, Any]:
    """Write a layer in the inspector's schema.

    `layers_from_engine` reads it back as an equal layer, but for what the schema has no place for: a layer
    without fused operations comes back with its own name as the only one, and multiply-accumulates are worked
    out from shapes, window and weights.

    Args:
        layer: The layer.

    Returns:
        The entry, of plain JSON values.
    """
    entry: dict[str, Any] = {
        "Name": layer.name,
        "LayerType": layer.backend_type,
        "ParameterType": _parameter_type(layer),
        "Inputs": _inputs(layer),
        "Outputs": _tensors("output", layer.output_shape, layer.output_bytes, _output_type(layer)),
    }
    if layer.kind in (LayerKind.CONVOLUTIONAL, LayerKind.POOLING):
        entry |= _window(layer)
    if layer.kind is not LayerKind.POOLING:
        entry |= _weights(layer)
    entry["Metadata"] = "\x1e".join(f"[ONNX Layer: {name}]" for name in layer.fused)
    return entry


def _parameter_type(layer: Layer) -> str:
    if layer.kind is LayerKind.CONVOLUTIONAL:
        return "Deconvolution" if layer.operation == "transposed" else "Convolution"
    if layer.kind is LayerKind.POOLING:
        return "Pooling"
    return "MatrixMultiply" if layer.kind is LayerKind.DENSE else layer.operation


def _window(layer: Layer) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if layer.kernel is not None:
        entry = {
            "WindowSize" if layer.kind is LayerKind.POOLING else "Kernel": list(layer.kernel),
            "PaddingMode": "kEXPLICIT_ROUND_DOWN",
            "PrePadding": list(layer.pre_padding),
            "PostPadding": list(layer.post_padding),
            "Stride": list(layer.stride),
            "Dilation": list(layer.dilation),
        }
    if layer.kind is LayerKind.POOLING:
        return entry | {"PoolingType": layer.operation.upper()}
    return entry | {"OutMaps": layer.output_shape[1], "Groups": layer.groups}


def _weights(layer: Layer) -> dict[str, Any]:
    """Weights and biases apart: a layer knows their sum, and the number of weights follows from its work."""
    weights = min(_weight_count(layer), layer.parameters)
    bias = layer.parameters - weights
    entry: dict[str, Any] = {"Weights": {"Type": tensorrt_name(layer.precision), "Count": weights}}
    if bias:
        bias_bytes = layer.weight_bytes - elements_bytes(weights, layer.precision)
        kind = _type_of(bias, bias_bytes, layer.precision) or layer.precision
        entry["Bias"] = {"Type": tensorrt_name(kind), "Count": bias}
    return entry


def _weight_count(layer: Layer) -> int:
    """Every weight works once on each row or position."""
    if not layer.macs:
        return layer.parameters
    shape = layer.input_shape if layer.operation == "transposed" else layer.output_shape
    is_matrix = layer.kind is LayerKind.DENSE and shape[2:] != (1, 1)
    channels = shape[-1] if is_matrix else shape[1]
    return layer.macs // (prod(shape) // channels)


def _inputs(layer: Layer) -> list[dict[str, Any]]:
    """The first activation with its shape, and one more for the bytes of all others.

    The type of the first is the precision that a layer without weights is read back with. Layers with weights may
    read another type.
    """
    kind = layer.precision
    own = tensor_bytes(layer.input_shape, kind)
    rest = layer.input_bytes - own
    residual = _type_of(prod(layer.output_shape), rest, kind)
    if own != layer.input_bytes and layer.parameters and not residual:
        kind = _type_of(prod(layer.input_shape), layer.input_bytes, kind) or kind
    return _tensors("input", layer.input_shape, layer.input_bytes, kind, layer.output_shape)


def _output_type(layer: Layer) -> str:
    return _type_of(prod(layer.output_shape), layer.output_bytes, layer.precision) or layer.precision


def _tensors(name: str, shape: Shape, total: int, kind: str, other: Shape = ()) -> list[dict[str, Any]]:
    """A tensor of `shape`, and a second one for the bytes that it does not explain, of shape `other` if that fits."""
    if not shape and not total:
        return []
    if tensor_bytes(shape, kind) > total:
        kind = _type_of(prod(shape), total, kind) or kind
    tensors = [_tensor(name, shape, kind)]
    rest = total - tensor_bytes(shape, kind)
    if rest > 0:
        second = _type_of(prod(other), rest, kind) if other else None
        tensors.append(_tensor(f"{name} 2", other if second else (rest,), second or "uint8"))
    return tensors


def _tensor(name: str, shape: Shape, kind: str) -> dict[str, Any]:
    return {
        "Name": name,
        "Location": "Device",
        "Dimensions": list(shape),
        "Format/Datatype": tensorrt_name(kind),
    }


def _type_of(count: int, total: int, preferred: str) -> str | None:
    """The element type that makes `count` elements `total` bytes, `preferred` where several do."""
    kinds = (preferred, *ELEMENT_BITS)
    return next((kind for kind in kinds if count and elements_bytes(count, kind) == total), None)
