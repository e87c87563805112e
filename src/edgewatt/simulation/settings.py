"""Everything that a simulated recording can be varied in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from edgewatt.simulation.cycles import CycleSettings
from edgewatt.simulation.profiler import ProfilerSettings
from edgewatt.simulation.sensor import SensorSettings


@dataclass(frozen=True)
class SimulationSettings:
    """How a recording is simulated.

    Attributes:
        cycles: How the network is run.
        profiler: How its layers are reported.
        sensor: How power is measured.
        mean_layer_s: Mean runtime of the executed layers in s, to which all runtimes are scaled; None to leave them as
            the board has them.
    """

    cycles: CycleSettings = field(default_factory=CycleSettings)
    profiler: ProfilerSettings = field(default_factory=ProfilerSettings)
    sensor: SensorSettings = field(default_factory=SensorSettings)
    mean_layer_s: float | None = None

    def with_cycles(self, count: int) -> SimulationSettings:
        """The same settings with another number of recorded cycles."""
        return replace(self, cycles=replace(self.cycles, cycles=count))


#: The recording that mapping methods are compared on, with ResNet18: 30,000 cycles, layers of 0.08 ms and gaps of 1 ms
#: on average, the sensor at its default (1.1 ms, three channels, 8 mA steps, polled every 1.35 ms), reports 20 to 60 us
#: late, jitter of 3 %, and nothing else that draws power.
REFERENCE = SimulationSettings(cycles=CycleSettings(cycles=30_000, background_w=0.0), mean_layer_s=80e-6)

#: The same behind a first-order lag of 0.4 ms, with power that rises by 4 %.
REFERENCE_WITH_LAG = replace(
    REFERENCE,
    cycles=replace(REFERENCE.cycles, warming=0.04),
    sensor=replace(REFERENCE.sensor, lag_s=0.4e-3),
)
