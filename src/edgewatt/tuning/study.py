"""Optuna's studies: kept in a file, one a target, gone on with where they stopped."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewatt.errors import EdgewattError
from edgewatt.extras import check_extra
from edgewatt.predictors.search_space import Choice, SearchSpace, Value

if TYPE_CHECKING:
    import optuna

#: Ends of the names of files that Optuna keeps as a journal; others are SQLite databases.
_JOURNALS = (".journal", ".log")

#: What a study is of; another study's trials say nothing of this one.
_ABOUT = "edgewatt"


def check_optuna() -> None:
    """Check that Optuna is there.

    Raises:
        EdgewattError: It is not.
    """
    check_extra("optuna", "tune", "tuning needs Optuna, which is not installed")


def open_studies(path: Path, names: Mapping[str, Mapping[str, Any]], *, prune: bool = False) -> dict[str, optuna.Study]:
    """Open or begin studies in a file.

    Args:
        path: The file; `.journal` and `.log` are journals, others SQLite databases.
        names: What each study is of, by its name: plain values.
        prune: Give up trials whose first folds are worse than the median's.

    Raises:
        EdgewattError: Optuna is not installed, or the file is no study or one of something else.
    """
    check_optuna()
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = optuna.pruners.MedianPruner(n_warmup_steps=1) if prune else optuna.pruners.NopPruner()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _refuse_foreign(path)
        storage = _storage(path)
        studies = {
            name: optuna.create_study(study_name=name, storage=storage, pruner=pruner, load_if_exists=True)
            for name in names
        }
    except EdgewattError:
        raise
    # A database's errors are of its own kinds.
    except Exception as error:
        reason = str(error).splitlines()
        raise EdgewattError(
            f"the study cannot be opened: {reason[0] if reason else type(error).__name__}",
            where=path,
            fix="Name another file with --study",
        ) from error
    for name, about in names.items():
        _check_about(studies[name], about, path)
        _end_unfinished(studies[name])
    return studies


def _refuse_foreign(path: Path) -> None:
    """Refuse a database of something else, to which tables of studies would be added.

    Raises:
        EdgewattError: It holds tables, and none of studies.
    """
    if path.suffix in _JOURNALS or not path.is_file():
        return
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "studies" not in tables:
        raise EdgewattError("this database is no study", where=path, fix="Name another file with --study")


def finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """Trials that count: those that were scored or given up early."""
    from optuna.trial import TrialState

    trials: list[optuna.trial.FrozenTrial] = study.get_trials(
        deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED)
    )
    return trials


def asked(study: optuna.Study, space: SearchSpace, seed: int) -> tuple[optuna.Trial, dict[str, Value]]:
    """Ask for the settings of one more trial; the first are the usual ones.

    What is asked depends on the trials so far and the seed alone, so that a study which was interrupted goes on as if
    it had not been.

    Args:
        study: The study.
        space: What may be chosen.
        seed: Of the sampler.
    """
    import optuna

    trials = len(study.get_trials(deepcopy=False))
    if trials == 0:
        study.enqueue_trial({name: one.usual for name, one in space.items()})
    with warnings.catch_warnings():
        # Some versions call these two ways of sampling experimental.
        warnings.simplefilter("ignore")
        study.sampler = optuna.samplers.TPESampler(seed=seed * 100_003 + trials, multivariate=True, constant_liar=True)
    trial = study.ask()
    return trial, {name: _suggested(trial, name, one) for name, one in space.items()}


def _suggested(trial: optuna.Trial, name: str, one: Any) -> Value:
    value: Value
    if isinstance(one, Choice):
        value = trial.suggest_categorical(name, one.values)
    elif one.whole:
        value = trial.suggest_int(name, int(one.low), int(one.high), log=one.log)
    else:
        value = trial.suggest_float(name, one.low, one.high, log=one.log)
    return value


def _storage(path: Path) -> Any:
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    if path.suffix in _JOURNALS:
        return JournalStorage(JournalFileBackend(str(path)))
    return RDBStorage(f"sqlite:///{path.absolute()}")


def _check_about(study: optuna.Study, about: Mapping[str, Any], path: Path) -> None:
    before = study.user_attrs.get(_ABOUT)
    if before is None:
        study.set_user_attr(_ABOUT, dict(about))
        return
    differing = sorted(key for key in {*before, *about} if before.get(key) != about.get(key))
    if differing:
        raise EdgewattError(
            f"the study is of something else: other {', '.join(differing)}",
            where=path,
            fix="Name another file with --study, or remove this one",
        )


def _end_unfinished(study: optuna.Study) -> None:
    """Trials that an interruption left without a score are over."""
    from optuna.trial import TrialState

    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(trial.number, state=TrialState.FAIL)
