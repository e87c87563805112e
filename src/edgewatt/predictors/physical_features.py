"""Features for trees and distances, and the terms of a layer's cost, made of its physical amounts."""

from __future__ import annotations

import numpy as np

from edgewatt.predictors.physics import BOARD_AMOUNTS, LayerAmounts
from edgewatt.predictors.terms import Array

#: Rows and columns of the parts of a matrix product that one multiprocessor works on, and vectors of its channels.
_BLOCK, _SMALL_BLOCK, _VECTOR = 64, 32, 8

_LOGARITHMIC = (
    *("macs", "window", "weight_bytes", "input_bytes", "output_bytes"),
    *("rows", "columns", "depth", "groups"),
    *("input_channels", "input_size", "output_channels", "output_size"),
)
_PLAIN = ("batch", "value_bytes", "kernel_0", "kernel_1", "stride", "dilation", "padding", "depthwise", "transposed")
_KINDS = ("convolutional", "pooling", "dense", "other")

#: Features that say how far apart two layers are.
DISTANCE_FEATURES = (
    *("log macs", "log window", "log weight_bytes", "log input_bytes", "log output_bytes"),
    *("log rows", "log columns", "log depth", "log groups", "log kernel", "log stride", "log dilation"),
    *("value_bytes", "depthwise", "transposed", *_KINDS),
)


#: Terms of two sums whose geometric mean is a layer's time: a fine one, and operations and bytes. Their mean
#: extrapolated better than either to ranges and clusters of measured convolutions that were left out.
FINE_COST_TERMS = (
    *("launch", "macs", "macs in small blocks", "macs in large blocks", "depthwise macs", "depth"),
    *("blocks times depth", "unrolled", "window", "weight bytes", "input bytes", "output bytes"),
)
COARSE_COST_TERMS = ("launch", "macs", "depthwise macs", "window", "bytes")

#: Features that say something where boards differ only.
BOARD_FEATURES = (*(f"log {name}" for name in BOARD_AMOUNTS), "board intensity")

#: Terms of a power that say something where boards differ only: larger boards draw more whatever they do.
BOARD_POWER_TERMS = ("active cores", "active idle")


def physical_features(amounts: LayerAmounts) -> dict[str, Array]:
    """What trees split on and distances are measured in, each of shape (n,).

    Logarithms of amounts, the arithmetic intensity (multiply-accumulates a byte), how many blocks the matrix product
    is, and how well it fills them.
    """
    features = {f"log {name}": np.log1p(amounts[name]) for name in _LOGARITHMIC}
    features |= {name: amounts[name] for name in (*_PLAIN, *_KINDS)}
    rows, columns, depth = amounts["rows"], amounts["columns"], amounts["depth"]
    total = amounts.total_bytes
    kernel = amounts["kernel_0"] * amounts["kernel_1"]
    # Libraries choose an algorithm by the channels of a group, and some transform one kernel for each pair of them.
    inputs, outputs = (amounts[name] / amounts["groups"] for name in ("input_channels", "output_channels"))
    features |= {
        "log channel pairs": np.log1p(inputs * outputs),
        "log fewer channels": np.log1p(np.minimum(inputs, outputs)),
        "log more channels": np.log1p(np.maximum(inputs, outputs)),
        "log bytes": np.log1p(total),
        "log intensity": np.log1p(amounts["macs"]) - np.log1p(total),
        "log kernel": np.log(kernel),
        "log stride": np.log(amounts["stride"]),
        "log dilation": np.log(amounts["dilation"]),
        "pointwise": (kernel == 1.0).astype(np.float64),
        "log blocks": np.log(_blocks(amounts, _BLOCK)),
        "log padded macs": np.log1p(padded_macs(amounts, _SMALL_BLOCK)),
        "log unrolled": np.log1p(rows * depth * amounts["groups"]),
        "log outputs": np.log1p(rows * columns * amounts["groups"]),
        "rows fill": _fill(rows, _BLOCK),
        "columns fill": _fill(columns, _BLOCK),
        "columns fill 32": _fill(columns, _SMALL_BLOCK),
        "depth fill": _fill(depth, _VECTOR),
        "input channels fill": _fill(amounts["input_channels"], _VECTOR),
        "output channels fill": _fill(amounts["output_channels"], _VECTOR),
    }
    features |= {f"log {name}": np.log(np.maximum(amounts[name], 1e-9)) for name in BOARD_AMOUNTS}
    # Operations against bytes in the board's own peak times: which of the two its roofline says the layer waits for.
    compute = amounts["macs"] * amounts["value_bytes"] / 4.0 * amounts["tensor_time"]
    features["board intensity"] = np.log1p(compute) - np.log1p(total * amounts["memory_time"])
    return features


def cost_terms(amounts: LayerAmounts) -> dict[str, Array]:
    """What a layer's time is made of, each of shape (n,): a constant for its launch, work, and bytes.

    The coefficient of each is a time for one; a half-precision operation counts as half an operation. Where boards are
    known operations and bytes are times at the board's peak, and the coefficient says how far it is from that.
    """
    relative = amounts["value_bytes"] / 4.0
    macs = amounts["macs"] * relative
    depthwise = amounts["depthwise"] * amounts["cuda_time"]
    dense = 1.0 - amounts["depthwise"]
    matrix, alone = dense * amounts["tensor_time"], dense * amounts["core_time"]
    memory = amounts["memory_time"]
    return {
        "launch": np.ones(len(amounts)),
        "macs": macs * matrix,
        "macs in small blocks": padded_macs(amounts, _SMALL_BLOCK) * relative * matrix,
        "macs in large blocks": padded_macs(amounts, 2 * _BLOCK, _BLOCK) * relative * matrix,
        "depthwise macs": macs * depthwise,
        "depth": amounts["depth"] * alone,
        "blocks times depth": _blocks(amounts, _BLOCK) * amounts["depth"] * relative * matrix,
        "unrolled": amounts["rows"]
        * amounts["depth"]
        * amounts["groups"]
        * relative
        * (1.0 - amounts["depthwise"])
        * memory,
        "window": amounts["window"] * amounts["cuda_time"],
        "weight bytes": amounts["weight_bytes"] * memory,
        "input bytes": amounts["input_bytes"] * memory,
        "output bytes": amounts["output_bytes"] * memory,
        "bytes": amounts.total_bytes * memory,
    }


def power_terms(amounts: LayerAmounts, runtime: Array) -> dict[str, Array]:
    """What a layer's power is made of: a constant, and operations and bytes in a unit of time; each of shape (n,).

    `BOARD_POWER_TERMS` are constants of the board.

    Args:
        amounts: The layers.
        runtime: Their runtimes, shape (n,), positive.
    """
    relative = amounts["value_bytes"] / 4.0
    return {
        "active": np.ones(len(amounts)),
        "macs": amounts["macs"] * relative / runtime,
        "window": amounts["window"] / runtime,
        "bytes": amounts.total_bytes / runtime,
        "unrolled": amounts["rows"] * amounts["depth"] * amounts["groups"] * relative / runtime,
        "active cores": amounts["board_cores"],
        "active idle": amounts["board_idle"],
    }


def rate_features(amounts: LayerAmounts, runtime: Array) -> dict[str, Array]:
    """Features made with an estimate of the runtime: it, and operations and bytes in a unit of it."""
    log_runtime = np.log(runtime)
    return {
        "log time": log_runtime,
        "log macs rate": np.log1p(amounts["macs"]) - log_runtime,
        "log bytes rate": np.log1p(amounts.total_bytes) - log_runtime,
    }


def padded_macs(amounts: LayerAmounts, rows: int, columns: int | None = None) -> Array:
    """Multiply-accumulates when rows and columns are filled up to whole blocks, shape (n,); 0 where there are none."""
    filled = _up(amounts["rows"], rows) * _up(amounts["columns"], columns or rows)
    return np.where(amounts["macs"] > 0.0, filled * amounts["depth"] * amounts["groups"], 0.0)


def _blocks(amounts: LayerAmounts, block: int) -> Array:
    blocks: Array = np.ceil(amounts["rows"] / block) * np.ceil(amounts["columns"] / block) * amounts["groups"]
    return blocks


def _up(number: Array, unit: int) -> Array:
    up: Array = np.ceil(number / unit) * unit
    return up


def _fill(number: Array, unit: int) -> Array:
    return number / _up(number, unit)
