"""One command's part of a sweep: chooses layers, a batch at a time, and measures each batch before the next.

In the recording's folder:

    sweep.json      which layers were chosen, and
    isolated.json   how they are measured: both written at once, when a batch was tried
    visits.jsonl    what was measured, each visit on the disk when it has ended
    run.json        written when all that were chosen are measured, and not there meanwhile
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import edgewatt
from edgewatt.backends.base import NetworkFacts
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.engine_info import EngineInfo
from edgewatt.formats.isolated import PLAN_FILE, read_plan, read_visits
from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.recording import RecordingPaths
from edgewatt.formats.run_info import read_run_info
from edgewatt.formats.sweep import FILE_NAME, SweepPlan, SweptLayer, read_sweep_plan, write_sweep_plan
from edgewatt.isolation.cut import CannotCut, build_key
from edgewatt.isolation.evaluate import evaluate
from edgewatt.isolation.going_on import refuse_other_settings
from edgewatt.isolation.isolated_run import IsolatedRun
from edgewatt.isolation.job import IsolationJob
from edgewatt.isolation.plan import CutLayer
from edgewatt.isolation.rig import LoopRig
from edgewatt.isolation.rows import layer_rows
from edgewatt.isolation.session import IsolationSession, Progress
from edgewatt.isolation.surroundings import Surroundings
from edgewatt.networks.engine import engine_entry
from edgewatt.networks.layer import Layer
from edgewatt.sweep.adaptive import DRAWN_SHARE, Picker, Tables
from edgewatt.sweep.limits import Limits
from edgewatt.sweep.options import SweepOptions
from edgewatt.sweep.planning import Planning, as_single
from edgewatt.sweep.reached import drawn_error
from edgewatt.sweep.sequence import Candidate, after, sweep_sequence
from edgewatt.sweep.single import SingleLayer
from edgewatt.sweep.tables import swept_tables
from edgewatt.wording import counted

#: Bytes that pass between two runs of a layer: more than caches hold.
_FOOTPRINT = 64 * 2**20
#: What decides which layers a sweep has: it is only gone on with where all of it is the same.
_DECIDING = {"seed", "kinds", "adaptive", "memory_bytes", "precision"}


@dataclass
class SweepSession:
    """Measures a sweep into a folder.

    Attributes:
        folder: The recording's folder; a sweep that is there is gone on with.
        rig: What runs loops.
        options: How it is made.
        limits: What the board holds.
        precision: What layers compute in.
        tails: Whether layers have activations and residual additions, as they have where the backend fuses them.
        surroundings: What is noted around it.
        sensor: What the user asked to log.
        progress: Called before each step.
        aims: Layers of the networks that an adaptive sweep is aimed at.
    """

    folder: Path
    rig: LoopRig
    options: SweepOptions
    limits: Limits
    precision: str
    tails: bool
    surroundings: Surroundings
    sensor: str | None = None
    progress: Progress | None = None
    aims: tuple[SingleLayer, ...] = ()
    _built: dict[str, tuple[Layer, CutLayer]] = field(default_factory=dict)
    _planning: Planning = field(default_factory=lambda: Planning(0))
    #: How far predictors were off when it last was looked at; None before.
    error: float | None = None

    def begin(self, *, replace_existing: bool = False) -> int:
        """Read what an earlier sitting chose; returns how many measurements it made.

        Raises:
            EdgewattError: There is a sweep that was made otherwise.
        """
        self._planning = Planning(self.options.seed)
        if replace_existing or not (self.folder / FILE_NAME).exists():
            if not replace_existing and self.folder.exists():
                raise EdgewattError("the folder holds no sweep", where=self.folder, fix="Replace it: --replace")
            return 0
        plan = read_sweep_plan(self.folder)
        refuse_other_settings(
            plan.model_dump(include=_DECIDING), self._plan().model_dump(include=_DECIDING), "sweep", self.folder
        )
        self._planning.layers.extend(plan.layers)
        return len(self._measured())

    def run(self, *, replace_existing: bool = False) -> IsolatedRun:
        """Measure until there are as many layers as were asked for, or predictors are good enough.

        Raises:
            EdgewattError: There is nothing left to measure, or a sweep that was measured otherwise.
        """
        run: IsolatedRun | None = None
        if self._planning.layers and not self._is_complete():
            run = self._measure(replace_existing=False)
        sequence = sweep_sequence(self.options.kinds, self.limits, self.options.seed, tails=self.tails)
        drawn = after(sequence, self._planning.known())
        aims = self.aims if self.tails else tuple(layer.without_tail() for layer in self.aims)
        picker = Picker(self.options.kinds, self.limits, self.options.seed, self.precision, aims=aims, tails=self.tails)
        while (run is None or run.interrupted is None) and self._planning.count < self.options.count:
            if self._good_enough():
                break
            self._choose(drawn, picker)
            run = self._measure(replace_existing=replace_existing and run is None)
        if run is None or run.interrupted is None:
            run = self._measure_last(run)
        if run is None and self.error is not None:
            raise EdgewattError(
                f"predictors of this sweep are off by {self.error:.1%} already, no more than was asked for",
                where=self.folder,
                fix="Ask for less (--target-error), or leave it away to measure more layers",
            )
        if run is None:
            raise EdgewattError(
                f"there is a sweep of {counted(self._planning.count, 'layer')} already",
                where=self.folder,
                fix="Ask for more layers (--count) or more --rounds, another --seed, or replace it (--replace)",
            )
        return run

    @property
    def visited(self) -> int:
        """Loops that were run until now."""
        if not (self.folder / PLAN_FILE).exists():
            return 0
        return sum(visit.kind == "loop" for visit in read_visits(self.folder))

    @property
    def layers(self) -> tuple[SweptLayer, ...]:
        """The layers that were chosen until now, repeats included."""
        return tuple(self._planning.layers)

    def tables(self) -> Tables:
        """What was measured until now, as training tables."""
        measured = self._measured()
        layers = [self._layer(layer)[0] for layer in self._planning.layers if layer.name in measured]
        return swept_tables(layers, measured, self.folder.name)

    def _choose(self, drawn: Iterator[Candidate], picker: Picker) -> None:
        left = self.options.count - self._planning.count
        size = min(self.options.at_once, left)
        found: list[Candidate] = []
        if self.options.adaptive and self._planning.count >= self.options.before_picking:
            self._tell("picking layers", self._planning.count, self.options.count)
            number = size - round(DRAWN_SHARE * size)
            found = picker.pick(self.tables(), number, self._planning.known())
            known = {candidate.layer.without_details() for candidate in found}
            drawn = (candidate for candidate in drawn if candidate.layer.without_details() not in known)
        found += islice(drawn, size - len(found))
        self._planning.add(found, last=False)

    def _measure_last(self, run: IsolatedRun | None) -> IsolatedRun | None:
        """Measure the repeats that are still to come."""
        before = len(self._planning.layers)
        self._planning.add([], last=True)
        return run if len(self._planning.layers) == before else self._measure(replace_existing=False)

    def _good_enough(self) -> bool:
        if self.options.target_error is None or self._planning.count < self.options.before_picking:
            return False
        self.error = drawn_error(self.tables(), {layer.name: layer.origin for layer in self._planning.layers})
        return self.error is not None and self.error <= self.options.target_error

    def _measure(self, *, replace_existing: bool) -> IsolatedRun:
        """Measure all that was chosen and is not measured yet."""
        built = [self._layer(layer) for layer in self._planning.layers]
        entries = tuple(engine_entry(layer) for layer, _ in built)
        job = IsolationJob(
            network=self.folder.name,
            layers=[cut for _, cut in built],
            engine=EngineInfo(entries),
            facts=NetworkFacts(entries, tuple(layer.name for layer, _ in built), (), self.precision, True),
            identity=self.folder.name,
            footprint_bytes=_FOOTPRINT,
            where=self.folder.name,
        )
        session = IsolationSession(
            job,
            self.folder,
            self.rig,
            self.options.isolation(),
            self.surroundings,
            self.sensor,
            None if self.progress is None else self._step,
            also=lambda folder: write_sweep_plan(folder, self._plan()),
        )
        return session.run(replace_existing=replace_existing)

    def _step(self, stage: str, done: int, total: int) -> None:
        """Of a batch's steps, how many layers of the sweep are done."""
        before = self._planning.count - self.options.at_once
        share = done / total if total else 0.0
        if stage == "trying":
            self._tell(f"trying {done + 1} of {total}", max(before, 0), self.options.count)
        else:
            self._tell("measuring", int(share * self._planning.count), self.options.count)

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(stage, done, total)

    def _layer(self, swept: SweptLayer) -> tuple[Layer, CutLayer]:
        if swept.name not in self._built:
            single = as_single(swept)
            try:
                layer, model = single.layer(swept.name, self.precision), single.model()
            except CannotCut as error:
                raise FormatError(
                    f"the layer {swept.name!r} cannot be: {error}",
                    where=self.folder / FILE_NAME,
                    fix="Begin anew: --replace",
                ) from error
            # What is measured again is so, though it is built alike.
            key = build_key(model, {"name": swept.name} if swept.repeat_of else None)
            self._built[swept.name] = (layer, CutLayer(layer.name, layer.backend_type, model, key))
        return self._built[swept.name]

    def _measured(self) -> dict[str, LayerPower]:
        if not (self.folder / PLAN_FILE).exists():
            return {}
        plan = read_plan(self.folder)
        rows = layer_rows(plan, evaluate(plan, read_visits(self.folder)))
        return {row.layer_name: row for row in rows if row.runtime_ms > 0}

    def _is_complete(self) -> bool:
        path = RecordingPaths(self.folder).run_info
        if not path.exists() or read_run_info(path).interrupted or not (self.folder / PLAN_FILE).exists():
            return False
        plan = read_plan(self.folder)
        known = {layer.name for layer in plan.layers}
        return plan.rounds >= self.options.rounds and all(layer.name in known for layer in self._planning.layers)

    def _plan(self) -> SweepPlan:
        return SweepPlan(
            edgewatt_version=edgewatt.__version__,
            seed=self.options.seed,
            kinds=[kind.value for kind in self.options.kinds],
            adaptive=self.options.adaptive,
            networks=list(self.options.networks),
            memory_bytes=self.limits.memory_bytes,
            precision=self.precision,
            layers=self._planning.layers,
        )
