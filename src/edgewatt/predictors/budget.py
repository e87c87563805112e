"""Limits that a predicted network must keep."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan

from edgewatt.errors import EdgewattError
from edgewatt.predictors.prediction import NetworkPrediction


@dataclass(frozen=True)
class Budget:
    """Limits; None is no limit. With idle power where it is known, else above idle.

    Attributes:
        max_energy_mj: Energy of a cycle in mJ.
        max_power_w: Mean power in W.
        max_runtime_ms: Runtime of a cycle in ms.
    """

    max_energy_mj: float | None = None
    max_power_w: float | None = None
    max_runtime_ms: float | None = None

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            EdgewattError: One is not a number, so nothing could be over it.
        """
        for name, limit in asdict(self).items():
            if limit is not None and isnan(limit):
                raise EdgewattError(f"the limit {name} is not a number", fix="Give one, or leave it out")


def exceeded(prediction: NetworkPrediction, budget: Budget) -> list[str]:
    """Name the limits that a prediction is over, in words; none, when it keeps them all.

    Layers that no predictor covers take energy and time too, so a prediction that leaves some out can only
    be over a limit for certain, not under it.
    """
    including_j, including_w = prediction.energy_including_idle_j, prediction.power_including_idle_w
    energy_j = prediction.energy_above_idle_j if including_j is None else including_j
    power_w = prediction.power_above_idle_w if including_w is None else including_w
    checks = (
        ("energy", energy_j * 1e3, budget.max_energy_mj, "mJ"),
        ("mean power", power_w, budget.max_power_w, "W"),
        ("runtime", prediction.runtime_s * 1e3, budget.max_runtime_ms, "ms"),
    )
    return [
        f"{name} {value:.4g} {unit}, at most {limit:g} {unit} allowed"
        for name, value, limit, unit in checks
        if limit is not None and value is not None and value > limit
    ]
