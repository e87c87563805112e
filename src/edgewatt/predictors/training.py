"""Training: from training tables to a folder of predictors with their scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.card import training_card
from edgewatt.predictors.cross_prediction import CrossPrediction, cross_predict, measured_rows
from edgewatt.predictors.fallback import TREES, fallback_interval, fit_fallback
from edgewatt.predictors.folder import PREDICTED_KINDS, Predictors, write_predictors
from edgewatt.predictors.folds import network_folds
from edgewatt.predictors.metrics import scores
from edgewatt.predictors.network_calibration import NetworkCalibration
from edgewatt.predictors.network_scores import (
    baseline_values,
    calibrate,
    calibrated_values,
    measured_networks,
    network_sums,
)
from edgewatt.predictors.neuralpower import MINIMUM_ROWS
from edgewatt.predictors.registry import (
    DEFAULT_PREDICTOR,
    DEGREES,
    PREDICTOR_NAMES,
    Predictor,
    Settings,
    fit_predictor,
    new_predictor,
)
from edgewatt.predictors.scoring import (
    NETWORKS_KEY,
    energy_interval,
    interval_entry,
    layer_interval,
    layer_scores,
    network_entries,
)
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import feature_columns
from edgewatt.predictors.training_data import NETWORK, TrainingData, read_training_data
from edgewatt.tabular import Tabular

Metrics = dict[str, dict[str, dict[str, Any]]]

#: Folds of cross-validation, at most.
FOLDS = 10
#: Folds of the baselines of layers; NeuralPower's Lasso takes longer than ours, and its score need not be as fine.
_BASELINES = {"mean": FOLDS, "neuralpower": 5}


@dataclass(frozen=True, eq=False)
class TrainingResult(Tabular):
    """What training made.

    Attributes:
        predictors: The trained predictors.
        metrics: What `metrics.json` holds: for each kind and target the predictor's name, its scores in
            cross-validation (`cv`) and on the held-out networks (`test`), its intervals and their coverage
            (`interval`), and the scores of the baselines. Whole networks stand under `network`.
        notes: What was simplified, in words.
    """

    predictors: Predictors
    metrics: Metrics
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is trained on what."""

    training: TrainingData
    test: TrainingData
    predictor: str
    settings: Settings
    progress: Callable[[str], None] | None

    @property
    def has_fallback(self) -> bool:
        return self.predictor == DEFAULT_PREDICTOR

    @property
    def tables(self) -> dict[LayerKind, pl.DataFrame]:
        """The tables that this predictor is trained on."""
        kinds = tuple(LayerKind) if self.has_fallback else PREDICTED_KINDS
        return {kind: self.training.tables[kind] for kind in kinds if kind in self.training.tables}

    def new(self, kind: LayerKind, target: Target) -> Predictor:
        return new_predictor(self.predictor, kind, target, self.settings)

    def step(self, name: str) -> None:
        if self.progress:
            self.progress(name)


def train(
    training_dir: Path,
    predictors_dir: Path,
    *,
    holdout: Sequence[str] = (),
    predictor: str | None = None,
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
        predictor: One of `PREDICTOR_NAMES`; None for the default one, or NeuralPower's where its settings are given.
        settings: The predictor's settings where they are not the usual ones, for both targets.
        tune_degree: Let cross-validation choose the degree of NeuralPower's polynomials.
        progress: Called with the name of each kind and target before its turn.

    Raises:
        EdgewattError: A table is broken, a network to hold out is not there, none is left to train on, or no kind has
            enough rows.
    """
    data = read_training_data(training_dir)
    training, test = _divide(data, holdout, training_dir)
    if predictor is None:
        predictor = "neuralpower" if settings or tune_degree else DEFAULT_PREDICTOR
    plan = _Plan(training, test, predictor, _checked_settings(predictor, settings or {}, tune_degree), progress)
    stored, left_out, notes = _fit_all(plan)
    if not stored:
        raise EdgewattError(
            f"no kind of layer has the {MINIMUM_ROWS} rows that a predictor needs",
            where=training_dir,
            fix="Add networks, or hold fewer out",
        )
    cross = _cross(plan, predictor, FOLDS)
    fallback = _fit_fallbacks(plan)
    metrics, intervals = _layer_metrics(plan, cross, stored)
    baselines = {name: _cross(plan, name, folds) for name, folds in _BASELINES.items() if name != plan.predictor}
    # The mean stands beside itself too: readers need not ask which predictor it is.
    for name, one in {"mean": cross, **baselines}.items():
        _add_baseline(plan, name, one, metrics)
    calibration = _network_metrics(plan, {plan.predictor: cross, **baselines}, metrics)
    predictors = Predictors(
        by_purpose={
            purpose: replace(one, interval=intervals.get((purpose[0].value, purpose[1].value)))
            for purpose, one in stored.items()
        },
        networks=training.networks,
        holdout=test.networks,
        idle_power_w=training.idle_power_w(),
        methods=training.distinct("method"),
        precisions=training.distinct("precision"),
        left_out=left_out,
        fallback=fallback,
        energy_intervals={
            kind: factor for kind in LayerKind if (factor := intervals.get((kind.value, "energy"))) is not None
        },
        calibration=calibration,
        runs=training.runs(),
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
    # A setting that does not exist is told before anything is fitted.
    new_predictor(predictor, LayerKind.CONVOLUTIONAL, Target.POWER, settings)
    if not tune_degree:
        return settings
    if predictor != "neuralpower":
        raise EdgewattError(f"the predictor {predictor} has no degree to tune", fix="Leave --tune-degree out")
    if "degree" in settings:
        raise EdgewattError("a degree is either given or tuned", fix="Leave one of the two out")
    return {**settings, "degree": DEGREES}


def _fit_all(
    plan: _Plan,
) -> tuple[dict[tuple[LayerKind, Target], StoredPredictor], dict[str, str], list[str]]:
    """The predictor of each kind and target, why some have none, and what was simplified."""
    stored: dict[tuple[LayerKind, Target], StoredPredictor] = {}
    left_out: dict[str, str] = {}
    notes = []
    for kind in PREDICTED_KINDS if not plan.has_fallback else LayerKind:
        for target in Target:
            purpose = f"{kind} {target}"
            table = plan.tables.get(kind)
            rows = 0 if table is None else len(measured_rows(table, target)[0])
            if kind is LayerKind.OTHER and rows == 0:
                continue
            if table is None or rows < MINIMUM_ROWS:
                left_out[purpose] = f"{rows} layers, fewer than {MINIMUM_ROWS}"
                continue
            plan.step(purpose)
            fitted, one = _fit(plan, kind, target, table)
            stored[kind, target] = one
            if fitted.note_:
                notes.append(f"{purpose}: {fitted.note_}")
    return stored, left_out, notes


def _fit(plan: _Plan, kind: LayerKind, target: Target, table: pl.DataFrame) -> tuple[Predictor, StoredPredictor]:
    rows, y = measured_rows(table, target)
    measured = table[rows]
    networks = measured[NETWORK].to_numpy().astype(np.str_)
    fitted = plan.new(kind, target)
    fit_predictor(fitted, measured, y, networks, plan.tables)
    settings = {key: value for key, value in fitted.get_params().items() if key not in ("kind", "target")}
    columns = feature_columns(kind, measured)
    one = StoredPredictor(
        function=fitted.function_,
        name=plan.predictor,
        target=target,
        settings=settings,
        rows=len(y),
        networks=tuple(sorted(set(networks.tolist()))),
        feature_ranges={key: (float(values.min()), float(values.max())) for key, values in columns.items()},
        target_range=(float(y.min()), float(y.max())),
    )
    return fitted, one


def _fit_fallbacks(plan: _Plan) -> dict[Target, StoredPredictor]:
    """The predictors of all kinds together; none beside NeuralPower's, which has none."""
    fallback: dict[Target, StoredPredictor] = {}
    if not plan.has_fallback:
        return fallback
    for target in Target:
        plan.step(f"fallback {target}")
        function = fit_fallback(plan.tables, target)
        if function is None:
            continue
        y = np.concatenate([measured_rows(table, target)[1] for table in plan.tables.values()])
        fallback[target] = StoredPredictor(
            function=function,
            name=plan.predictor,
            target=target,
            settings={"trees": TREES},
            rows=len(y),
            networks=plan.training.networks,
            feature_ranges={},
            target_range=(float(y.min()), float(y.max())),
            interval=fallback_interval(plan.tables, target),
        )
    return fallback


def _cross(plan: _Plan, predictor: str, most_folds: int) -> CrossPrediction:
    """Predictions out of folds of one of the predictors, named in the progress where it is a baseline."""
    own = predictor == plan.predictor
    tables = plan.tables if predictor == DEFAULT_PREDICTOR else _without_other(plan.tables)
    return cross_predict(
        tables,
        network_folds(plan.training.tables, most_folds),
        plan.new if own else lambda kind, target: new_predictor(predictor, kind, target),
        with_fallback=predictor == DEFAULT_PREDICTOR,
        progress=None if not plan.progress else lambda name: plan.step(name if own else f"{predictor}: {name}"),
    )


def _without_other(tables: Mapping[LayerKind, pl.DataFrame]) -> dict[LayerKind, pl.DataFrame]:
    return {kind: table for kind, table in tables.items() if kind in PREDICTED_KINDS}


def _layer_metrics(
    plan: _Plan, cross: CrossPrediction, stored: Mapping[tuple[LayerKind, Target], StoredPredictor]
) -> tuple[Metrics, dict[tuple[str, str], float]]:
    """The entries of each kind and target, and the factors of intervals, of energies too."""
    metrics: Metrics = {}
    intervals: dict[tuple[str, str], float] = {}
    for (kind, target), one in stored.items():
        entry = {
            "predictor": plan.predictor,
            "cv": layer_scores(plan.training, cross, kind, target),
            "test": _test_scores(one, plan.test, kind, target),
            "baselines": {},
        }
        factor, coverage = layer_interval(plan.training, cross, kind, target)
        entry["interval"] = interval_entry(factor, coverage)
        if factor is not None:
            intervals[kind.value, target.value] = factor
        metrics.setdefault(kind.value, {})[target.value] = entry
    for kind in {kind for kind, _ in stored}:
        if all((kind, target) in stored for target in Target):
            factor, _ = energy_interval(plan.training, cross, kind)
            if factor is not None:
                intervals[kind.value, "energy"] = factor
    return metrics, intervals


def _add_baseline(plan: _Plan, name: str, cross: CrossPrediction, metrics: Metrics) -> None:
    """Score a baseline on the same kinds and targets."""
    for kind_name, targets in metrics.items():
        kind = LayerKind(kind_name)
        for target_name, entry in targets.items():
            target = Target(target_name)
            if (kind, target) not in cross.estimates:
                continue
            entry["baselines"][name] = {
                "cv": layer_scores(plan.training, cross, kind, target),
                "test": _baseline_test_scores(plan, name, kind, target),
            }


def _baseline_test_scores(plan: _Plan, name: str, kind: LayerKind, target: Target) -> Mapping[str, Any] | None:
    if plan.test.tables.get(kind) is None:
        return None
    _, one = _fit(replace(plan, predictor=name, settings={}), kind, target, plan.tables[kind])
    return _test_scores(one, plan.test, kind, target)


def _test_scores(one: StoredPredictor, test: TrainingData, kind: LayerKind, target: Target) -> Mapping[str, Any] | None:
    table = test.tables.get(kind)
    if table is None:
        return None
    rows, y = measured_rows(table, target)
    if len(y) == 0:
        return None
    return asdict(scores(y, one.function.predict(table[rows]), table[NETWORK].to_numpy()[rows]))


def _network_metrics(
    plan: _Plan, crossed: Mapping[str, CrossPrediction], metrics: Metrics
) -> NetworkCalibration | None:
    """Score whole networks, add their entries, and calibrate."""
    networks = measured_networks(plan.training)
    if len(networks.names) < 2:
        return None
    sums = {name: network_sums(plan.training, cross, networks) for name, cross in crossed.items()}
    ways = {
        **baseline_values(networks),
        **{
            name: calibrated_values(one, networks)
            for name, one in sums.items()
            if name != "mean" or name == plan.predictor
        },
    }
    metrics[NETWORKS_KEY] = network_entries(plan.predictor, networks, ways, "network")
    return calibrate(sums[plan.predictor], networks)
