"""What `train` does beside training: search for settings before it, and keep it in MLflow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewatt.cli_output import show
from edgewatt.errors import EdgewattError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from edgewatt.predictors.fleet_data import FleetChoice
    from edgewatt.predictors.training import TrainingResult
    from edgewatt.tracking.tracker import TrackedTraining, Tracker
    from edgewatt.tuning.result import TuningResult


@dataclass(frozen=True)
class Search:
    """What `train` is told of a search for settings.

    Attributes:
        trials: Trials of each target; None for no search.
        study: File of the search; None for one beside the predictors.
        prune: Give up bad trials early.
        seed: Of the search.
        jobs: Fits at once; None for as many as there are cores.
        scheduler: Address of a Dask scheduler whose workers run the trials.
    """

    trials: int | None
    study: Path | None
    prune: bool
    seed: int
    jobs: int | None
    scheduler: str | None


class Tuning:
    """The tuning of one training; nothing where none was asked for."""

    def __init__(self, result: TuningResult | None) -> None:
        self._result = result

    def arguments(self) -> dict[str, Any]:
        """Arguments of `train` that it decides: the predictor, its settings, and the note to keep."""
        if self._result is None:
            return {}
        return {
            "predictor": self._result.predictor,
            "settings": self._result.settings,
            "tuning": self._result.note(),
        }

    def json(self) -> dict[str, Any]:
        """What `--json` tells of it, if anything."""
        return {} if self._result is None else {"tuning": self._result.to_dict()}

    def parts(self) -> list[RenderableType]:
        """What is printed of it."""
        if self._result is None:
            return []
        from edgewatt.reports.tuning import tuning_lines, tuning_table

        return [tuning_table(self._result), *tuning_lines(self._result)]


def tuned(
    search: Search,
    training_dir: Path,
    predictors_dir: Path,
    *,
    holdout: Sequence[str],
    predictor: str | None,
    settings: dict[str, Any],
    tune_degree: bool,
    choice: FleetChoice,
) -> Tuning:
    """Search for settings, where it is asked for.

    Raises:
        EdgewattError: Optuna is not installed, what is asked for does not go together, or the study is of something
            else.
    """
    if search.trials is None:
        if search != Search(None, None, prune=False, seed=search.seed, jobs=None, scheduler=None):
            raise EdgewattError("--study, --prune, --jobs and --scheduler are of a search", fix="Add --tune TRIALS")
        return Tuning(None)
    if tune_degree:
        raise EdgewattError("settings are searched for by --tune or --tune-degree", fix="Leave one of the two out")
    from edgewatt.reports.progress import progress_bar
    from edgewatt.tuning.study import check_optuna
    from edgewatt.tuning.tune import tune
    from edgewatt.workers.places import open_place

    check_optuna()
    study = search.study or predictors_dir.with_name(f"{predictors_dir.name}.study.db")
    with open_place(jobs=search.jobs, scheduler=search.scheduler) as place, progress_bar("Tuning") as step:
        try:
            result = tune(
                training_dir,
                study,
                trials=search.trials,
                holdout=holdout,
                predictor=predictor,
                settings=settings,
                seed=search.seed,
                prune=search.prune,
                choice=choice,
                place=place,
                progress=step,
            )
        except KeyboardInterrupt:
            print(f"{study} keeps the trials that were finished; the same command goes on with them", file=sys.stderr)
            raise
    return Tuning(result)


def evaluate_trained(
    training_dir: Path, name: str, uri: str | None, choice: FleetChoice | None = None, *, as_json: bool
) -> None:
    """Score trained predictors on networks that are new to them, and show it.

    Args:
        training_dir: Folder of training tables.
        name: What names the predictors, see `predictors_folder`.
        uri: Tracking URI; None for the environment's.
        choice: Which boards and power modes.
        as_json: Whether it is shown as JSON.
    """
    from edgewatt.predictors.prediction import load_predictors
    from edgewatt.predictors.trained_scores import trained_scores
    from edgewatt.reports.trained_scores import trained_scores_json, trained_scores_lines, trained_scores_tables
    from edgewatt.tracking.sources import predictors_folder

    with predictors_folder(name, uri) as folder:
        assert folder is not None
        predictors = load_predictors(folder)
    found = trained_scores(training_dir, predictors, choice)
    show(as_json, trained_scores_json(name, found), *trained_scores_tables(found), *trained_scores_lines(found))


class Tracking:
    """The tracking of one training; nothing happens where none was asked for.

    Its failure is told at the end, after the results, for the training itself went well.
    """

    def __init__(self, tracker: Tracker | None) -> None:
        self._tracker = tracker
        self._tracked: TrackedTraining | None = None
        self._failed: EdgewattError | None = None

    def log(
        self, result: TrainingResult, training_dir: Path, predictors_dir: Path, progress: Callable[[str], None]
    ) -> None:
        """Log a training that is on disk."""
        if self._tracker is None:
            return
        progress("kept in MLflow")
        try:
            self._tracked = self._tracker.log(result, training_dir, predictors_dir)
        except EdgewattError as error:
            self._failed = error
        except OSError as error:
            self._failed = EdgewattError.of_system(error)

    def json(self) -> dict[str, Any]:
        """What `--json` tells of it, if anything."""
        if self._tracker is None:
            return {}
        return {"tracking": None if self._tracked is None else self._tracked.to_dict()}

    def lines(self) -> list[str]:
        """What is printed of it."""
        one = self._tracked
        if one is None:
            return []
        return [f"Tracked in {one.uri}, experiment {one.experiment}: --predictors {one.predictors}"]

    def end(self) -> None:
        """Raise the error that tracking ended with, if it did."""
        if self._failed is not None:
            raise self._failed


@contextmanager
def tracked_training(uri: str | None, experiment: str | None, register: str | None) -> Iterator[Tracking]:
    """Get ready to track a training, where it is asked for.

    Raises:
        EdgewattError: MLflow is not installed, the URI is none, or there is something to register, or an experiment,
            and no URI.
    """
    if uri is None:
        if register is not None or experiment is not None:
            raise EdgewattError(
                "--register and --experiment are for predictors that are tracked", fix="Add --track URI"
            )
        yield Tracking(None)
        return
    from edgewatt.tracking.tracker import DEFAULT_EXPERIMENT, tracker

    with tracker(uri, DEFAULT_EXPERIMENT if experiment is None else experiment, register) as one:
        yield Tracking(one)
