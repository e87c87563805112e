"""Training: from training tables to a folder of predictors with their scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.card import training_card
from edgewatt.predictors.evaluation import cross_validate
from edgewatt.predictors.folder import PREDICTED_KINDS, Predictors, write_predictors
from edgewatt.predictors.metrics import scores
from edgewatt.predictors.neuralpower import MINIMUM_ROWS
from edgewatt.predictors.registry import DEGREES, PREDICTOR_NAMES, Predictor, Settings, new_predictor
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array, feature_columns
from edgewatt.predictors.training_data import NETWORK, TrainingData, read_training_data

Metrics = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """What training made.

    Attributes:
        predictors: The trained predictors.
        metrics: What `metrics.json` holds: for each kind and target the predictor's name, its scores in
            cross-validation (`cv`) and on the held-out networks (`test`), and the same of the baselines.
        notes: What was simplified, in words.
    """

    predictors: Predictors
    metrics: Metrics
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Rows:
    """Layers of one kind that have a target."""

    table: pl.DataFrame
    y: Array
    networks: NDArray[Any]


def train(
    training_dir: Path,
    predictors_dir: Path,
    *,
    holdout: Sequence[str] = (),
    predictor: str = "neuralpower",
    settings: Settings | None = None,
    tune_degree: bool = False,
    progress: Callable[[str], None] | None = None,
) -> TrainingResult:
    """Train a power and a runtime predictor for each kind of layer, score them and write them.

    Power is trained in W above idle, runtime in ms. Layers without power are trained on for runtime alone.

    Args:
        training_dir: One folder of training tables a network.
        predictors_dir: The folder to write; what an earlier training wrote there is replaced at the end.
        holdout: Networks that are kept from training and from every choice, and scored on.
        predictor: One of `PREDICTOR_NAMES`.
        settings: The predictor's settings where they are not the usual ones, for both targets.
        tune_degree: Let cross-validation choose the degree.
        progress: Called with the name of each kind and target before its turn.

    Raises:
        EdgewattError: A table is broken, a network to hold out is not there, none is left to train on, or no kind has
            enough rows.
    """
    data = read_training_data(training_dir)
    training, test = _divide(data, holdout, training_dir)
    settings = _checked_settings(predictor, settings or {}, tune_degree)
    stored: dict[tuple[LayerKind, Target], StoredPredictor] = {}
    metrics: Metrics = {}
    left_out: dict[str, str] = {}
    notes: list[str] = []
    for kind in PREDICTED_KINDS:
        for target in Target:
            purpose = f"{kind} {target}"
            rows = _rows(training, kind, target)
            if len(rows.y) < MINIMUM_ROWS:
                left_out[purpose] = f"{len(rows.y)} layers, fewer than {MINIMUM_ROWS}"
                continue
            if progress:
                progress(purpose)
            fitted = new_predictor(predictor, kind, target, settings)
            fitted.fit(rows.table, rows.y, rows.networks)
            stored[kind, target] = _stored(fitted, predictor, target, rows)
            entry = _score(predictor, kind, target, settings, fitted, rows, _rows(test, kind, target))
            metrics.setdefault(kind.value, {})[target.value] = entry
            if fitted.note_:
                notes.append(f"{purpose}: {fitted.note_}")
    if not stored:
        raise EdgewattError(
            f"no kind of layer has the {MINIMUM_ROWS} rows that a predictor needs",
            where=training_dir,
            fix="Add networks, or hold fewer out",
        )
    predictors = Predictors(
        by_purpose=stored,
        networks=training.networks,
        holdout=test.networks,
        idle_power_w=training.idle_power_w(),
        methods=training.distinct("method"),
        precisions=training.distinct("precision"),
        left_out=left_out,
    )
    write_predictors(predictors_dir, predictors, metrics, training_card(predictors, metrics, notes))
    return TrainingResult(predictors, metrics, tuple(notes))


def _divide(data: TrainingData, holdout: Sequence[str], where: Path) -> tuple[TrainingData, TrainingData]:
    unknown = [name for name in holdout if name not in data.networks]
    if unknown:
        raise EdgewattError(
            f"no network {', '.join(unknown)} to hold out", where=where, fix=f"There are: {', '.join(data.networks)}"
        )
    kept = [name for name in data.networks if name not in holdout]
    if not kept:
        raise EdgewattError("all networks are held out", where=where, fix="Leave some to train on")
    return data.of(kept), data.of([name for name in data.networks if name in holdout])


def _checked_settings(predictor: str, settings: Settings, tune_degree: bool) -> Settings:
    if predictor not in PREDICTOR_NAMES:
        raise EdgewattError(f"there is no predictor {predictor!r}", fix=f"Choose one of {', '.join(PREDICTOR_NAMES)}")
    if not tune_degree:
        return settings
    if predictor != "neuralpower":
        raise EdgewattError(f"the predictor {predictor} has no degree to tune", fix="Leave --tune-degree out")
    if "degree" in settings:
        raise EdgewattError("a degree is either given or tuned", fix="Leave one of the two out")
    return {**settings, "degree": DEGREES}


def _rows(data: TrainingData, kind: LayerKind, target: Target) -> _Rows:
    table = data.tables.get(kind)
    if table is None:
        return _Rows(pl.DataFrame(), np.zeros(0), np.zeros(0, dtype=np.str_))
    y = target_values(table, target)
    measured = np.isfinite(y)
    table = table.filter(pl.Series(measured))
    return _Rows(table, y[measured], table[NETWORK].to_numpy().astype(np.str_))


def _stored(fitted: Predictor, name: str, target: Target, rows: _Rows) -> StoredPredictor:
    settings = {key: value for key, value in fitted.get_params().items() if key != "kind"}
    columns = feature_columns(fitted.polynomial_.kind, rows.table)
    return StoredPredictor(
        polynomial=fitted.polynomial_,
        name=name,
        target=target,
        settings=settings,
        rows=len(rows.y),
        networks=tuple(sorted(set(rows.networks.tolist()))),
        feature_ranges={key: (float(values.min()), float(values.max())) for key, values in columns.items()},
        target_range=(float(rows.y.min()), float(rows.y.max())),
    )


def _score(
    name: str,
    kind: LayerKind,
    target: Target,
    settings: Settings,
    fitted: Predictor,
    rows: _Rows,
    test: _Rows,
) -> dict[str, Any]:
    """The entry of `metrics.json` for one kind and target."""
    baseline = new_predictor("mean", kind, target)
    baseline.fit(rows.table, rows.y, rows.networks)
    return {
        "predictor": name,
        "cv": _cv_scores(lambda: new_predictor(name, kind, target, settings), rows),
        "test": _test_scores(fitted, test),
        "baselines": {
            "mean": {
                "cv": _cv_scores(lambda: new_predictor("mean", kind, target), rows),
                "test": _test_scores(baseline, test),
            }
        },
    }


def _cv_scores(make: Callable[[], Predictor], rows: _Rows) -> Mapping[str, Any]:
    found = cross_validate(make, rows.table, rows.y, rows.networks)
    return {**asdict(found.scores), "grouping": found.grouping}


def _test_scores(fitted: Predictor, test: _Rows) -> Mapping[str, Any] | None:
    if len(test.y) == 0:
        return None
    return asdict(scores(test.y, fitted.predict(test.table), test.networks))
