"""Layers that fill the space around those of real networks: scrambled Sobol points, turned into realistic numbers.

Sizes and channels are even in the logarithm, within what real networks have: no more elements than their largest
tensors, and the fewer channels the larger the image. Kernels, steps, groups and the like come in shares. The points of
a longer sequence begin with those of a shorter one (I. Sobol, 1967; A. Owen, "Scrambling Sobol' and
Niederreiter-Xing points", Journal of Complexity 14, 1998).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import exp, log
from typing import Any, TypeVar

import numpy as np
from scipy.stats import qmc

from edgewatt.networks.layer import LayerKind
from edgewatt.sweep.single import SingleLayer

T = TypeVar("T")
#: Coordinates of one layer, each from 0 to 1, by name.
Point = Mapping[str, float]

_COORDINATES = ("size", "channels", "outputs", "kernel", "stride", "groups", "dilation", "batch", "tail", "padding")
_AT_ONCE = 256
#: Extents that networks have: powers of two and their sums, 224 and 299 halved again and again, and between them.
_SIZES: tuple[int, ...] = (
    *(4, 5, 6, 7, 8, 10, 12, 14, 16, 17, 20, 24, 28, 32, 35, 40, 48, 56, 64, 71),
    *(80, 96, 112, 128, 149, 160, 192, 224, 256),
)
#: Elements of the largest tensor of the shipped architectures: 64 channels of 224x224.
_MOST_ELEMENTS = 64 * 224 * 224
_MOST_CHANNELS = 2560
_BATCHES = ((1, 0.75), (2, 0.1), (4, 0.07), (8, 0.05), (16, 0.03))
_ROWS = ((1, 0.6), (2, 0.1), (4, 0.1), (8, 0.08), (16, 0.07), (64, 0.05))
_ACTIVATIONS: tuple[tuple[str | None, float], ...] = (("Relu", 0.6), ("Clip", 0.1), (None, 0.3))

#: Shares of designed convolutions.
CONVOLUTION_SHARES = {"standard": 0.4, "pointwise": 0.3, "depthwise": 0.2, "grouped": 0.1}
#: Shares of designed poolings.
POOLING_SHARES = {"max": 0.5, "average": 0.2, "global": 0.3}


def designed_layers(kind: LayerKind, seed: int) -> Iterator[SingleLayer]:
    """Layers of a kind, without end; some may be more than a board holds, or not fit together.

    Args:
        kind: Convolutional, pooling or dense.
        seed: Scrambles the points.
    """
    if kind is LayerKind.DENSE:
        yield from map(_dense, _points(seed, 0))
    shares = CONVOLUTION_SHARES if kind is LayerKind.CONVOLUTIONAL else POOLING_SHARES
    make: Callable[[str, Point], SingleLayer] = _convolution if kind is LayerKind.CONVOLUTIONAL else _pooling
    points = {name: _points(seed, index) for index, name in enumerate(shares, start=1)}
    for name in in_shares(shares):
        yield make(name, next(points[name]))


def in_shares(shares: Mapping[T, float]) -> Iterator[T]:
    """Names without end, each as often as its share says, as evenly as possible."""
    total = sum(shares.values())
    counts = dict.fromkeys(shares, 0)
    for number in range(1, 2**62):
        chosen = max(shares, key=lambda name: number * shares[name] / total - counts[name])
        counts[chosen] += 1
        yield chosen


def _points(seed: int, stream: int) -> Iterator[Point]:
    engine = qmc.Sobol(len(_COORDINATES), scramble=True, seed=np.random.default_rng([seed, stream]))
    while True:
        for row in engine.random(_AT_ONCE).tolist():
            yield dict(zip(_COORDINATES, row, strict=True))


def _choose(share: float, options: Sequence[tuple[T, float]]) -> T:
    ends = list(accumulate(weight for _, weight in options))
    return options[min(bisect(ends, share * ends[-1]), len(options) - 1)][0]


def _between(share: float, low: float, high: float) -> float:
    """Between two numbers, even in the logarithm."""
    return exp(log(low) + share * (log(max(high, low)) - log(low)))


def _extent(share: float, low: float = 4.0, high: float = 256.0) -> int:
    wanted = _between(share, low, high)
    return min(_SIZES, key=lambda size: abs(log(size / wanted)))


def _channels(wanted: float, unit: int = 1) -> int:
    """A number of channels that networks have, a multiple of `unit`: few of 4, more of 8, many of 16."""
    step = 4 if wanted < 32 else 8 if wanted < 256 else 16
    step = step if step % unit == 0 else unit
    return max(step * round(wanted / step), step)


def _most_channels(size: int) -> float:
    return min(_MOST_CHANNELS, _MOST_ELEMENTS / size**2)


def _least_channels(size: int) -> float:
    """Small images have many channels in networks, and large ones few."""
    return min(max(8.0, 600.0 / size), 64.0)


def _convolution(name: str, point: Point) -> SingleLayer:
    size = _extent(point["size"])
    channels = _channels(_between(point["channels"], _least_channels(size), _most_channels(size)))
    window: dict[str, Any] = {"groups": 1}
    if name == "pointwise":
        kernel, spread = 1, 6.0
    elif name == "depthwise":
        kernel, spread = _choose(point["kernel"], ((3, 0.5), (5, 0.35), (7, 0.15))), 1.0
        window["groups"] = channels
    else:
        kernels = ((3, 0.55), (5, 0.2), (7, 0.1), (11, 0.05), (2, 0.05), (4, 0.05))
        kernel, spread = _choose(point["kernel"], kernels), 4.0
    if name == "grouped":
        groups = 2 ** round(_between(point["groups"], 1.0, 6.0))
        channels = _channels(max(channels, 4 * groups), groups)
        window["groups"] = groups
    stride = _choose(point["stride"], ((1, 0.72), (2, 0.25), (4, 0.03)))
    if kernel in (2, 4):  # how networks cut an image into patches
        stride = kernel
    out_size = max(size // stride, 1)
    outputs = channels * _between(point["outputs"], 1 / spread, spread)
    outputs = min(max(outputs, 8.0), _most_channels(out_size))
    if name != "depthwise":
        window["outputs"] = _channels(outputs, window["groups"])
    dilation = _choose(point["dilation"], ((1, 0.88), (2, 0.08), (4, 0.04))) if kernel in (3, 5) else 1
    same = kernel not in (2, 4) and point["padding"] < 0.88
    padding = dilation * (kernel - 1) // 2 if same else 0
    residual = stride == 1 and same and point["padding"] < 0.15
    return SingleLayer(
        "convolution",
        (_choose(point["batch"], _BATCHES), channels, size, size),
        window.get("outputs", channels),
        (kernel, kernel),
        (stride, stride),
        (padding, padding),
        (padding, padding),
        (dilation, dilation),
        window["groups"],
        _choose(point["tail"], _ACTIVATIONS),
        residual,
    )


def _pooling(name: str, point: Point) -> SingleLayer:
    size = _extent(point["size"], high=32.0 if name == "global" else 256.0)
    channels = _channels(_between(point["channels"], _least_channels(size), _most_channels(size)))
    shape = (_choose(point["batch"], _BATCHES), channels, size, size)
    if name == "global":
        return SingleLayer("average", shape, channels, (size, size))
    kernel = _choose(point["kernel"], ((3, 0.5), (2, 0.35), (5, 0.15)))
    stride = 2 if kernel == 2 else _choose(point["stride"], ((2, 0.6), (1, 0.4)))
    padding = kernel // 2 if kernel != 2 and point["padding"] < 0.7 else 0
    pair = (padding, padding)
    return SingleLayer(name, shape, channels, (kernel, kernel), (stride, stride), pair, pair)


def _dense(point: Point) -> SingleLayer:
    inner = _channels(_between(point["channels"], 16.0, 16384.0))
    outputs = round(_between(point["outputs"], 10.0, 4096.0))
    # Classifiers have as many columns as there are classes; other layers have multiples.
    outputs = outputs if outputs < 32 or point["padding"] < 0.2 else _channels(outputs)
    activation = "Relu" if point["tail"] < 0.5 else None
    return SingleLayer("gemm", (_choose(point["batch"], _ROWS), inner), outputs, activation=activation)
