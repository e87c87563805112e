"""How layers are measured by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from edgewatt.isolation.rounds import RoundSettings
from edgewatt.networks.element_types import check_compute_type


@dataclass(frozen=True)
class IsolationOptions:
    """How layers are measured by themselves.

    Attributes:
        rounds: Visits of each layer.
        seconds: Settled time of a visit, at least.
        pause_s: Idle time between visits.
        cold: Whether caches are left as cold as the network leaves them; else warm.
        share: Whether layers that are built alike are measured once.
        precision: The type to compute in, where the backend can choose.
        input_shape: Shape of the network's input; None keeps the network's.
        seed: Draws weights, inputs and the order of visits.

    Raises:
        EdgewattError: There is no such precision, or no time to measure in.
    """

    rounds: int = 3
    seconds: float = 1.0
    pause_s: float = 0.5
    cold: bool = True
    share: bool = True
    precision: str = "float16"
    input_shape: tuple[int, ...] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_compute_type(self.precision)
        self.round_settings()

    def round_settings(self) -> RoundSettings:
        """How subjects are visited."""
        return RoundSettings(self.rounds, self.seconds, self.pause_s, seed=self.seed)
