"""A layer's features, as the columns of the training tables."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import polars as pl

from edgewatt.formats.training_tables import BASE_FEATURES, EXTRA_FEATURES, column_type
from edgewatt.networks.layer import Layer, LayerKind


def table_kind(layer: Layer) -> LayerKind:
    """The table that a layer goes into: its kind's, or `other` where that table's columns cannot describe it.

    A convolution or pooling over three spatial dimensions, or one whose window the backend does not tell,
    has no place in the base columns.
    """
    if layer.kind in (LayerKind.CONVOLUTIONAL, LayerKind.POOLING):
        flat = len(layer.input_shape) == 4 and len(layer.output_shape) == 4
        return layer.kind if flat and layer.kernel is not None else LayerKind.OTHER
    return layer.kind


def feature_frame(kind: LayerKind, layers: Sequence[Layer]) -> pl.DataFrame:
    """The features of layers of one kind.

    Args:
        kind: The table that they go into.
        layers: Layers whose `table_kind` is `kind`.

    Returns:
        One row a layer: `layer_name`, then the base features and ours.
    """
    names = (*BASE_FEATURES[kind], *EXTRA_FEATURES[kind])
    rows = [_features(kind, layer) for layer in layers]
    schema: dict[str, type[pl.DataType]] = {"layer_name": pl.String}
    schema |= {name: column_type(name) for name in names}
    return pl.DataFrame(rows, schema=schema)


def _features(kind: LayerKind, layer: Layer) -> dict[str, object]:
    row: dict[str, object] = {
        "layer_name": layer.name,
        "operation": layer.operation,
        "precision": layer.precision,
        "macs": layer.macs,
        "weight_bytes": layer.weight_bytes,
        "input_bytes": layer.input_bytes,
        "output_bytes": layer.output_bytes,
    }
    if kind in (LayerKind.CONVOLUTIONAL, LayerKind.POOLING):
        row |= _window_features(kind, layer)
    elif kind is LayerKind.DENSE:
        row |= _dense_features(layer)
    else:
        row["batch_size"] = layer.batch_size
    return row


def _window_features(kind: LayerKind, layer: Layer) -> dict[str, object]:
    assert layer.kernel is not None
    row: dict[str, object] = {"batch_size": layer.batch_size}
    for index in range(3):
        row[f"input_size_{index}"] = layer.input_shape[index + 1]
        row[f"output_size_{index}"] = layer.output_shape[index + 1]
    for index in range(2):
        row[f"kernel_{index}"] = layer.kernel[index]
        row[f"padding_{index}"] = layer.padding[index]
        row[f"stride_{index}"] = layer.stride[index]
        if kind is LayerKind.CONVOLUTIONAL:
            row[f"dilation_{index}"] = layer.dilation[index]
    if kind is LayerKind.CONVOLUTIONAL:
        row["groups"] = layer.groups
    return row


def _dense_features(layer: Layer) -> dict[str, object]:
    """Rows, inner size and columns of the matrix product.

    A convolution over an extent of one has its channels in the second dimension; a matrix product has them
    in the last, and every dimension before counts to the batch.
    """
    if len(layer.output_shape) == 4 and layer.output_shape[2:] == (1, 1):
        output_size = layer.output_shape[1]
    else:
        output_size = layer.output_shape[-1]
    batch = prod(layer.output_shape) // output_size
    return {
        "batch_size": batch,
        "input_size": layer.macs // (batch * output_size),
        "output_size": output_size,
    }
