"""What is published of boards: the figures that their priors start from.

Sources. Those marked * were read in a copy or a summary of the document, not in the document itself.

- [orin-nano] NVIDIA, Jetson Orin Nano series data sheet*: 8 GB module with 1024 CUDA cores and 32 tensor cores at up to
  625 MHz, 128-bit LPDDR5 at 68 GB/s, 40 sparse (20 dense) int8 TOPS, 7 W and 15 W modes.
- [super] NVIDIA, Jetson Orin Nano Super developer kit data sheet*: the same module at up to 1020 MHz, 102 GB/s, 25 W.
- [orin-nx] NVIDIA, Jetson Orin NX series data sheet*: power between 10 W and 25 W; CUDA device query of a 16 GB module
  (gist.github.com/atinfinity/8cede915acda05d0ff427c09604735dd): 8 multiprocessors, 1024 CUDA cores, 918 MHz. The
  system description of mlcommons/inference_results_v3.1, Orin_NX_TRT.json, has 128-bit LPDDR5; at the 3200 MHz of the
  MLPerf settings that is 102.4 GB/s.
- [agx-orin] NVIDIA, Jetson AGX Orin series technical brief*: 16 multiprocessors, 2048 CUDA cores (5.3 fp32 TFLOPS, so
  1.3 GHz), 64 tensor cores, 170 sparse (85 dense) int8 TOPS, 256-bit LPDDR5 at 204.8 GB/s, 15 W to 60 W.
- [xavier-nx] NVIDIA, Jetson Xavier NX data sheet*: 384 CUDA cores, 48 tensor cores, up to 1100 MHz, 128-bit LPDDR4x at
  59.7 GB/s, 10 W to 20 W.
- [agx-xavier] NVIDIA, Jetson AGX Xavier data sheet*: 512 CUDA cores and 64 tensor cores at up to 1377 MHz, 256-bit
  LPDDR4x at 137 GB/s, 10 W to 30 W.
- [idle] github.com/fuzzylabs/edge-vision-power-estimation, docs: 4.235 W on VDD_IN of an idle Orin Nano developer kit.
- [logs] The power logs (spl.txt) of the MLPerf submissions in `published_results.csv`, before and after their runs.
- [#10] github.com/mlcommons/inference_results_v3.0, issue 10: 6 to 7 W between the wall and the module of an AGX Orin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from edgewatt.errors import EdgewattError

#: Share of the power at the wall that a supply passes on. Chosen together with `carrier_w` so that an AGX Orin has
#: the difference that [#10] reports and a positive idle power at the smallest wall power that [logs] show.
SUPPLY_EFFICIENCY = 0.8


@dataclass(frozen=True)
class Architecture:
    """What the GPUs of a generation do in one cycle of their clock.

    Attributes:
        name: Its name.
        tensor_macs: Multiply-accumulates of one tensor core, for each precision.
        cuda_macs: Multiply-accumulates of one CUDA core, for each precision.
        energy_factor: Energy of the same operation, as a multiple of the newest generation's.
        byte_j: Energy of one byte read from or written to DRAM.
    """

    name: str
    tensor_macs: Mapping[str, float]
    cuda_macs: Mapping[str, float]
    energy_factor: float
    byte_j: float


#: 85 dense int8 TOPS of [agx-orin] are 512 int8 multiply-accumulates a cycle and tensor core; half of it in fp16, and
#: half again in fp32 (as TF32). DRAM: 13 pJ a bit for LPDDR4 packages (H. Ha, thesis, Stanford 2018), 30 % less for
#: LPDDR5 (Samsung's estimate on its release in 2019).
AMPERE = Architecture(
    "Ampere",
    {"int8": 512, "float16": 256, "bfloat16": 256, "float32": 128},
    {"int8": 4, "float16": 2, "bfloat16": 2, "float32": 1},
    energy_factor=1.0,
    byte_j=8 * 13e-12 * 0.7,
)

#: 64 fp16 multiply-accumulates a cycle and tensor core, twice that in int8; fp32 runs on CUDA cores. The energy factor
#: is chosen: 12 nm against 8 nm at about the same voltage.
VOLTA = Architecture(
    "Volta",
    {"int8": 128, "float16": 64},
    {"int8": 4, "float16": 2, "bfloat16": 1, "float32": 1},
    energy_factor=1.5,
    byte_j=8 * 13e-12,
)


@dataclass(frozen=True)
class BoardFigures:
    """A board in its fastest power mode; powers are of the module's input (the total rail).

    Attributes:
        name: Name on the command line.
        title: What it is.
        architecture: Of its GPU.
        multiprocessors: Streaming multiprocessors of its GPU.
        cuda_cores: CUDA cores of its GPU.
        tensor_cores: Tensor cores of its GPU.
        gpu_hz: Highest clock of the GPU.
        memory_hz: Clock of the memory that `bytes_per_s` is reached at.
        bytes_per_s: Peak bandwidth of the memory.
        idle_power_w: Power with nothing running.
        carrier_w: What the carrier board draws beside the module; only measurements at the wall hold it.
        power_limit_w: What the fastest power mode is meant to stay under.
    """

    name: str
    title: str
    architecture: Architecture
    multiprocessors: int
    cuda_cores: int
    tensor_cores: int
    gpu_hz: float
    memory_hz: float
    bytes_per_s: float
    idle_power_w: float
    carrier_w: float
    power_limit_w: float

    def tensor_macs_per_s(self, precision: str) -> float | None:
        """Peak of the tensor cores; None where they do not compute in that precision."""
        macs = self.architecture.tensor_macs.get(precision)
        return None if macs is None else macs * self.tensor_cores * self.gpu_hz

    def cuda_macs_per_s(self, precision: str) -> float:
        """Peak of the CUDA cores; a type that is not named computes at float32's rate."""
        macs = self.architecture.cuda_macs.get(precision, self.architecture.cuda_macs["float32"])
        return macs * self.cuda_cores * self.gpu_hz

    def at_the_wall_w(self, module_w: float) -> float:
        """What a meter at the wall shows when the module draws `module_w`."""
        return (module_w + self.carrier_w) / SUPPLY_EFFICIENCY

    def at_the_module_w(self, wall_w: float) -> float:
        """What the module draws when a meter at the wall shows `wall_w`."""
        return wall_w * SUPPLY_EFFICIENCY - self.carrier_w


# Idle powers: [idle] for the Orin Nano; the others from the wall powers of [logs], less supply and carrier: 14.0 W for
# the AGX Orin, 5.1 W for the Orin NX, 4.75 W for the Xavier NX and 8.18 W for the AGX Xavier (the latter three with the
# low processor clocks of their MaxQ runs, for no log of their fastest mode is published). Carriers: chosen, see above.
_BOARDS = (
    BoardFigures(
        "orin-nano", "Jetson Orin Nano 8 GB, 15 W", AMPERE, 8, 1024, 32, 625e6, 2133e6, 68e9, 4.235, 1.5, 15.0
    ),
    BoardFigures(
        "orin-nano-super", "Jetson Orin Nano 8 GB, 25 W", AMPERE, 8, 1024, 32, 1020e6, 3200e6, 102e9, 4.235, 1.5, 25.0
    ),
    BoardFigures("orin-nx", "Jetson Orin NX 16 GB", AMPERE, 8, 1024, 32, 918e6, 3200e6, 102.4e9, 2.58, 1.5, 25.0),
    BoardFigures("agx-orin", "Jetson AGX Orin 64 GB", AMPERE, 16, 2048, 64, 1300e6, 3200e6, 204.8e9, 8.2, 3.0, 60.0),
    BoardFigures("xavier-nx", "Jetson Xavier NX", VOLTA, 6, 384, 48, 1100e6, 1866e6, 59.7e9, 2.3, 1.5, 20.0),
    BoardFigures("agx-xavier", "Jetson AGX Xavier", VOLTA, 8, 512, 64, 1377e6, 2133e6, 137e9, 3.54, 3.0, 30.0),
)

#: Boards that have a prior, by name.
BOARD_FIGURES: Mapping[str, BoardFigures] = {board.name: board for board in _BOARDS}


def find_board_figures(name: str) -> BoardFigures:
    """The figures of a board.

    Raises:
        EdgewattError: There is no prior of that board.
    """
    key = name.lower().replace("_", "-").removeprefix("jetson-")
    if key not in BOARD_FIGURES:
        close = get_close_matches(key, BOARD_FIGURES, n=1)
        hint = f"Did you mean {close[0]}? " if close else ""
        raise EdgewattError(
            f"there is no prior of a board {name!r}", fix=f"{hint}There are: {', '.join(BOARD_FIGURES)}"
        )
    return BOARD_FIGURES[key]
