"""A board's prior: a roofline for time, energy per operation and per byte for power.

    time   = launch + max(fill + operations / (peak rate x efficiency), bytes / (bandwidth x efficiency))
    energy = active power x time + operations x energy of one + bytes x energy of one            (above idle)

The tensor cores take a time to fill whatever the layer, and do useless work where its channels do not fill their tiles;
depthwise convolutions, pooling and everything without multiply-accumulates run on CUDA cores. At a lower clock the
voltage is lower too, and the energy of an operation falls with its square. A tensor that is copied before a layer reads
it (see `edgewatt.networks.concatenation`) is one launch more, and its bytes are read and written; both count to the
layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.board_figures import VOLTA, Architecture, BoardFigures

#: Operations that a backend lists but does not execute.
FREE_OPERATIONS = frozenset({"noop", "shape_call", "constant"})

#: Tensor cores take 16 rows and columns at once and read their operands in vectors of 16 bytes.
_TILE, _VECTOR_BYTES = 16, 16
_BYTES = {"int8": 1, "float16": 2, "bfloat16": 2}
#: Voltage at a clock near zero, as a share of that at the highest clock: chosen, 0.6 V to 1.0 V being usual.
_LOWEST_VOLTAGE = 0.6
#: An operation on a CUDA core against one on a tensor core: chosen, for an instruction that is fetched and decoded for
#: two operations instead of for hundreds.
_CUDA_ENERGY = 3.0


@dataclass(frozen=True)
class PriorParameters:
    """What no data sheet tells, calibrated on published whole-network results.

    Attributes:
        ampere_launch_s: What starting and ending a kernel adds to its layer's time on a board of that generation: its
            processors, its GPU's front end and the software of its time.
        volta_launch_s: The same.
        tensor_efficiency: Share of the tensor cores' peak that an aligned layer reaches once they are busy.
        fill_s: Time of filling and draining the tensor cores, at the highest clock.
        cuda_efficiency: Share of the CUDA cores' peak.
        bandwidth_efficiency: Share of the memory's peak bandwidth.
        active_sm_w: Power above idle of each multiprocessor, at the highest clock, while anything runs.
        int8_mac_j: Energy of an int8 multiply-accumulate on a tensor core, its operands' way included; other types have
            multiples of it, as the bytes of their operands are.
    """

    ampere_launch_s: float
    volta_launch_s: float
    tensor_efficiency: float
    fill_s: float
    cuda_efficiency: float
    bandwidth_efficiency: float
    active_sm_w: float
    int8_mac_j: float

    def launch_s(self, architecture: Architecture) -> float:
        """The launch cost on a board of this generation."""
        return self.volta_launch_s if architecture is VOLTA else self.ampere_launch_s


@dataclass(frozen=True)
class Clocks:
    """Clocks as shares of the board's highest.

    Attributes:
        gpu: Of the GPU.
        memory: Of the memory.
    """

    gpu: float = 1.0
    memory: float = 1.0


def is_free(layer: Layer) -> bool:
    """Whether a layer is listed but not executed."""
    return layer.operation in FREE_OPERATIONS or (layer.macs == 0 and layer.total_bytes == 0)


def runtimes_s(
    layers: Sequence[Layer], board: BoardFigures, parameters: PriorParameters, clocks: Clocks | None = None
) -> NDArray[np.float64]:
    """Runtimes of layers in s, shape (n,); 0 for layers that are not executed."""
    at = clocks or Clocks()
    return np.array([_runtime_s(layer, board, parameters, at) for layer in layers], dtype=np.float64)


def energies_above_idle_j(
    layers: Sequence[Layer],
    runtimes: NDArray[np.float64],
    board: BoardFigures,
    parameters: PriorParameters,
    clocks: Clocks | None = None,
) -> NDArray[np.float64]:
    """Energies above idle of layers in J, shape (n,).

    Args:
        layers: The layers, n of them.
        runtimes: Their runtimes in s, shape (n,).
        board: Where they run.
        parameters: The calibration.
        clocks: Clocks; None for the highest.
    """
    at = clocks or Clocks()
    voltage = _LOWEST_VOLTAGE + (1 - _LOWEST_VOLTAGE) * at.gpu
    active_w = parameters.active_sm_w * board.multiprocessors * voltage**2 * at.gpu
    operation_j = np.array([_operations_j(layer, board, parameters) for layer in layers])
    byte_j = np.array([(layer.total_bytes + 2 * layer.copied_bytes) * board.architecture.byte_j for layer in layers])
    executed = runtimes > 0.0
    energies: NDArray[np.float64] = np.where(
        executed, active_w * runtimes + operation_j * voltage**2 + byte_j, 0.0
    ).astype(np.float64)
    return energies


def _runtime_s(layer: Layer, board: BoardFigures, parameters: PriorParameters, clocks: Clocks) -> float:
    if is_free(layer):
        return 0.0
    bytes_per_s = board.bytes_per_s * clocks.memory * parameters.bandwidth_efficiency
    busy_s = max(_compute_s(layer, board, parameters) / clocks.gpu, layer.total_bytes / bytes_per_s)
    launches_s = (1 + layer.copies) * parameters.launch_s(board.architecture)
    return launches_s + busy_s + 2 * layer.copied_bytes / bytes_per_s


def _compute_s(layer: Layer, board: BoardFigures, parameters: PriorParameters) -> float:
    tensor_rate = board.tensor_macs_per_s(layer.precision)
    if tensor_rate is not None and layer.macs > 0 and not _is_depthwise(layer):
        return parameters.fill_s + layer.macs / (tensor_rate * parameters.tensor_efficiency * _aligned(layer))
    return _cuda_operations(layer) / (board.cuda_macs_per_s(layer.precision) * parameters.cuda_efficiency)


def _operations_j(layer: Layer, board: BoardFigures, parameters: PriorParameters) -> float:
    bytes_each = _BYTES.get(layer.precision, 4)
    on_tensor_cores = board.tensor_macs_per_s(layer.precision) is not None
    if on_tensor_cores and layer.macs > 0 and not _is_depthwise(layer):
        operations = float(layer.macs)
    else:
        operations = _CUDA_ENERGY * _cuda_operations(layer)
    return operations * parameters.int8_mac_j * bytes_each * board.architecture.energy_factor


def _is_depthwise(layer: Layer) -> bool:
    return layer.kind is LayerKind.CONVOLUTIONAL and 1 < layer.groups == layer.input_shape[1]


def _cuda_operations(layer: Layer) -> int:
    """Multiply-accumulates, or the window (or each fused step) of every output where there are none."""
    if layer.macs > 0:
        return layer.macs
    window = prod(layer.kernel) if layer.kernel is not None else 1
    return prod(layer.output_shape) * max(window, len(layer.fused), 1)


def _aligned(layer: Layer) -> float:
    """Share of the tensor cores' tiles that is of use, above 0 and at most 1."""
    outputs = prod(layer.output_shape)
    vector = _VECTOR_BYTES // _BYTES.get(layer.precision, 4)
    if layer.kind is LayerKind.CONVOLUTIONAL and len(layer.output_shape) >= 2:
        columns = max(layer.output_shape[1] // layer.groups, 1)
        rows = outputs // layer.output_shape[1]
        channels = max(layer.input_shape[1] // layer.groups, 1)
    else:
        flat = len(layer.output_shape) == 4 and layer.output_shape[2:] == (1, 1)
        columns = layer.output_shape[1] if flat else layer.output_shape[-1]
        rows, channels = outputs // columns, max(round(layer.macs / outputs), 1)
    return _of_multiple(rows, _TILE) * _of_multiple(columns, _TILE) * _of_multiple(channels, vector)


def _of_multiple(number: int, unit: int) -> float:
    return number / (ceil(number / unit) * unit)
