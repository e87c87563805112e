"""When the layers of each inference run, and what the board draws meanwhile.

    | idle | warm-up cycles | cycle | gap | cycle | gap | ... | cycle | gap | idle |
                            | layer | layer | ... |

The time that starting a kernel takes belongs to its layer: the profiler's events lie between the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.simulation.power_trace import PowerTrace

#: How fast the board warms: time constants of it in a recording, chosen so that it has nearly settled at its end.
_WARMING_TIME_CONSTANTS = 3.0


@dataclass(frozen=True)
class CycleSettings:
    """How a network is run.

    Attributes:
        cycles: Inferences that are recorded.
        warmup_cycles: Inferences before them that draw power and are not reported.
        gap_s: Mean time from the end of an inference on the GPU to the start of the next.
        gap_jitter: Its standard deviation, relative.
        stall_probability: Share of the gaps in which the process is held up.
        stall_s: Mean of how long it is then held up.
        cycle_jitter: Standard deviation of the speed of a whole inference, relative.
        layer_jitter: Standard deviation of each layer's time in each inference, relative, on top of that.
        launch_gap_s: Time before each layer in which nothing runs and that no layer's latency holds.
        gap_power_w: Power above idle between inferences: the processor that prepares the next.
        background_w: Standard deviation of what other processes draw, redrawn for each cycle; chosen.
        warming: Rise of the whole power over the recording, relative.
        idle_s: Time with nothing running before and after; None for a tenth of the recording, but 0.3 s to 5 s.
    """

    cycles: int = 3000
    warmup_cycles: int = 50
    gap_s: float = 1e-3
    gap_jitter: float = 0.1
    stall_probability: float = 1e-3
    stall_s: float = 20e-3
    cycle_jitter: float = 0.03
    layer_jitter: float = 0.03
    launch_gap_s: float = 0.0
    gap_power_w: float = 0.6
    background_w: float = 0.02
    warming: float = 0.0
    idle_s: float | None = None

    def __post_init__(self) -> None:
        if self.cycles < 1 or self.warmup_cycles < 0:
            raise EdgewattError(
                f"{self.cycles} cycles after {self.warmup_cycles} for warming up cannot be simulated",
                fix="Ask for at least one cycle",
            )


@dataclass(frozen=True)
class Timeline:
    """What happened, with times in s from the recording's start.

    Attributes:
        trace: The board's power.
        layer_start_s: Start of each layer in each recorded cycle, shape (cycles, layers).
        layer_end_s: Its end.
        power_factor: The warming's factor on all power, for each recorded cycle, shape (cycles,).
    """

    trace: PowerTrace
    layer_start_s: NDArray[np.float64]
    layer_end_s: NDArray[np.float64]
    power_factor: NDArray[np.float64]

    @property
    def start_s(self) -> NDArray[np.float64]:
        """Start of each recorded inference on the GPU, shape (cycles,)."""
        return self.layer_start_s[:, 0]

    @property
    def end_s(self) -> NDArray[np.float64]:
        """End of each recorded inference on the GPU, shape (cycles,)."""
        return self.layer_end_s[:, -1]

    @property
    def layer_s(self) -> NDArray[np.float64]:
        """Time of each layer in each recorded cycle, shape (cycles, layers)."""
        return self.layer_end_s - self.layer_start_s


def run_cycles(
    runtime_s: NDArray[np.float64],
    power_above_idle_w: NDArray[np.float64],
    idle_power_w: float,
    least_gap_s: NDArray[np.float64],
    settings: CycleSettings,
    random: np.random.Generator,
) -> Timeline:
    """Run a network over and over.

    Args:
        runtime_s: Mean runtime of each layer in s, shape (layers,).
        power_above_idle_w: Power of each layer above idle in W, shape (layers,).
        idle_power_w: The board's idle power in W.
        least_gap_s: What the gap after each recorded inference cannot be shorter than, shape (cycles,).
        settings: How it is run.
        random: Draws jitter, gaps and stalls.
    """
    layers, cycles = len(runtime_s), settings.cycles + settings.warmup_cycles
    # One row a cycle: for each layer the gap before it and the layer, then the gap to the next cycle.
    with_gaps = 2 if settings.launch_gap_s > 0 else 1
    layer_columns = slice(with_gaps - 1, with_gaps * layers, with_gaps)
    durations = np.full((cycles, with_gaps * layers + 1), settings.launch_gap_s)
    durations[:, layer_columns] = _layer_times(runtime_s, cycles, settings, random)
    durations[:, -1] = _gaps(cycles, settings, random)
    durations[settings.warmup_cycles :, -1] = np.maximum(durations[settings.warmup_cycles :, -1], least_gap_s)
    power = np.full(durations.shape[1], idle_power_w + settings.gap_power_w)
    power[layer_columns] = idle_power_w + power_above_idle_w
    factor = _warming(cycles, settings)

    idle_s = settings.idle_s
    if idle_s is None:
        idle_s = float(np.clip(0.1 * durations.sum(), 0.3, 5.0))
    shape = durations.shape
    edges = np.cumsum(np.concatenate(([0.0, idle_s], durations.reshape(-1), [idle_s])))
    del durations
    idle_w = idle_power_w * factor[[0, -1]]
    background_w = random.normal(0.0, settings.background_w, (cycles, 1))
    running_w = np.outer(factor, power) + background_w
    power_w = np.concatenate((idle_w[:1], running_w.reshape(-1), idle_w[1:]))
    recorded = slice(settings.warmup_cycles, None)
    return Timeline(
        PowerTrace(edges, power_w),
        edges[1:-2].reshape(shape)[recorded, layer_columns],
        edges[2:-1].reshape(shape)[recorded, layer_columns],
        factor[recorded],
    )


def _layer_times(
    runtime_s: NDArray[np.float64], cycles: int, settings: CycleSettings, random: np.random.Generator
) -> NDArray[np.float64]:
    """Log-normal times around each layer's mean, shape (cycles, layers)."""
    deviation = random.normal(-0.5 * settings.cycle_jitter**2, settings.cycle_jitter, (cycles, 1))
    own = random.normal(-0.5 * settings.layer_jitter**2, settings.layer_jitter, (cycles, len(runtime_s)))
    times: NDArray[np.float64] = runtime_s * np.exp(deviation + own)
    return times


def _gaps(cycles: int, settings: CycleSettings, random: np.random.Generator) -> NDArray[np.float64]:
    gaps = settings.gap_s * np.maximum(random.normal(1.0, settings.gap_jitter, cycles), 0.0)
    stalled = random.uniform(size=cycles) < settings.stall_probability
    return gaps + np.where(stalled, random.exponential(settings.stall_s, cycles), 0.0)


def _warming(cycles: int, settings: CycleSettings) -> NDArray[np.float64]:
    """Factor on all power in each cycle: it rises and settles, and its mean over the recorded cycles is 1."""
    progress = np.linspace(0.0, _WARMING_TIME_CONSTANTS, cycles)
    rise = (1 - np.exp(-progress)) / (1 - np.exp(-_WARMING_TIME_CONSTANTS))
    factor: NDArray[np.float64] = 1 + settings.warming * (rise - rise[settings.warmup_cycles :].mean())
    return factor
