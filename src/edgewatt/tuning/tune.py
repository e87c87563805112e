"""The search: asks Optuna for settings, scores them on folds of networks, and keeps them where they are better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewatt.errors import EdgewattError
from edgewatt.formats.fingerprint import data_fingerprint
from edgewatt.formats.run_folders import network_of
from edgewatt.predictors.fleet_data import FleetChoice, check_board_features, fleet_training_data
from edgewatt.predictors.registry import Settings, search_space, settings_of
from edgewatt.predictors.search_space import SearchSpace
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training import divide, predictor_name
from edgewatt.predictors.training_data import TrainingData
from edgewatt.tuning.folds import FoldTask, NetworkErrors, Search, fold_errors, held_out_errors, new_search
from edgewatt.tuning.result import TargetTuning, TuningResult
from edgewatt.tuning.score import LEVEL, chance_of_luck, combined, score
from edgewatt.tuning.study import asked, finished, open_studies
from edgewatt.workers.base import Place, ThisProcess, map_tasks

if TYPE_CHECKING:
    import optuna

#: Trials that are asked for at once, whatever there is to run them on: so the search is the same everywhere.
BATCH = 4


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is searched, and with what."""

    search: Search
    place: Place
    fixed: Mapping[Target, Settings]
    spaces: Mapping[Target, SearchSpace]
    studies: Mapping[Target, optuna.Study]
    trials: int
    seed: int
    prune: bool
    progress: Callable[[str], None]

    def errors(self, tasks: Sequence[FoldTask]) -> Iterator[NetworkErrors]:
        """What each task found, in order, each as soon as it is known."""
        for outcome in map_tasks(partial(fold_errors, self.search), tasks, self.place):
            if outcome.error is not None:
                raise outcome.error
            assert outcome.result is not None
            yield outcome.result


def tune(
    training_dir: Path,
    study: Path,
    *,
    trials: int,
    holdout: Sequence[str] = (),
    predictor: str | None = None,
    settings: Settings | None = None,
    seed: int = 0,
    prune: bool = False,
    choice: FleetChoice | None = None,
    place: Place | None = None,
    progress: Callable[[str], None] | None = None,
) -> TuningResult:
    """Search for better settings of a predictor, for power and for runtime alone.

    Settings are scored on whole networks, each left out with its fold; networks that are held out take no part, and
    are scored on at the end. Tuned settings are kept where they are better by more than luck, see
    `chance_of_luck`; else the usual ones stay.

    Args:
        training_dir: One folder of training tables a network.
        study: The file of the search; one that is there is gone on with.
        trials: Trials that it shall hold in the end, for each target.
        holdout: Networks that are kept from it.
        predictor: One of `PREDICTOR_NAMES`; None as in `train`.
        settings: Settings that are given, and so not searched for.
        seed: Of the search.
        prune: Give up trials early whose first folds are bad.
        choice: Which boards and power modes, and whether boards' figures are features; as for `train`.
        place: Where trials run; in this process where none is given.
        progress: Called with the name of each trial before its turn.

    Raises:
        EdgewattError: Optuna is not installed, the predictor has nothing to search for, fewer than two networks are
            left to train on, or the study is of something else.
    """
    name = predictor_name(predictor, settings)
    check_board_features(name, choice)
    training, test = divide(fleet_training_data(training_dir, choice), holdout, training_dir)
    fixed = {target: settings_of(target, settings or {}) for target in Target}
    spaces = {
        target: {key: one for key, one in search_space(name, target).items() if key not in fixed[target]}
        for target in Target
    }
    if not any(spaces.values()):
        raise EdgewattError(f"the predictor {name} has no settings to search for", fix="Leave --tune out")
    if len({network_of(network) for network in training.networks}) < 2:
        raise EdgewattError("tuning leaves out networks, and there is only one to train on", where=training_dir)
    about = {
        "predictor": name,
        "data": data_fingerprint(training_dir, training.networks),
        "networks": list(training.networks),
        **({"boards": [str(board.condition) for board in training.boards]} if training.boards else {}),
    }
    studies = open_studies(
        study,
        {target.value: {**about, "settings": dict(fixed[target])} for target in Target},
        prune=prune,
    )
    plan = _Plan(
        search=new_search(training, name),
        place=place or ThisProcess(),
        fixed=fixed,
        spaces={target: space for target, space in spaces.items() if space},
        studies={target: studies[target.value] for target in Target},
        trials=trials,
        seed=seed,
        prune=prune,
        progress=progress or (lambda _: None),
    )
    before = {target.value: len(finished(plan.studies[target])) for target in plan.spaces}
    for target in plan.spaces:
        _run(plan, target)
    results = {target: _result(plan, target, test, before[target.value]) for target in plan.spaces}
    return TuningResult(name, study, seed, plan.search.numbers, dict(settings or {}), results)


def _run(plan: _Plan, target: Target) -> None:
    """Run trials of one target until the study holds as many as it shall."""
    study = plan.studies[target]
    while (done := len(finished(study))) < plan.trials:
        batch = [asked(study, plan.spaces[target], plan.seed) for _ in range(min(BATCH, plan.trials - done))]
        _run_batch(plan, target, batch)


def _run_batch(plan: _Plan, target: Target, batch: Sequence[tuple[optuna.Trial, dict[str, Any]]]) -> None:
    from optuna.trial import TrialState

    study = plan.studies[target]
    rounds = [[number] for number in plan.search.numbers] if plan.prune else [plan.search.numbers]
    found: dict[int, list[NetworkErrors]] = {trial.number: [] for trial, _ in batch}
    running = list(batch)
    for step, folds in enumerate(rounds):
        tasks = [
            FoldTask(target, {**plan.fixed[target], **settings}, fold) for _, settings in running for fold in folds
        ]
        errors = plan.errors(tasks)
        going_on = []
        for trial, settings in running:
            plan.progress(f"{target}, trial {trial.number + 1}")
            found[trial.number] += [next(errors) for _ in folds]
            value = score(combined(found[trial.number])).log
            if step == len(rounds) - 1:
                if not isfinite(value):
                    raise EdgewattError(
                        f"no kind of layer has the rows that a fold's {target} needs", fix="Add networks"
                    )
                study.tell(trial, value)
            else:
                trial.report(value, step)
                if trial.should_prune():
                    study.tell(trial, state=TrialState.PRUNED)
                else:
                    going_on.append((trial, settings))
        # The round ends when there is nothing more to come.
        next(errors, None)
        running = going_on


def _result(plan: _Plan, target: Target, test: TrainingData, before: int) -> TargetTuning:
    """Judge the best settings beside the usual ones."""
    study, fixed = plan.studies[target], plan.fixed[target]
    best: dict[str, Any] = dict(study.best_trial.params)
    plan.progress(f"{target}, usual settings")
    numbers = plan.search.numbers
    both = [FoldTask(target, settings, fold) for settings in (fixed, {**fixed, **best}) for fold in numbers]
    errors = list(plan.errors(both))
    usual, tuned = combined(errors[: len(numbers)]), combined(errors[len(numbers) :])
    trials = len(finished(study))
    luck = chance_of_luck(usual, tuned, trials)
    held_out = None
    if test.networks:
        held_out = (
            score(held_out_errors(plan.search, test, target, fixed)),
            score(held_out_errors(plan.search, test, target, {**fixed, **best})),
        )
    return TargetTuning(
        target=target,
        trials=trials,
        trials_before=before,
        best=best,
        usual=score(usual),
        tuned=score(tuned),
        luck=luck,
        is_kept=luck is not None and luck < LEVEL,
        held_out=held_out,
    )
