"""Adapting trained predictors to another board or power mode with a few networks or layers that were measured there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgewatt.errors import EdgewattError
from edgewatt.formats.run_folders import network_of
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.card import training_card
from edgewatt.predictors.corrected import with_corrections
from edgewatt.predictors.cross_prediction import CrossPrediction, cross_predict, measured_rows
from edgewatt.predictors.fit_plan import fit_all, fit_fallbacks
from edgewatt.predictors.fleet_data import FleetChoice, fleet_training_data
from edgewatt.predictors.folder import Predictors, load_predictors, write_predictors
from edgewatt.predictors.intervals import conformal_factor, log_errors
from edgewatt.predictors.measured_networks import MeasuredNetworks, Values, measured_networks
from edgewatt.predictors.network_scores import baseline_values, calibrate, calibrated_values, network_sums
from edgewatt.predictors.registry import DEFAULT_PREDICTOR
from edgewatt.predictors.scoring import NETWORKS_KEY, layer_scores, network_entries
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training import TrainingResult
from edgewatt.predictors.training_data import TrainingData
from edgewatt.predictors.training_metrics import Metrics, layer_metrics
from edgewatt.predictors.training_plan import TrainingPlan, divide
from edgewatt.predictors.transfer import (
    SourceEstimates,
    check_source,
    cross_adapted,
    cross_prediction,
    fitted,
    source_estimates,
    target_folds,
)
from edgewatt.predictors.transfer_networks import adapted_networks, predicted_networks
from edgewatt.predictors.transfer_note import ADAPTED, ALONE, AS_IT_IS, TRANSFER_KEY, TransferNote, WayScore, way_score
from edgewatt.wording import counted

#: What is known of a recording that names a board's state.
_STATE = ("board", "power_mode")
_UNKNOWN = "a board that is not known"


@dataclass(frozen=True, eq=False)
class AdaptedResult(TrainingResult):
    """What adapting made: what training makes, and what the few bought.

    Attributes:
        transfer: What was adapted to what, and the scores of all ways.
    """

    transfer: TransferNote | None = None


@dataclass(frozen=True, eq=False)
class _Target:
    """The target's layers as all ways predict them, each without its group.

    Attributes:
        estimates: What the source says, and what was measured.
        adapted: By corrections.
        alone: By predictors that were trained on the target alone.
        as_it_is: By the source.
    """

    estimates: Mapping[Target, SourceEstimates]
    adapted: CrossPrediction
    alone: CrossPrediction
    as_it_is: CrossPrediction


def adapt(
    training_dir: Path,
    predictors_dir: Path,
    source_dir: Path,
    *,
    holdout: Sequence[str] = (),
    choice: FleetChoice | None = None,
    progress: Callable[[str], None] | None = None,
) -> AdaptedResult:
    """Adapt predictors of one board or power mode to another.

    Args:
        training_dir: Training tables of the few networks or layers that were measured on the target.
        predictors_dir: The folder to write; what an earlier training wrote there is replaced at the end.
        source_dir: Folder of the source's predictors.
        holdout: Networks of the target that are kept from adapting, and scored on.
        choice: Which of the tables' boards and power modes is meant.
        progress: Called with what is done, before its turn.

    Raises:
        EdgewattError: A table is broken, runs of several boards or power modes would be mixed, the source cannot be
            adapted, or nothing was measured that it predicts.
        FormatError: The source's predictors are missing or broken.
    """
    source = load_predictors(source_dir)
    if predictors_dir.resolve() == source_dir.resolve():
        raise EdgewattError(
            "the predictors would replace those that they are adapted from",
            where=predictors_dir,
            fix="Name another folder",
        )
    training, test = divide(fleet_training_data(training_dir, choice), holdout, training_dir)
    result = adapted(source, training, test, progress)
    assert result.transfer is not None
    card = training_card(result.predictors, result.metrics, result.notes) + result.transfer.card
    write_predictors(predictors_dir, result.predictors, {**result.metrics, TRANSFER_KEY: result.transfer.entry}, card)
    return result


def adapted(
    source: Predictors,
    training: TrainingData,
    test: TrainingData,
    progress: Callable[[str], None] | None = None,
) -> AdaptedResult:
    """Adapt predictors in memory; arguments and errors as for `adapt`.

    Args:
        source: The source's predictors.
        training: The few networks or layers.
        test: Networks that are held out.
        progress: As for `adapt`.
    """
    check_source(source)
    step = progress or (lambda _: None)
    plan = TrainingPlan(training, test, DEFAULT_PREDICTOR, {}, None)
    step("corrections")
    target = _target(source, plan, step)
    chosen = {name: fitted(one) for name, one in target.estimates.items()}
    stored = with_corrections(source, training, {name: corrections for name, (_, corrections) in chosen.items()})
    metrics, intervals = _layer_metrics(plan, target, stored)
    networks = measured_networks(training)
    sums = network_sums(training, target.adapted, networks)
    calibration, by_adapted, own = adapted_networks(sums, networks, source.calibration)
    ways = {
        ADAPTED: by_adapted,
        ALONE: calibrated_values(network_sums(training, target.alone, networks), networks),
        AS_IT_IS: predicted_networks(training, source)[1],
    }
    if len(networks.names) > 1:
        entries = network_entries(ADAPTED, networks, {**baseline_values(networks), **ways}, "network")
        metrics[NETWORKS_KEY] = entries
    predictors = replace(
        source,
        by_purpose={(kind, name): one for (kind, name), one in stored.items() if kind is not None},
        fallback={name: one for (kind, name), one in stored.items() if kind is None},
        networks=training.networks,
        holdout=test.networks,
        idle_power_w=_known(training.idle_power_w(), source.idle_power_w),
        methods=training.distinct("method"),
        precisions=training.distinct("precision"),
        energy_intervals={kind: factor for kind in LayerKind if (factor := intervals.get((kind.value, "energy")))},
        calibration=calibration,
        runs=training.runs(),
        edgewatt_version=Predictors.edgewatt_version,
    )
    step("what the few bought")
    scores, scored, protocol = _scores(plan, target, source, predictors, networks, ways)
    note = TransferNote(
        source=_state_of(source.runs),
        target=_state_of(training.runs()),
        source_networks=len(source.networks),
        networks=training.networks,
        layers=sum(table.height for table in training.tables.values()),
        strengths={name.value: strength if np.isfinite(strength) else None for name, (strength, _) in chosen.items()},
        own_calibration=own,
        scored_on=protocol,
        known_to_source=_known_to(source, scored),
        ways=scores,
    )
    notes = _notes(networks, calibration.intervals, source, training)
    return AdaptedResult(predictors, metrics, notes, training, target.adapted, transfer=note)


def _target(source: Predictors, plan: TrainingPlan, step: Callable[[str], None]) -> _Target:
    folds = target_folds(plan.training)
    estimates = {target: source_estimates(source, plan.training, folds, target) for target in Target}
    crossed = {target: cross_adapted(one) for target, one in estimates.items()}
    step("the few alone, for comparison")
    alone = cross_predict(plan.training.tables, folds, plan.new, with_fallback=True)
    return _Target(
        estimates,
        cross_prediction(estimates, crossed, folds),
        alone,
        cross_prediction(estimates, {target: one.estimate for target, one in estimates.items()}, folds),
    )


def _layer_metrics(
    plan: TrainingPlan, target: _Target, stored: dict[tuple[LayerKind | None, Target], StoredPredictor]
) -> tuple[Metrics, dict[tuple[str, str], float]]:
    """Scores of layers, and intervals made anew, which `stored` is given too.

    A kind with too few layers for an interval of its own has that of all kinds together.
    """
    scored = {
        (kind, name): one
        for (kind, name), one in stored.items()
        if kind is not None
        and kind in plan.training.tables
        and layer_scores(plan.training, target.adapted, kind, name) is not None
    }
    metrics, intervals = layer_metrics(plan, target.adapted, scored)
    for kind_name, targets in metrics.items():
        for target_name, entry in targets.items():
            entry["predictor"] = ADAPTED
            for way, cross in ((ALONE, target.alone), (AS_IT_IS, target.as_it_is)):
                own = layer_scores(plan.training, cross, LayerKind(kind_name), Target(target_name))
                entry["baselines"][way] = {"cv": own, "test": None}
    together = {name: _interval_of_all(plan.training, target.adapted, name) for name in Target}
    for (kind, name), one in stored.items():
        factor = None if kind is None else intervals.get((kind.value, name.value))
        stored[kind, name] = replace(one, interval=factor or together[name])
    return metrics, intervals


def _interval_of_all(data: TrainingData, cross: CrossPrediction, target: Target) -> float | None:
    scores = []
    for kind, table in data.tables.items():
        if (kind, target) in cross.estimates:
            rows, y = measured_rows(table, target)
            estimate = cross.estimates[kind, target].take(rows)
            known = np.isfinite(estimate.value)
            estimate = estimate.take(known)
            scores.append(np.abs(log_errors(y[known], estimate)) / estimate.spread)
    return conformal_factor(np.concatenate(scores)) if scores else None


def _scores(
    plan: TrainingPlan,
    target: _Target,
    source: Predictors,
    predictors: Predictors,
    networks: MeasuredNetworks,
    ways: Mapping[str, Values],
) -> tuple[dict[str, WayScore], tuple[str, ...], str]:
    """Scores of all ways, the networks that they are on, and how these were kept apart."""
    if not plan.test.networks:
        return {name: way_score(networks, values) for name, values in ways.items()}, networks.names, "left out"
    stored, _, _ = fit_all(plan)
    alone = Predictors(
        by_purpose=stored,
        networks=plan.training.networks,
        idle_power_w=plan.training.idle_power_w(),
        fallback=fit_fallbacks(plan),
        calibration=calibrate(network_sums(plan.training, target.alone, networks), networks),
    )
    found = {ADAPTED: predictors, ALONE: alone, AS_IT_IS: source}
    scores = {name: way_score(*predicted_networks(plan.test, one)) for name, one in found.items()}
    return scores, plan.test.networks, "held out"


def _known_to(source: Predictors, scored: Sequence[str]) -> tuple[str, ...]:
    known = {network_of(name) for name in source.networks}
    return tuple(name for name in scored if network_of(name) in known)


def _notes(
    networks: MeasuredNetworks, intervals: Mapping[str, float], source: Predictors, training: TrainingData
) -> tuple[str, ...]:
    notes = []
    if (state := _state_of(source.runs)) == _state_of(training.runs()) != _UNKNOWN:
        notes.append(
            f"source and tables are both of {state}: networks of one board and mode are better trained on together"
        )
    if not intervals:
        few = counted(len(networks.names), "measured one", ("is", "are"))
        notes.append(f"no intervals of whole networks: {few} too few to tell")
    if training.idle_power_w() is None:
        notes.append("the tables do not tell the target's idle power, so that of the source is taken")
    unknown = [
        str(kind) for kind in training.tables if source.get(kind, Target.RUNTIME) is None and not source.fallback
    ]
    return (*notes, *(f"{kind} layers are not predicted, for the source has no predictor of them" for kind in unknown))


def _state_of(runs: Mapping[str, tuple[str, ...]]) -> str:
    known = [", ".join(runs[key]) for key in _STATE if runs.get(key)]
    return ", ".join(known) if known else _UNKNOWN


def _known(first: float | None, second: float | None) -> float | None:
    return second if first is None else first
