"""An isolated recording, in short."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgewatt.formats.isolated import IsolatedPlan, read_plan, read_visits
from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.recording import RecordingPaths
from edgewatt.formats.run_info import read_run_info
from edgewatt.isolation.evaluate import IsolatedResult, evaluate
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


def read_isolated(folder: Path) -> IsolatedRun:
    """An isolated recording that is on the disk.

    Raises:
        FormatError: A file is missing or broken.
    """
    plan = read_plan(folder)
    told = read_run_info(RecordingPaths(folder).run_info).model_extra or {}
    result = evaluate(plan, read_visits(folder))
    return isolated_run(folder, plan, result, tuple(told.get("verdict") or ()), told.get("interrupted_by"))


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
