"""One command's part of an isolated recording: tries layers, measures what is missing, and writes the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from onnx import ModelProto

import edgewatt
from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.engine_info import write_engine_info
from edgewatt.formats.folders import replacing_folder
from edgewatt.formats.isolated import (
    IsolatedLayer,
    IsolatedPlan,
    IsolatedSubject,
    append_visits,
    cut_last_visit,
    is_isolated,
    read_plan,
    read_visits,
    write_plan,
)
from edgewatt.formats.recording import RecordingPaths
from edgewatt.formats.run_info import read_run_info, write_run_info
from edgewatt.isolation.copies import copy_style, with_copies
from edgewatt.isolation.evaluate import evaluate
from edgewatt.isolation.going_on import refuse_other_settings
from edgewatt.isolation.isolated_run import IsolatedRun, isolated_run
from edgewatt.isolation.job import WHOLE, IsolationJob
from edgewatt.isolation.options import IsolationOptions
from edgewatt.isolation.plan import PROBE_COPIES, choose_copies, further_layers, layer_s, rest_s
from edgewatt.isolation.rig import LoopNetwork, LoopRig, Trial
from edgewatt.isolation.rounds import RoundsResult, Subject, measure_rounds
from edgewatt.isolation.surroundings import Surroundings

#: Called with what is being done, how much of it is done, and how much there is.
Progress: TypeAlias = Callable[[str, int, int], None]
_PROBE = "probe"


@dataclass
class IsolationSession:
    """Measures a job's layers into a folder.

    Attributes:
        job: What is measured.
        folder: The recording's folder; one that is there is gone on with, and layers that it lacks are added.
        rig: What runs loops.
        options: How it is measured.
        surroundings: What is noted around it.
        sensor: What the user asked to log.
        progress: Called before each step.
        also: Writes further files that say what is measured into the folder that it is called with.
    """

    job: IsolationJob
    folder: Path
    rig: LoopRig
    options: IsolationOptions
    surroundings: Surroundings
    sensor: str | None = None
    progress: Progress | None = None
    also: Callable[[Path], None] | None = None

    def run(self, *, replace_existing: bool = False) -> IsolatedRun:
        """Measure what is not measured yet.

        Raises:
            EdgewattError: There is a complete recording, or one that was measured otherwise; or no layer can be
                measured.
        """
        models = {layer.key: layer.model for layer in self.job.layers if layer.key and layer.model is not None}
        plan = None if replace_existing else self._unfinished()
        known = set() if plan is None else {layer.name for layer in plan.layers}
        if plan is None or any(layer.name not in known for layer in self.job.layers):
            try:
                plan = self._planned(plan, models)
            except _StoppedError as stopped:
                if plan is None or not read_visits(self.folder):
                    raise
                return self._end(plan, RoundsResult(stopped_by=stopped.by))
            self._write(plan, keep=bool(known))
        # Until all is measured the recording is not complete.
        RecordingPaths(self.folder).run_info.unlink(missing_ok=True)
        cut_last_visit(self.folder)
        outcome = measure_rounds(
            self._subjects(plan, models),
            self.rig,
            self.options.round_settings(),
            lambda visits: append_visits(self.folder, visits),
            read_visits(self.folder),
            lambda done: self._tell("measuring", done, len(plan.subjects) * plan.rounds),
        )
        return self._end(plan, outcome)

    def _settings(self) -> dict[str, Any]:
        """What decides what is measured: a recording is only gone on with where all of it is the same."""
        options = self.options
        return {
            "backend": self.rig.backend,
            "board": self.surroundings.board,
            "sensor": self.sensor or "",
            "precision": options.precision,
            "input_shape": list(options.input_shape or ()),
            "seconds": options.seconds,
            "pause_s": options.pause_s,
            "caches": "cold" if options.cold else "warm",
            "share": options.share,
            "seed": options.seed,
            "network": self.job.identity,
        }

    def _unfinished(self) -> IsolatedPlan | None:
        """The plan of an earlier sitting that is gone on with."""
        if not is_isolated(self.folder):
            return None
        plan = read_plan(self.folder)
        path = RecordingPaths(self.folder).run_info
        known = {layer.name for layer in plan.layers}
        refuse_other_settings(plan.settings, self._settings(), "recording", self.folder)
        complete = path.exists() and not read_run_info(path).interrupted and plan.rounds >= self.options.rounds
        if complete and read_visits(self.folder) and all(layer.name in known for layer in self.job.layers):
            raise AlreadyMeasuredError(
                f"there is a recording of {self.folder.name} already",
                where=self.folder,
                fix="Record under another name (--name), into another folder, with more --rounds, or replace it "
                "(--replace)",
            )
        if plan.rounds != self.options.rounds:
            plan = plan.model_copy(update={"rounds": self.options.rounds})
            write_plan(self.folder, plan)
        return plan

    def _planned(self, plan: IsolatedPlan | None, models: Mapping[str, ModelProto]) -> IsolatedPlan:
        """A plan of all layers; those of an earlier one stay as they are."""
        earlier = [] if plan is None else list(plan.subjects)
        wanted = {key: models[key] for key in models if key not in {subject.key for subject in earlier}}
        trials, reasons = self._try_layers(wanted)
        if not trials and not earlier:
            told = (*reasons.values(), *(layer.reason for layer in self.job.layers))
            reason = next((reason for reason in told if reason), "it has no layers")
            raise EdgewattError(f"no layer can be measured by itself: {reason}", where=self.job.where)
        rests = [rest_s(trial) for trial in trials.values()] + [subject.rest_s for subject in earlier]
        rest = float(np.median(rests))
        probe_of = None if plan is None else plan.probe_of
        shortest = min(trials, key=lambda key: layer_s(trials[key])) if probe_of is None and trials else None
        subjects = [
            self._subject(key, trial, wanted[key], rest, PROBE_COPIES if key == shortest else 1)
            for key, trial in trials.items()
        ]
        if shortest is not None and any(s.key == shortest and s.copies > 1 for s in subjects):
            probe_of = shortest
            subjects.append(IsolatedSubject(key=_PROBE, trial_s=layer_s(trials[shortest]), rest_s=rest))
        whole = self.job.whole_trial
        if plan is None and whole is not None:
            subjects.append(IsolatedSubject(key=WHOLE, trial_s=layer_s(whole), rest_s=rest_s(whole)))
        subjects = [*earlier, *subjects]
        measured = {subject.key for subject in subjects}
        return IsolatedPlan(
            edgewatt_version=edgewatt.__version__,
            model=self.folder.name,
            network=self.job.network,
            settings=self._settings(),
            rounds=self.options.rounds,
            whole=WHOLE if whole is not None else None,
            probe=None if probe_of is None else _PROBE,
            probe_of=probe_of,
            layers=[
                IsolatedLayer(
                    name=layer.name,
                    backend_type=layer.backend_type,
                    subject=layer.key if layer.key in measured else None,
                    reason=layer.reason or reasons.get(layer.key or "", ""),
                    executed=layer.executed,
                )
                for layer in self.job.layers
            ],
            subjects=subjects,
        )

    def _subject(self, key: str, trial: Trial, model: ModelProto, rest: float, least: int) -> IsolatedSubject:
        footprint = self.job.footprint_bytes if self.options.cold else 0
        copies = choose_copies(model, layer_s(trial), rest, footprint, least=least, style=copy_style(self.rig.backend))
        share, further = further_layers(trial)
        return IsolatedSubject(
            key=key,
            copies=copies.copies,
            variants=copies.variants,
            layer_share=share,
            trial_s=layer_s(trial),
            rest_s=rest_s(trial),
            further=further,
        )

    def _try_layers(self, models: Mapping[str, ModelProto]) -> tuple[dict[str, Trial], dict[str, str]]:
        """The trial of each layer that can be run, and why each other one cannot."""
        trials: dict[str, Trial] = {}
        reasons: dict[str, str] = {}
        style = copy_style(self.rig.backend)
        for done, (key, model) in enumerate(models.items()):
            self._tell("trying", done, len(models))
            stopped = self.rig.stopped()
            if stopped:
                raise _StoppedError(stopped)
            try:
                trials[key] = self.rig.trial(LoopNetwork(f"{key}-trial", partial(with_copies, model, 1, 1, style)))
            except EdgewattError as error:
                reasons[key] = error.what
        return trials, reasons

    def _write(self, plan: IsolatedPlan, *, keep: bool) -> None:
        with replacing_folder(self.folder, keep_others=keep) as beside:
            write_engine_info(beside / "trt_profiling" / "trt_engine_info.json", self.job.engine)
            write_plan(beside, plan)
            if self.also is not None:
                self.also(beside)

    def _subjects(self, plan: IsolatedPlan, models: Mapping[str, ModelProto]) -> list[Subject]:
        style, result = copy_style(self.rig.backend), []
        for subject in plan.subjects:
            model = models.get(plan.probe_of or "" if subject.key == _PROBE else subject.key)
            if subject.key == WHOLE and self.job.whole is not None:
                network = self.job.whole
            elif model is not None:
                make = partial(with_copies, model, subject.copies, subject.variants, style)
                network = LoopNetwork(subject.key, make)
            else:
                continue  # not among the layers as the backend builds them now
            result.append(Subject(network, subject.trial_s * subject.copies + subject.rest_s))
        return result

    def _end(self, plan: IsolatedPlan, outcome: RoundsResult) -> IsolatedRun:
        if outcome.failed:
            plan = plan.model_copy(update={"layers": [_with_reason(layer, outcome.failed) for layer in plan.layers]})
            write_plan(self.folder, plan)
        visits = read_visits(self.folder)
        result = evaluate(plan, visits)
        interrupted = None if outcome.stopped_by is None else f"stopped by {outcome.stopped_by}"
        doubts = self.surroundings.verdict(plan, visits, result, interrupted)
        info = self.surroundings.run_info(plan, self.job.facts, doubts, interrupted)
        write_run_info(RecordingPaths(self.folder).run_info, info)
        if interrupted:
            warn(f"the recording was interrupted ({interrupted}); what was measured is kept", where=self.folder)
        return isolated_run(self.folder, plan, result, tuple(doubts), interrupted)

    def _tell(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)


class AlreadyMeasuredError(EdgewattError):
    """There is a complete recording that was measured in the same way."""


class _StoppedError(EdgewattError):
    """A signal came before every layer was tried."""

    def __init__(self, by: str) -> None:
        self.by = by
        super().__init__(
            f"stopped by {by} before every layer was tried; nothing was measured", fix="The same command begins again"
        )


def _with_reason(layer: IsolatedLayer, failed: Mapping[str, str]) -> IsolatedLayer:
    """A layer with the reason why it could not be run in a round."""
    if layer.subject is None or layer.subject not in failed:
        return layer
    return layer.model_copy(update={"reason": failed[layer.subject]})
