"""Layers from the dictionaries of TensorRT's engine inspector.

A layer is typed by what it is: by its ParameterType first, its LayerType second and the keys that it has third,
never by its name or its kernel's name. The inspector's schema is undocumented and changes with the version;
what is handled here was seen in files of TensorRT 8.2 to 10.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from edgewatt.errors import FormatError
from edgewatt.networks.engine_entry import engine_entry
from edgewatt.networks.engine_matrix import MatrixContext, matrix_layer, product_operations
from edgewatt.networks.engine_record import EngineRecord
from edgewatt.networks.engine_window import convolution_layer, pooling_layer, windowless_convolution_layer
from edgewatt.networks.layer import Layer, LayerKind, check_sizes, unique_names

__all__ = ["engine_entry", "layers_from_engine"]

_LATER_PROFILE = re.compile(r" \[profile (\d+)\]$")


def layers_from_engine(layers: Sequence[Mapping[str, Any] | str], where: str) -> list[Layer]:
    """Turn the inspector's layers into ours, in execution order.

    Layers of further optimisation profiles are left out: one run uses one profile.

    Args:
        layers: The decoded "Layers" of an engine inspector's JSON.
        where: The file that they came from, for messages.

    Raises:
        FormatError: The engine holds names only, no layers, a layer without name, or shapes that are not known.
    """
    records = _records(layers, where)
    context = MatrixContext.of(records)
    names = unique_names([record.name for record in records])
    roles = _roles(records, context)
    found = [_layer(*layer, context) for layer in zip(records, names, roles, strict=True)]
    check_sizes(found, where)
    return found


def _records(layers: Sequence[Mapping[str, Any] | str], where: str) -> list[EngineRecord]:
    if not isinstance(layers, Sequence) or isinstance(layers, str) or not layers:
        raise FormatError("the engine holds no layers", where=where, fix="Export its layer information again")
    if any(isinstance(layer, str) for layer in layers):
        raise FormatError(
            "the engine holds only the names of its layers",
            where=where,
            fix="Rebuild it with detailed profiling verbosity (trtexec --profilingVerbosity=detailed)",
        )
    records = [EngineRecord(layer, index, where) for index, layer in enumerate(layers)]
    first_profile = [record for record in records if not _is_later_profile(record.name)]
    if not first_profile:
        raise FormatError("no layer belongs to the first optimisation profile", where=where)
    return first_profile


def _is_later_profile(name: str) -> bool:
    match = _LATER_PROFILE.search(name)
    return match is not None and int(match.group(1)) > 0


def _layer(record: EngineRecord, name: str, role: str, context: MatrixContext) -> Layer:
    if role == "convolution":
        told = record.has_window
        return convolution_layer(record, name) if told else windowless_convolution_layer(record, name, context)
    if role == "pooling":
        return pooling_layer(record, name)
    if role == "matrix":
        return matrix_layer(record, name, context)
    return Layer(
        name=name,
        kind=LayerKind.OTHER,
        operation=record.operation,
        input_shape=record.inputs[0].shape if record.inputs else (),
        output_shape=record.outputs[0].shape if record.outputs else (),
        **record.common_fields(),
    )


def _roles(records: Sequence[EngineRecord], context: MatrixContext) -> list[str]:
    """How to read each layer: as a `convolution`, a `pooling`, a `matrix` product or as `other`.

    A kernel that the compiler generated is the one product that its metadata names, if no layer of its own runs
    that. Where several generated kernels name it, the one that reads weights runs it, else the first: the others
    only finish its work.
    """
    roles = [_role(record) for record in records]
    claimed = {
        name
        for record, role in zip(records, roles, strict=True)
        if role in ("convolution", "matrix")
        for name in product_operations(record)
    }
    candidates: dict[str, list[int]] = {}
    for index, record in enumerate(records):
        if roles[index] == "generated":
            roles[index] = "other"
            named = list(product_operations(record))
            if len(named) == 1 and named[0] not in claimed and record.inputs and record.outputs:
                candidates.setdefault(named[0], []).append(index)
    for name, indices in candidates.items():
        chosen = max(indices, key=lambda index: _reads_weights(records[index], context))
        operator = product_operations(records[chosen])[name]
        roles[chosen] = "convolution" if operator == "Conv" else "matrix"
    return roles


def _reads_weights(record: EngineRecord, context: MatrixContext) -> bool:
    """Whether a constant with more than one dimension that counts is among the inputs."""
    _, constants, _ = context.split(record)
    return any(max(tensor.shape) < prod(tensor.shape) for tensor in constants)


def _role(record: EngineRecord) -> str:
    """A layer's role by its ParameterType, without one by its LayerType, else by the keys that it has."""
    role = _role_of_word(record.parameter_type or record.layer_type)
    if role is None and record.has("WindowSize") and record.has("PoolingType"):
        return "pooling"
    if role is None and record.has_window and record.has("OutMaps", "ConvOutMaps"):
        return "convolution"
    return role or "other"


def _role_of_word(text: str) -> str | None:
    word = re.sub(r"v\d+$", "", text.lower().replace("_", ""))
    if word.endswith(("convolution", "convactpool", "conv")) or word == "correlation":
        return "convolution"
    if word.endswith("pooling"):
        return "pooling"
    if word == "gemm" or word.endswith(("matrixmultiply", "fullyconnected")):
        return "matrix"
    return "generated" if word in ("kgen", "fusion") else None
