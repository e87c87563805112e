"""Features of the layers of foreign rows, and what the project's formulas derive from them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from edgewatt.dataset.foreign_mapping import FeatureColumn, FeatureSource, FeatureText
from edgewatt.dataset.foreign_rows import ForeignRow
from edgewatt.formats.training_tables import BASE_FEATURES, EXTRA_FEATURES
from edgewatt.networks.element_types import ELEMENT_BITS, element_type
from edgewatt.networks.layer import LayerKind, convolution_macs

_MAY_BE_ZERO = frozenset({"padding_0", "padding_1", "macs", "weight_bytes", "input_bytes", "output_bytes"})
_TEXT = frozenset({"operation", "precision"})
Features = dict[str, object]


def row_features(kind: LayerKind, row: ForeignRow, sources: Mapping[str, FeatureSource]) -> Features:
    """The features of one row's layer.

    Args:
        kind: Its kind.
        row: The row.
        sources: Where its features are.

    Returns:
        All features of the kind; those that neither the row nor a formula tells are None.

    Raises:
        FormatError: A value cannot be what its feature is.
    """
    found: Features = {name: _value(name, row, source) for name, source in sources.items()}
    derived = _derived(kind, row, found, sources)
    names = (*BASE_FEATURES[kind], *EXTRA_FEATURES[kind])
    return {name: found[name] if name in found else derived.get(name) for name in names}


def _value(name: str, row: ForeignRow, source: FeatureSource) -> object:
    column = source.column if isinstance(source, FeatureColumn) else source if isinstance(source, str) else name
    if name in _TEXT:
        text = source.text if isinstance(source, FeatureText) else row.text(column)
        return _precision(row, column, text) if name == "precision" else text
    if isinstance(source, FeatureText):
        raise row.error(column, f"the text {source.text!r} is not a number, and {name} is one")
    if isinstance(source, int):
        number = float(source)
    else:
        number = row.number(column) * (source.times if isinstance(source, FeatureColumn) else 1.0)
    if number != round(number):
        raise row.error(column, f"{name} is {number:g}, which is no whole number")
    if number < (0 if name in _MAY_BE_ZERO else 1):
        raise row.error(column, f"{name} is {number:g}, which it cannot be")
    return int(number)


def _precision(row: ForeignRow, column: str, text: str) -> str:
    known = element_type(text)
    if known is None:
        raise row.error(column, f"{text!r} is no precision; there are {', '.join(ELEMENT_BITS)}")
    return known


def _derived(kind: LayerKind, row: ForeignRow, found: Features, sources: Mapping[str, FeatureSource]) -> Features:
    if kind is LayerKind.OTHER:
        return {}
    whole = {name: value for name, value in found.items() if isinstance(value, int)}
    if kind is LayerKind.DENSE:
        derived: Features = {"operation": "gemm"}
        elements = _dense_elements(whole)
    else:
        derived = _window_defaults(kind, row, whole, sources)
        known = {**whole, **{name: value for name, value in derived.items() if isinstance(value, int)}}
        operation = str(found.get("operation") or derived["operation"])
        elements = _window_elements(kind, known, operation)
    macs, weights, inputs, outputs = elements
    derived["macs"] = macs
    precision = found.get("precision")
    if isinstance(precision, str):
        bits = ELEMENT_BITS[precision]
        sizes = {"weight_bytes": weights, "input_bytes": inputs, "output_bytes": outputs}
        derived |= {name: count * bits // 8 for name, count in sizes.items()}
    return derived


def _window_defaults(
    kind: LayerKind, row: ForeignRow, whole: Mapping[str, int], sources: Mapping[str, FeatureSource]
) -> Features:
    if kind is LayerKind.POOLING:
        return {"operation": "pooling"}
    groups = whole.get("groups", 1)
    channels, filters = whole["input_size_0"], whole["output_size_0"]
    if channels % groups or filters % groups:
        source = sources.get("groups")
        column = source.column if isinstance(source, FeatureColumn) else str(source)
        raise row.error(column, f"{channels} and {filters} channels cannot be split into {groups} groups")
    operation = "depthwise" if 1 < groups == channels else "convolution"
    return {"operation": operation, "groups": groups, "dilation_0": 1, "dilation_1": 1}


def _window_elements(kind: LayerKind, whole: Mapping[str, int], operation: str) -> tuple[int, int, int, int]:
    """Multiply-accumulates, and elements of weights (without bias), input and output."""
    input_shape = (whole["batch_size"], *(whole[f"input_size_{index}"] for index in range(3)))
    output_shape = (whole["batch_size"], *(whole[f"output_size_{index}"] for index in range(3)))
    if kind is LayerKind.POOLING:
        return 0, 0, prod(input_shape), prod(output_shape)
    kernel, groups = (whole["kernel_0"], whole["kernel_1"]), whole["groups"]
    macs = convolution_macs(input_shape, output_shape, kernel, groups, transposed=operation == "transposed")
    weights = output_shape[1] * (input_shape[1] // groups) * prod(kernel)
    return macs, weights, prod(input_shape), prod(output_shape)


def _dense_elements(whole: Mapping[str, int]) -> tuple[int, int, int, int]:
    rows, depth, columns = whole["batch_size"], whole["input_size"], whole["output_size"]
    return rows * depth * columns, depth * columns, rows * depth, rows * columns
