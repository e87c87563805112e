"""The state that a network is recorded in, and the name that it gives the run: `resnet18@b4-float16-15W`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunState:
    """What is varied when one network is recorded several times.

    Attributes:
        batch: Inputs of one cycle.
        precision: The type to compute in.
        power_mode: Name of the board's power mode; None where it stays as it is.
    """

    batch: int
    precision: str
    power_mode: str | None = None

    @property
    def suffix(self) -> str:
        """What stands behind the network in the run's name."""
        parts = [f"b{self.batch}", self.precision, *([] if self.power_mode is None else [self.power_mode])]
        return "@" + "-".join(parts)

    def __str__(self) -> str:
        mode = "" if self.power_mode is None else f", {self.power_mode}"
        return f"batch {self.batch}, {self.precision}{mode}"
