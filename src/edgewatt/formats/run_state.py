"""The state that a network is recorded in, and the name that it gives the run: `resnet18@b4-float16-15W`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgewatt.errors import EdgewattError
from edgewatt.networks.element_types import check_compute_type


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


def all_states(
    batches: Sequence[int], precisions: Sequence[str], power_modes: Sequence[str], done: str
) -> list[RunState]:
    """Every combination once, power modes outermost.

    Args:
        batches: Inputs of one cycle.
        precisions: Types to compute in.
        power_modes: Names of power modes; none to stay in the one that is set.
        done: What is done in each, for the error: `recorded`.

    Raises:
        EdgewattError: A batch or precision is none.
    """
    for batch in batches:
        if batch < 1:
            raise EdgewattError(f"a batch of {batch} cannot be {done}", fix="Use whole numbers from 1")
    for precision in precisions:
        check_compute_type(precision)
    modes: Sequence[str | None] = list(dict.fromkeys(power_modes)) or [None]
    return [
        RunState(batch, precision, mode)
        for mode in modes
        for precision in dict.fromkeys(precisions)
        for batch in dict.fromkeys(batches)
    ]
