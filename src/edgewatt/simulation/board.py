"""Simulated boards: what a published board can do, and what it costs.

Where a figure is published its source stands beside it. Where one had to be chosen the comment says what it was
chosen for. A simulated board is a stand-in with known truth for tests and validation; it is not a measurement of
the board whose name it borrows.

Sources:

- [data sheet] NVIDIA, Jetson Orin Nano series data sheet: 8 GB module with 1024 CUDA cores and 32 tensor cores at
  up to 625 MHz, 128-bit LPDDR5 at 68 GB/s, 40 sparse (20 dense) int8 TOPS, power modes of 7 W and 15 W.
- [modes] Power modes of the same module on JetPack 6.2: 7 W with 4 processor cores and the GPU at up to 408 MHz, 15 W
  at 612 MHz and 25 W at 918 MHz with 6 cores, MAXN_SUPER at 1020 MHz; the memory at 2133 MHz in the first two, and at
  3199 MHz (102 GB/s) in the others; as boards' own nvpmodel tables show them. 15 W is [data sheet]'s 625 MHz here.
- [idle] github.com/fuzzylabs/edge-vision-power-estimation, docs: 4.235 W on VDD_IN of an idle Jetson Orin Nano
  developer kit, and 3.09 ms a cycle for AlexNet in fp16 with a profiler attached.
- [Horowitz] M. Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014: at 45 nm a
  multiplication and addition take 3.7 + 0.9 pJ in fp32, 1.1 + 0.4 pJ in fp16, and 0.2 + 0.1 pJ for an int8
  multiplication with a 32-bit addition.
- [Ha] H. Ha, "Understanding and improving the energy efficiency of DRAM", thesis, Stanford 2018: 13 to 14 pJ a bit
  for LPDDR4 packages (simulated).
- [Samsung] Samsung's estimate on LPDDR5's release in 2019: up to 30 % less power than LPDDR4X.
- [agx-orin], [xavier-nx], [logs]: as in `edgewatt.predictors.board_figures`, which has the same published figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from edgewatt.errors import EdgewattError

#: What a mode changes the idle power by: shares of it that follow the memory's and the processors' clocks; chosen.
_IDLE_OF_DRAM, _IDLE_OF_PROCESSORS = 0.2, 0.1
#: Share of the active power that leaks, and so follows the voltage alone; the rest follows the clock too. Chosen.
_LEAKAGE = 0.4


@dataclass(frozen=True)
class PowerMode:
    """What a power mode sets, relative to the mode that a board's figures are of.

    Attributes:
        power_limit_w: What it allows, in W.
        gpu_clock: The GPU's clock.
        processor_clock: The processors' clock.
        dram_clock: The memory's clock.
        volts: The GPU's voltage; an operation's energy follows its square.
    """

    power_limit_w: float
    gpu_clock: float = 1.0
    processor_clock: float = 1.0
    dram_clock: float = 1.0
    volts: float = 1.0


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
        power_mode: Name of the power mode that the figures are of.
        power_modes: The modes that it can be in, by name, relative to its usual one; `power_mode` among them.
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
    power_mode: str
    power_modes: Mapping[str, PowerMode]

    @property
    def usual_mode(self) -> str:
        """Name of the mode that all others are relative to."""
        return next(name for name, mode in self.power_modes.items() if mode == PowerMode(mode.power_limit_w))

    def in_mode(self, name: str) -> SimulatedBoard:
        """The board in another of its power modes.

        Rates and bandwidth follow their clocks, launches follow the GPU's and the processors' in equal parts.

        Raises:
            EdgewattError: It has no such mode.
        """
        if name not in self.power_modes:
            raise EdgewattError(
                f"the simulated {self.name} has no power mode {name!r}",
                fix=f"Use one of: {', '.join(self.power_modes)}",
            )
        if name == self.power_mode:
            return self
        mode, now = self.power_modes[name], self.power_modes[self.power_mode]
        gpu, volts = mode.gpu_clock / now.gpu_clock, mode.volts / now.volts
        dram, processors = mode.dram_clock / now.dram_clock, mode.processor_clock / now.processor_clock
        return replace(
            self,
            idle_power_w=self.idle_power_w * (1 + _IDLE_OF_DRAM * (dram - 1) + _IDLE_OF_PROCESSORS * (processors - 1)),
            power_limit_w=mode.power_limit_w,
            dram_bytes_per_s=self.dram_bytes_per_s * dram,
            tensor_macs_per_s=_scaled(self.tensor_macs_per_s, gpu),
            cuda_macs_per_s=_scaled(self.cuda_macs_per_s, gpu),
            launch_s=self.launch_s * (0.5 / gpu + 0.5 / processors),
            active_power_w=self.active_power_w * (_LEAKAGE * volts + (1 - _LEAKAGE) * gpu * volts**2),
            tensor_mac_j=_scaled(self.tensor_mac_j, volts**2),
            cuda_mac_j=_scaled(self.cuda_mac_j, volts**2),
            power_mode=name,
        )


def _scaled(table: Mapping[str, float], factor: float) -> Mapping[str, float]:
    return {name: value * factor for name, value in table.items()}


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
    power_mode="15W",
    # Clocks are [modes]. Voltages are chosen: they rise with the clock, and less below the 15 W mode than above it.
    # Processors: 960 MHz, 1510 MHz, 1344 MHz and 1728 MHz.
    power_modes={
        "7W": PowerMode(7.0, gpu_clock=408 / 612, processor_clock=960 / 1510, volts=0.92),
        "15W": PowerMode(15.0),
        "25W": PowerMode(25.0, gpu_clock=918 / 612, processor_clock=1344 / 1510, dram_clock=3199 / 2133, volts=1.12),
        "MAXN_SUPER": PowerMode(
            40.0, gpu_clock=1020 / 612, processor_clock=1728 / 1510, dram_clock=3199 / 2133, volts=1.2
        ),
    },
)

_AGX_HZ = 1300e6  # [agx-orin]

AGX_ORIN = SimulatedBoard(
    name="agx-orin",
    idle_power_w=8.2,  # [logs]: what edgewatt.predictors.board_figures works out of them
    power_limit_w=60.0,  # [agx-orin]
    bus_voltage_v=5.0,  # chosen, as the Orin Nano's
    multiprocessors=16,  # [agx-orin]
    dram_bytes_per_s=204.8e9,  # [agx-orin]
    bandwidth_efficiency=0.75,  # chosen: not the Orin Nano's, for no two boards reach the same share
    tensor_macs_per_s={
        "int8": 64 * 512 * _AGX_HZ,
        "float16": 64 * 256 * _AGX_HZ,
        "bfloat16": 64 * 256 * _AGX_HZ,
        "float32": 64 * 128 * _AGX_HZ,
    },
    tensor_efficiency=0.30,  # chosen, likewise
    cuda_macs_per_s={
        "int8": 4 * 2048 * _AGX_HZ,
        "float16": 2 * 2048 * _AGX_HZ,
        "bfloat16": 2 * 2048 * _AGX_HZ,
        "float32": 2048 * _AGX_HZ,
    },
    cuda_efficiency=0.22,  # chosen, likewise
    launch_s=4e-6,  # chosen: its processors are faster
    active_power_w=4.0,  # chosen: twice the multiprocessors of the Orin Nano, at a higher clock and voltage
    # Chosen: the same chips as the Orin Nano's, at a clock that needs a higher voltage.
    tensor_mac_j={"int8": 1.8e-12, "float16": 3.6e-12, "bfloat16": 3.6e-12, "float32": 7.2e-12},
    cuda_mac_j={"int8": 3.6e-12, "float16": 7.2e-12, "bfloat16": 7.2e-12, "float32": 14.4e-12},
    dram_byte_j=8 * 13e-12 * 0.7,  # as the Orin Nano's
    power_mode="MAXN",
    power_modes={"MAXN": PowerMode(60.0)},
)

_XAVIER_HZ = 1100e6  # [xavier-nx]

XAVIER_NX = SimulatedBoard(
    name="xavier-nx",
    idle_power_w=2.3,  # [logs]
    power_limit_w=20.0,  # [xavier-nx]
    bus_voltage_v=5.0,  # chosen, as the Orin Nano's
    multiprocessors=6,  # 384 CUDA cores [xavier-nx], 64 in each multiprocessor of this generation
    dram_bytes_per_s=59.7e9,  # [xavier-nx]
    bandwidth_efficiency=0.65,  # chosen: an older generation
    # 64 fp16 multiply-accumulates a cycle and tensor core, twice that in int8; float32 runs on CUDA cores.
    tensor_macs_per_s={
        "int8": 48 * 128 * _XAVIER_HZ,
        "float16": 48 * 64 * _XAVIER_HZ,
        "bfloat16": 384 * _XAVIER_HZ,
        "float32": 384 * _XAVIER_HZ,
    },
    tensor_efficiency=0.36,  # chosen: fewer tensor cores are easier to keep busy
    cuda_macs_per_s={
        "int8": 4 * 384 * _XAVIER_HZ,
        "float16": 2 * 384 * _XAVIER_HZ,
        "bfloat16": 384 * _XAVIER_HZ,
        "float32": 384 * _XAVIER_HZ,
    },
    cuda_efficiency=0.28,  # chosen, likewise
    launch_s=8e-6,  # chosen: its processors are slower
    active_power_w=1.2,  # chosen: fewer multiprocessors
    # Chosen: 12 nm against 8 nm, half as much again as on the Orin Nano.
    tensor_mac_j={"int8": 2.2e-12, "float16": 4.5e-12, "bfloat16": 9e-12, "float32": 18e-12},
    cuda_mac_j={"int8": 4.5e-12, "float16": 9e-12, "bfloat16": 9e-12, "float32": 18e-12},
    dram_byte_j=8 * 13e-12,  # [Ha]: LPDDR4
    power_mode="20W",
    power_modes={"20W": PowerMode(20.0)},
)

#: The boards that can be simulated, by name.
BOARDS: Mapping[str, SimulatedBoard] = {board.name: board for board in (ORIN_NANO, AGX_ORIN, XAVIER_NX)}


def find_board(name: str, power_mode: str | None = None) -> SimulatedBoard:
    """The simulated board of a name.

    Args:
        name: Its name.
        power_mode: Name of its power mode; None for its usual one.

    Raises:
        EdgewattError: There is none of that name, or it has no such mode.
    """
    if name not in BOARDS:
        raise EdgewattError(f"there is no simulated board {name!r}", fix=f"Use one of: {', '.join(BOARDS)}")
    return BOARDS[name] if power_mode is None else BOARDS[name].in_mode(power_mode)
