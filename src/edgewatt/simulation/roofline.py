"""What a layer takes and draws on a simulated board: a roofline for time, energy per operation for power.

time  = launch + max(operations / (peak rate x efficiency), bytes / bandwidth)
power = active power + (operations x energy of one + bytes x energy of one) / time, above idle

The efficiency of a matrix product of `rows x columns x depth` (a convolution is one) falls where its channels do not
fill the hardware's vectors and where it has too little work for all multiprocessors. Each shape then differs from
this model by a few per cent of its own, as kernels do, so that no formula predicts the board exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.simulation.board import SimulatedBoard

#: Operations that a backend lists but does not execute.
_FREE = frozenset({"noop", "constant"})
#: Tensor cores take 16 rows and columns at once, and read their operands in vectors of 16 bytes.
_TILE, _VECTOR_BYTES = 16, 16
#: Rows and columns of the part of a product that one multiprocessor works on, and how deep it must be to keep it busy.
_BLOCK, _BLOCK_DEPTH = 64, 256
_BYTES = {"int8": 1, "float16": 2, "bfloat16": 2}
#: How far a shape's time and dynamic power may lie from the model: chosen as a few per cent.
_TIME_SPREAD, _POWER_SPREAD = 0.04, 0.03
#: How far a power mode moves both, as a part of that: a backend that times its kernels picks others at other clocks.
#: Chosen; the mode that a board's figures are of has none.
_MODE_PART = 0.25


@dataclass(frozen=True)
class _Work:
    """Operations of a layer, how fast they can be done, and what one costs."""

    operations: float
    per_s: float
    energy_j: float


def layer_truth(layers: Sequence[Layer], board: SimulatedBoard) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True runtime and power of layers.

    Args:
        layers: The layers, n of them.
        board: Where they run.

    Returns:
        Runtimes in s, shape (n,), 0 for layers that are not executed; and powers above idle in W, shape (n,),
        0 for those.
    """
    truth = np.array([_runtime_and_power(layer, board) for layer in layers], dtype=np.float64).reshape(-1, 2)
    return truth[:, 0], truth[:, 1]


def _runtime_and_power(layer: Layer, board: SimulatedBoard) -> tuple[float, float]:
    if layer.operation in _FREE or (layer.macs == 0 and layer.total_bytes == 0):
        return 0.0, 0.0
    work = _work(layer, board)
    busy_s = max(
        work.operations / work.per_s,
        layer.total_bytes / (board.dram_bytes_per_s * board.bandwidth_efficiency),
    )
    time_deviation, power_deviation = _deviations(layer, board)
    runtime_s = board.launch_s + busy_s * (1 + _TIME_SPREAD * time_deviation)
    dynamic_j = work.operations * work.energy_j + layer.total_bytes * board.dram_byte_j
    dynamic_w = dynamic_j / runtime_s * (1 + _POWER_SPREAD * power_deviation)
    return runtime_s, board.active_power_w + dynamic_w


def _work(layer: Layer, board: SimulatedBoard) -> _Work:
    if layer.macs > 0 and not _is_depthwise(layer):
        rate = _of(board.tensor_macs_per_s, layer) * board.tensor_efficiency * _fill(layer, board)
        return _Work(layer.macs, rate, _of(board.tensor_mac_j, layer))
    rate = _of(board.cuda_macs_per_s, layer) * board.cuda_efficiency
    return _Work(layer.macs or _plain_operations(layer), rate, _of(board.cuda_mac_j, layer))


def _is_depthwise(layer: Layer) -> bool:
    return layer.kind is LayerKind.CONVOLUTIONAL and 1 < layer.groups == layer.input_shape[1]


def _plain_operations(layer: Layer) -> int:
    """Operations of a layer without multiply-accumulates: its window, or each fused step, for every output."""
    window = prod(layer.kernel) if layer.kernel is not None else 1
    return prod(layer.output_shape) * max(window, len(layer.fused), 1)


def _fill(layer: Layer, board: SimulatedBoard) -> float:
    """Share of the tensor cores' work that is of use, above 0 and at most 1."""
    rows, columns, depth, channels = _product(layer)
    vector = _VECTOR_BYTES // _BYTES.get(layer.precision, 4)
    aligned = _of_multiple(rows, _TILE) * _of_multiple(columns, _TILE) * _of_multiple(channels, vector)
    # However small the product, one multiprocessor works on it.
    blocks = max(layer.groups * rows * columns / _BLOCK**2 * max(depth / _BLOCK_DEPTH, 1), 1)
    return aligned * blocks / (blocks + board.multiprocessors)


def _product(layer: Layer) -> tuple[int, int, float, int]:
    """Rows, columns, depth and input channels of the matrix product that each group of a layer is."""
    outputs = prod(layer.output_shape)
    depth = layer.macs / outputs
    if layer.kind is LayerKind.CONVOLUTIONAL:
        columns = layer.output_shape[1] // layer.groups
        return outputs // layer.output_shape[1], columns, depth, layer.input_shape[1] // layer.groups
    flat = len(layer.output_shape) == 4 and layer.output_shape[2:] == (1, 1)
    columns = layer.output_shape[1] if flat else layer.output_shape[-1]
    return outputs // columns, columns, depth, max(round(depth), 1)


def _of_multiple(number: int, unit: int) -> float:
    return number / (ceil(number / unit) * unit)


def _of(table: Mapping[str, float], layer: Layer) -> float:
    return table.get(layer.precision, table["float32"])


def _deviations(layer: Layer, board: SimulatedBoard) -> tuple[float, float]:
    """Two numbers of about -1 to 1 that depend on what the layer is, not on its name, and on the power mode."""
    shape = (
        board.name,
        layer.operation,
        layer.precision,
        layer.input_shape,
        layer.output_shape,
        layer.kernel,
        layer.stride,
        layer.groups,
    )
    time, power = _drawn(shape)
    if board.power_mode == board.usual_mode:
        return time, power
    mode_time, mode_power = _drawn((*shape, board.power_mode))
    return time + _MODE_PART * mode_time, power + _MODE_PART * mode_power


def _drawn(what: tuple[object, ...]) -> tuple[float, float]:
    """Two numbers from -1 to 1 that follow from a description alone."""
    digest = hashlib.blake2b(repr(what).encode(), digest_size=8).digest()
    first, second = (int.from_bytes(part, "little") for part in (digest[:4], digest[4:]))
    return first / 2**31 - 1, second / 2**31 - 1
