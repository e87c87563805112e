"""Simulated boards: what a published board can do, and what it costs.

Where a figure is published its source stands beside it. Where one had to be chosen the comment says what it was
chosen for. A simulated board is a stand-in with known truth for tests and validation; it is not a measurement of
the board whose name it borrows.

Sources:

- [data sheet] NVIDIA, Jetson Orin Nano series data sheet: 8 GB module with 1024 CUDA cores and 32 tensor cores at
  up to 625 MHz, 128-bit LPDDR5 at 68 GB/s, 40 sparse (20 dense) int8 TOPS, power modes of 7 W and 15 W.
- [idle] github.com/fuzzylabs/edge-vision-power-estimation, docs: 4.235 W on VDD_IN of an idle Jetson Orin Nano
  developer kit, and 3.09 ms a cycle for AlexNet in fp16 with a profiler attached.
- [Horowitz] M. Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014: at 45 nm a
  multiplication and addition take 3.7 + 0.9 pJ in fp32, 1.1 + 0.4 pJ in fp16, and 0.2 + 0.1 pJ for an int8
  multiplication with a 32-bit addition.
- [Ha] H. Ha, "Understanding and improving the energy efficiency of DRAM", thesis, Stanford 2018: 13 to 14 pJ a bit
  for LPDDR4 packages (simulated).
- [Samsung] Samsung's estimate on LPDDR5's release in 2019: up to 30 % less power than LPDDR4X.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgewatt.errors import EdgewattError


@dataclass(frozen=True)
class SimulatedBoard:
    """Figures of a board with one GPU. Power is at the board's input (the total rail).

    A type that the tables do not name computes at float32's rate and cost.

    Attributes:
        name: Name on the command line.
        idle_power_w: Power with nothing running, in W.
        power_limit_w: What the power mode allows, in W.
        bus_voltage_v: Voltage of the input rail.
        multiprocessors: Streaming multiprocessors of the GPU.
        dram_bytes_per_s: Peak DRAM bandwidth.
        bandwidth_efficiency: Share of it that a streaming kernel reaches.
        tensor_macs_per_s: Peak multiply-accumulates a second of the tensor cores, for each precision.
        tensor_efficiency: Share of it that a large, well aligned convolution reaches.
        cuda_macs_per_s: The same of the CUDA cores.
        cuda_efficiency: Share of it that a kernel reaches.
        launch_s: What starting and ending a kernel adds to its layer's time.
        active_power_w: Power above idle while any kernel runs: leakage and clocks of the GPU that is powered up,
            and the processor core that waits for it.
        tensor_mac_j: Energy of one multiply-accumulate on a tensor core, its operands' way included.
        cuda_mac_j: The same on a CUDA core, its instruction included.
        dram_byte_j: Energy of one byte read from or written to DRAM.
    """

    name: str
    idle_power_w: float
    power_limit_w: float
    bus_voltage_v: float
    multiprocessors: int
    dram_bytes_per_s: float
    bandwidth_efficiency: float
    tensor_macs_per_s: Mapping[str, float]
    tensor_efficiency: float
    cuda_macs_per_s: Mapping[str, float]
    cuda_efficiency: float
    launch_s: float
    active_power_w: float
    tensor_mac_j: Mapping[str, float]
    cuda_mac_j: Mapping[str, float]
    dram_byte_j: float


_GPU_HZ = 625e6  # [data sheet]

ORIN_NANO = SimulatedBoard(
    name="orin-nano",
    idle_power_w=4.235,  # [idle]
    power_limit_w=15.0,  # [data sheet]
    bus_voltage_v=5.0,  # 5000 mV in every line of the log that [idle] shows
    multiprocessors=8,  # 1024 CUDA cores [data sheet], 128 in each multiprocessor of this generation
    dram_bytes_per_s=68e9,  # [data sheet]
    bandwidth_efficiency=0.7,  # chosen so that AlexNet takes about the 3.09 ms of [idle]: most of that is weights
    # 20 dense int8 TOPS [data sheet] are 10e12 multiply-accumulates a second: 512 a cycle and tensor core. fp16
    # has half of that rate, and fp32 (as TF32) half again, as on all tensor cores of this generation.
    tensor_macs_per_s={
        "int8": 32 * 512 * _GPU_HZ,
        "float16": 32 * 256 * _GPU_HZ,
        "bfloat16": 32 * 256 * _GPU_HZ,
        "float32": 32 * 128 * _GPU_HZ,
    },
    tensor_efficiency=0.32,  # chosen so that ResNet18 in fp16 takes about 0.08 ms a layer
    # One fused multiply-add a cycle and CUDA core in fp32, two in fp16, four in int8.
    cuda_macs_per_s={
        "int8": 4 * 1024 * _GPU_HZ,
        "float16": 2 * 1024 * _GPU_HZ,
        "bfloat16": 2 * 1024 * _GPU_HZ,
        "float32": 1024 * _GPU_HZ,
    },
    cuda_efficiency=0.25,  # chosen: depthwise and pooling kernels spend most instructions on addresses and loads
    launch_s=5e-6,  # chosen: the shortest layers of TensorRT profiles take 5 to 10 us whatever they do
    active_power_w=1.5,  # chosen so that a layer that only waits for its launch draws clearly more than idle
    # Chosen so that large convolutions come near the limit of the 15 W mode and none passes it. [Horowitz]'s fp16
    # arithmetic is 1.5 pJ at 45 nm and a fraction of that at the 8 nm of this chip; the rest stands for bringing
    # operands from registers, shared memory and cache. int8 and fp32 (as TF32) have half and twice of it, as the
    # bytes of their operands are.
    tensor_mac_j={"int8": 1.5e-12, "float16": 3e-12, "bfloat16": 3e-12, "float32": 6e-12},
    # Chosen: three times a tensor core's, for an instruction that is fetched and decoded for two operations
    # instead of for hundreds.
    cuda_mac_j={"int8": 3e-12, "float16": 6e-12, "bfloat16": 6e-12, "float32": 12e-12},
    dram_byte_j=8 * 13e-12 * 0.7,  # [Ha], less [Samsung]'s 30 % for LPDDR5: 73 pJ a byte
)

#: The boards that can be simulated, by name.
BOARDS: Mapping[str, SimulatedBoard] = {ORIN_NANO.name: ORIN_NANO}


def find_board(name: str) -> SimulatedBoard:
    """The simulated board of a name.

    Raises:
        EdgewattError: There is none of that name.
    """
    if name not in BOARDS:
        raise EdgewattError(f"there is no simulated board {name!r}", fix=f"Use one of: {', '.join(BOARDS)}")
    return BOARDS[name]
