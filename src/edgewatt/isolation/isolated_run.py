"""An isolated recording, in short."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgewatt.formats.isolated import IsolatedPlan
from edgewatt.formats.layer_power import LayerPower
from edgewatt.isolation.evaluate import IsolatedResult
from edgewatt.isolation.rows import Sums, layer_rows, left_out, sums
from edgewatt.tabular import Tabular


@dataclass(frozen=True)
class IsolatedRun(Tabular):
    """An isolated recording.

    Attributes:
        name: The run's name.
        folder: Its folder.
        plan: What was measured.
        result: What was found.
        layers: A row for each layer.
        sums: What the layers add up to.
        left_out: Why each layer that is executed and was not measured was not, by name.
        verdict: What stands against trusting it, a sentence each.
        interrupted: How it was ended early; None where it was not.
    """

    name: str
    folder: Path
    plan: IsolatedPlan
    result: IsolatedResult
    layers: list[LayerPower]
    sums: Sums
    left_out: dict[str, str]
    verdict: tuple[str, ...] = ()
    interrupted: str | None = None


def isolated_run(
    folder: Path, plan: IsolatedPlan, result: IsolatedResult, verdict: tuple[str, ...], interrupted: str | None
) -> IsolatedRun:
    """Put together what was found; arguments as the attributes of `IsolatedRun`."""
    return IsolatedRun(
        name=folder.name,
        folder=folder,
        plan=plan,
        result=result,
        layers=layer_rows(plan, result),
        sums=sums(plan, result),
        left_out=left_out(plan, result),
        verdict=verdict,
        interrupted=interrupted,
    )
