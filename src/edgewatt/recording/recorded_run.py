"""A run that was recorded, in short."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgewatt.recording.power_summary import PowerSummary
from edgewatt.tabular import Tabular


@dataclass(frozen=True)
class RecordedRun(Tabular):
    """A run that was recorded.

    Attributes:
        name: Its name.
        folder: Its folder.
        backend: The backend's name.
        cycles: Complete cycles.
        layers: Number of layers.
        cycle_s: Mean time of a profiled cycle in s.
        plain_cycle_s: Mean time of a cycle without the profiler in s; None where none was run.
        sum_of_layers_s: What the layers add up to in s; None where none is known.
        power: Power over the cycles; None without a sensor.
        verdict: What stands against trusting it, in words.
        interrupted: How it was ended early; None where it was not.
        stopped_by: Name of the signal that came meanwhile; None where none did. One that came after the last cycle
            interrupted nothing.
    """

    name: str
    folder: Path
    backend: str
    cycles: int
    layers: int
    cycle_s: float
    plain_cycle_s: float | None
    sum_of_layers_s: float | None
    power: PowerSummary | None
    verdict: tuple[str, ...]
    interrupted: str | None
    stopped_by: str | None

    @property
    def energy_j(self) -> float | None:
        """Energy of a cycle in J, idle power included; None without a sensor."""
        return None if self.power is None else self.power.mean_w * self.cycle_s
