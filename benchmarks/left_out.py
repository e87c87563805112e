"""Ways to leave measured convolutions out that stand in for layers of another design, which the data set lacks.

Settings of predictors were chosen on some of them (`CHOSEN_ON`), so that errors there flatter; the others had no say.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from edgewatt.dataset.features import feature_frame
from edgewatt.networks.architectures import architecture_names, network_layers
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.physical_features import DISTANCE_FEATURES, physical_features
from edgewatt.predictors.physics import layer_amounts
from edgewatt.predictors.terms import Array

CONV = LayerKind.CONVOLUTIONAL
Rows = NDArray[np.bool_]

#: Sets of ways that settings were chosen on.
CHOSEN_ON = ("ranges", "clusters")

#: Share of the layers that a range holds.
_RANGE = 0.15
_CLUSTERS = 8
#: A set of fewer layers says little.
_LEAST_ROWS = 10

#: For each convolution of a network so many of the measured ones that are nearest count as like it, unless they are
#: further away than this, in standard deviations of the measured ones.
_NEAREST, _FURTHEST = 2, 1.0


def left_out_sets(table: pl.DataFrame) -> dict[str, dict[str, Rows]]:
    """For each set of ways, and each way in it, which layers are left out.

    Args:
        table: The measured convolutions.
    """
    return {
        "corners": corners(table),
        "like networks": {"like networks' layers": like_networks(table)},
        "ranges": ranges(table),
        "clusters": clusters(table),
    }


def corners(table: pl.DataFrame) -> dict[str, Rows]:
    """Layers that lie in a corner of the design space."""
    column = {name: table[name].to_numpy() for name in table.columns if table[name].dtype.is_numeric()}
    return {
        "kernel 3 and larger": column["kernel_0"] >= 3,
        "kernel 5 and larger": column["kernel_0"] >= 5,
        "stride above 1": column["stride_0"] > 1,
        "groups above 1": column["groups"] > 1,
        "input 28 and larger": column["input_size_1"] >= 28,
        "more than 400 channels": column["input_size_0"] > 400,
        "most operations (1 in 5)": column["macs"] > np.quantile(column["macs"], 0.8),
        "weights above 4 MB": column["weight_bytes"] > 4e6,
    }


def ranges(table: pl.DataFrame) -> dict[str, Rows]:
    """The 15 % of the layers that have the most, and the least, of an amount; ties with the bound stay in training."""
    amounts = layer_amounts(CONV, table, detailed=True)
    found = {}
    measures = {
        "operations": amounts["macs"],
        "bytes": amounts.total_bytes,
        "intensity": amounts["macs"] / amounts.total_bytes,
        "bytes of weights": amounts["weight_bytes"],
        "bytes of activations": amounts["input_bytes"] + amounts["output_bytes"],
        "depth": amounts["depth"],
        "input size": amounts["input_size"],
        "output size": amounts["output_size"],
        "input channels": amounts["input_channels"],
        "output channels": amounts["output_channels"],
    }
    for name, values in measures.items():
        found[f"most {name}"] = values > np.quantile(values, 1.0 - _RANGE)
        found[f"least {name}"] = values < np.quantile(values, _RANGE)
    return {name: rows for name, rows in found.items() if rows.sum() >= _LEAST_ROWS}


def clusters(table: pl.DataFrame, seed: int = 0) -> dict[str, Rows]:
    """Clusters of layers in the features that distances are measured in."""
    labels = KMeans(_CLUSTERS, random_state=seed, n_init=5).fit_predict(_scaled(table, table))
    found = {f"cluster {label + 1}": labels == label for label in range(_CLUSTERS)}
    return {name: rows for name, rows in found.items() if rows.sum() >= _LEAST_ROWS}


def like_networks(table: pl.DataFrame) -> Rows:
    """Layers that are nearest to those of the networks that ship with edgewatt, in 32-bit floats and one at a time."""
    points = _scaled(table, table)
    near = np.zeros(table.height, dtype=np.bool_)
    for name in architecture_names():
        layers = [layer for layer in network_layers(name, batch=1, precision="float32") if layer.kind is CONV]
        others = _scaled(feature_frame(CONV, layers), table)
        distances = np.sqrt(((others[:, None] - points) ** 2).sum(axis=2))
        nearest = np.argsort(distances, axis=1)[:, :_NEAREST]
        near[nearest[np.take_along_axis(distances, nearest, axis=1) < _FURTHEST]] = True
    return near


def _scaled(layers: pl.DataFrame, measured: pl.DataFrame) -> Array:
    """Features of layers in standard deviations of the measured ones', shape (layers, features)."""
    columns, reference = (
        np.column_stack([features[name] for name in DISTANCE_FEATURES])
        for features in (physical_features(layer_amounts(CONV, rows, detailed=True)) for rows in (layers, measured))
    )
    scaled: Array = (columns - reference.mean(axis=0)) / np.maximum(reference.std(axis=0), 0.5)
    return scaled
