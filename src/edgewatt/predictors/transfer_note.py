"""What a few measured networks bought: adapted predictors beside those that could be had without adapting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from edgewatt.predictors.measured_networks import MeasuredNetworks, Values
from edgewatt.wording import counted

#: Key of the comparison in `metrics.json`.
TRANSFER_KEY = "transfer"
#: The ways to predict a target's networks.
ADAPTED, ALONE, AS_IT_IS = "adapted", "few alone", "not adapted"


@dataclass(frozen=True)
class WayScore:
    """How far off one way is on networks that it had not seen on the target, as relative errors.

    Attributes:
        networks: Number of networks.
        runtime: Mean absolute error of runtimes; None where nothing can be compared.
        energy: The same of energies, idle power included.
        power: The same of mean powers.
        worst_energy: Greatest error of an energy.
    """

    networks: int
    runtime: float | None
    energy: float | None
    power: float | None
    worst_energy: float | None


@dataclass(frozen=True)
class TransferNote:
    """What was adapted to what, with how much, and what it bought.

    Attributes:
        source: Board and power mode of the source, as far as they are known.
        target: The same of the target.
        source_networks: Number of networks that the source was trained on.
        networks: Names of the target's networks that were adapted with.
        layers: Number of their layers.
        strengths: The penalty of the correction of each target value; None for a plain scale.
        own_calibration: Whether whole networks are calibrated on the target's own; else by the source's calibration.
        scored_on: `left out` (each of the few in turn) or `held out`.
        known_to_source: Networks that were scored on and that the source had been trained on, on its own board.
        ways: Scores by way.
    """

    source: str
    target: str
    source_networks: int
    networks: tuple[str, ...]
    layers: int
    strengths: Mapping[str, float | None]
    own_calibration: bool
    scored_on: str
    known_to_source: tuple[str, ...]
    ways: Mapping[str, WayScore]

    @property
    def entry(self) -> dict[str, Any]:
        """What `metrics.json` holds of it."""
        return asdict(self)

    @property
    def card(self) -> str:
        """What the card says of it."""
        strengths = ", ".join(
            f"{name} {'a plain scale' if value is None else f'a penalty of {value:g}'}"
            for name, value in self.strengths.items()
        )
        calibration = "a calibration of their own" if self.own_calibration else "the calibration of the source"
        lines = [
            "",
            "## Adapted",
            "",
            f"- From predictors of {self.source}, trained on {counted(self.source_networks, 'network')}.",
            f"- To {self.target}, with {counted(len(self.networks), 'network')} "
            f"of {counted(self.layers, 'layer')} there.",
            f"- Corrections: {strengths}. Whole networks by {calibration}.",
            "",
            f"Mean relative errors in % on networks {self.scored_on}, none of which had been seen on the target. The",
            f"source had been trained on {len(self.known_to_source)} of them, on its own board.",
            "",
            "| predictors | networks | runtime | energy | worst energy | power |",
            "|---|--:|--:|--:|--:|--:|",
        ]
        for name, score in self.ways.items():
            errors = (score.runtime, score.energy, score.worst_energy, score.power)
            cells = ["–" if value is None else f"{100 * value:.1f}" for value in errors]
            lines.append(f"| {name} | {score.networks} | {' | '.join(cells)} |")
        return "\n".join([*lines, ""])


def way_score(networks: MeasuredNetworks, values: Values) -> WayScore:
    """Score a way on networks."""
    errors = {}
    for name, true in networks.values().items():
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.abs(values[name] / true - 1.0)
        errors[name] = relative[np.isfinite(relative)]
    means = {name: float(one.mean()) if len(one) else None for name, one in errors.items()}
    worst = float(errors["energy"].max()) if len(errors["energy"]) else None
    return WayScore(len(networks.names), means["runtime"], means["energy"], means["power"], worst)
