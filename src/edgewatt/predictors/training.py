"""Training: from training tables to a folder of predictors with their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.formats.folders import refuse_same_folder
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.card import training_card
from edgewatt.predictors.cross_prediction import CrossPrediction
from edgewatt.predictors.fit_plan import fit_all, fit_fallbacks
from edgewatt.predictors.fleet_data import FleetChoice, check_board_features, fleet_training_data
from edgewatt.predictors.fleet_scores import FLEET_KEY, BoardScore
from edgewatt.predictors.folder import Predictors, write_predictors
from edgewatt.predictors.neuralpower import MINIMUM_ROWS
from edgewatt.predictors.registry import Settings
from edgewatt.predictors.training_data import TrainingData
from edgewatt.predictors.training_metrics import (
    Metrics,
    add_baseline,
    cross_predicted,
    fleet_metrics,
    layer_metrics,
    network_metrics,
)
from edgewatt.predictors.training_plan import TrainingPlan, checked_settings, divide, predictor_name
from edgewatt.predictors.tuning_note import TUNING_KEY, TuningNote
from edgewatt.tabular import Tabular

__all__ = ["FOLDS", "TrainingResult", "divide", "predictor_name", "train"]

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
        training: The tables that were trained on.
        cross: Every layer of them, predicted without its fold.
        boards: Scores on each board, where boards are features; `metrics.json` has them under `boards`.
    """

    predictors: Predictors
    metrics: Metrics
    notes: tuple[str, ...]
    training: TrainingData
    cross: CrossPrediction
    boards: tuple[BoardScore, ...] = ()


def train(
    training_dir: Path,
    predictors_dir: Path,
    *,
    holdout: Sequence[str] = (),
    predictor: str | None = None,
    settings: Settings | None = None,
    tune_degree: bool = False,
    tuning: TuningNote | None = None,
    choice: FleetChoice | None = None,
    progress: Callable[[str], None] | None = None,
) -> TrainingResult:
    """Train a power and a runtime predictor for each kind of layer, score them and write them.

    Power is trained in W above idle, runtime in ms. Layers without power are trained on for runtime alone.

    Args:
        training_dir: One folder of training tables a network.
        predictors_dir: The folder to write; what an earlier training wrote there is replaced at the end.
        holdout: Networks that are kept from training and from every choice, and scored on.
        predictor: One of `PREDICTOR_NAMES`; None for the default one, or NeuralPower's where its settings are given.
        settings: The predictor's settings where they are not the usual ones, for both targets; one named
            `power.degree`, say, is for that target alone.
        tune_degree: Let cross-validation choose the degree of NeuralPower's polynomials.
        tuning: What a search for these settings found, to be kept in `metrics.json` and the card.
        choice: Which boards and power modes, and whether boards' figures are features; without it all runs, which must
            then be of one board and power mode.
        progress: Called with the name of each kind and target before its turn.

    Raises:
        EdgewattError: A table is broken, a network to hold out is not there, none is left to train on, no kind has
            enough rows, or boards or power modes would be mixed unawares.
    """
    refuse_same_folder(training_dir, predictors_dir)
    predictor = predictor_name(predictor, settings, tune_degree=tune_degree)
    check_board_features(predictor, choice)
    data = fleet_training_data(training_dir, choice)
    training, test = divide(data, holdout, training_dir)
    plan = TrainingPlan(training, test, predictor, checked_settings(predictor, settings or {}, tune_degree), progress)
    stored, left_out, notes = fit_all(plan)
    if not stored:
        raise EdgewattError(
            f"no kind of layer has the {MINIMUM_ROWS} rows that a predictor needs",
            where=training_dir,
            fix="Add networks, or hold fewer out",
        )
    cross = cross_predicted(plan, predictor, FOLDS)
    fallback = fit_fallbacks(plan)
    metrics, intervals = layer_metrics(plan, cross, stored)
    baselines = {
        name: cross_predicted(plan, name, folds) for name, folds in _BASELINES.items() if name != plan.predictor
    }
    # The mean stands beside itself too: readers need not ask which predictor it is.
    for name, one in {"mean": cross, **baselines}.items():
        add_baseline(plan, name, one, metrics)
    calibration = network_metrics(plan, {plan.predictor: cross, **baselines}, metrics)
    boards, new_board = fleet_metrics(plan, cross, FOLDS)
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
        boards=training.boards,
        new_board_intervals=new_board,
    )
    card = training_card(predictors, metrics, notes, boards) + ("" if tuning is None else tuning.card)
    written = {
        **metrics,
        **({FLEET_KEY: [asdict(score) for score in boards]} if boards else {}),
        **({} if tuning is None else {TUNING_KEY: tuning.entry}),
    }
    write_predictors(predictors_dir, predictors, written, card)
    return TrainingResult(predictors, metrics, tuple(notes), training, cross, boards)
