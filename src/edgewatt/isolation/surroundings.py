"""What is noted around an isolated recording: the board's state, and what stands against trusting it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import edgewatt
from edgewatt.backends.base import NetworkFacts
from edgewatt.formats.isolated import IsolatedPlan, Visit
from edgewatt.formats.run_info import RunInfo
from edgewatt.isolation.evaluate import IsolatedResult
from edgewatt.isolation.rig import LoopRig
from edgewatt.isolation.rows import left_out, subject_names
from edgewatt.isolation.simulated_rig import SimulatedRig
from edgewatt.recording.environment import Environment, host_facts, read_environment, software_versions
from edgewatt.recording.stability import RunFacts, verdict


@dataclass(frozen=True)
class Surroundings:
    """The board's state when a recording begins.

    Attributes:
        rig: What runs loops.
        root: Folder that /sys, /proc, /etc and /var are read below.
        before: The state.
    """

    rig: LoopRig
    root: Path
    before: Environment

    @classmethod
    def now(cls, rig: LoopRig, root: Path) -> Surroundings:
        """The state now."""
        return cls(rig, root, read_environment(root))

    @property
    def board(self) -> str:
        """The board and its power mode."""
        if isinstance(self.rig, SimulatedRig):
            return f"simulated {self.rig.board.name} {self.rig.board.power_mode}"
        return f"{self.before.board} {self.before.power_mode or ''}".strip()

    def verdict(
        self, plan: IsolatedPlan, visits: Sequence[Visit], result: IsolatedResult, interrupted: str | None
    ) -> list[str]:
        """What stands against trusting a recording, a sentence each."""
        doubts = self._of_the_board(visits, interrupted)
        names = subject_names(plan)
        for key, found in result.subjects.items():
            doubts += [f"{names.get(key, key)}: {doubt}" for doubt in found.verdict]
        return doubts + [f"{name} was not measured: {why}" for name, why in left_out(plan, result).items()]

    def _of_the_board(self, visits: Sequence[Visit], interrupted: str | None) -> list[str]:
        loops = [visit for visit in visits if visit.kind == "loop"]
        if isinstance(self.rig, SimulatedRig) or not loops:
            return [f"interrupted: {interrupted}"] if interrupted else []
        return verdict(
            RunFacts(
                before=self.before,
                after=read_environment(self.root),
                cycles=sum(visit.cycles for visit in loops),
                cycle_s=float(np.mean([visit.call_s or 0.0 for visit in loops])),
                layers=0,
                fresh_values=sum(visit.values for visit in loops) if self.rig.has_power else None,
                interrupted=interrupted,
                processors=os.cpu_count() or 1,
            )
        )

    def run_info(
        self, plan: IsolatedPlan, facts: NetworkFacts, doubts: Sequence[str], interrupted: str | None
    ) -> RunInfo:
        """What `run.json` says."""
        before = self.before
        board, power_mode = before.board, before.power_mode
        extra: dict[str, Any] = {
            "isolated": True,
            "verdict": list(doubts),
            "interrupted_by": interrupted,
            "settings": {**facts.settings, **plan.settings, "random_weights": True},
        }
        state: dict[str, Any] = {
            "clocks": {"before": before.clocks_as_dict(), "locked": before.clocks_locked},
            "temperatures": {"before": before.temperatures},
        }
        if isinstance(self.rig, SimulatedRig):
            board, power_mode = f"simulated {self.rig.board.name}", self.rig.board.power_mode
            state = {}
        else:
            after = read_environment(self.root)
            state["clocks"]["after"] = after.clocks_as_dict()
            state["temperatures"]["after"] = after.temperatures
            extra["host"] = {**host_facts(), "load_before": before.load, "load_after": after.load}
        return RunInfo(
            edgewatt_version=edgewatt.__version__,
            model=plan.model,
            network=plan.network,
            board=board,
            backend=self.rig.backend,
            precision=facts.precision,
            batch_size=facts.input_shape[0] if facts.input_shape else None,
            input_shape=list(facts.input_shape),
            power_mode=power_mode,
            sensor=self.rig.describe(),
            versions={**software_versions(), **facts.versions},
            interrupted=interrupted is not None,
            **state,
            **extra,
        )
