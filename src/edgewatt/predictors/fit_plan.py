"""The predictors of all kinds and targets, fitted as a plan says."""

from __future__ import annotations

import numpy as np
import polars as pl

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import measured_rows
from edgewatt.predictors.fallback import TREES, fallback_interval, fit_fallback
from edgewatt.predictors.folder import PREDICTED_KINDS
from edgewatt.predictors.neuralpower import MINIMUM_ROWS
from edgewatt.predictors.registry import Predictor, fit_predictor
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import feature_columns
from edgewatt.predictors.training_data import NETWORK
from edgewatt.predictors.training_plan import TrainingPlan
from edgewatt.wording import counted


def fit_all(
    plan: TrainingPlan,
) -> tuple[dict[tuple[LayerKind, Target], StoredPredictor], dict[str, str], list[str]]:
    """Fit the predictor of each kind and target.

    Args:
        plan: What is trained.

    Returns:
        The predictors as they are stored; for each kind and target without one why it has none; and what was
        simplified, in words.
    """
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
                left_out[purpose] = f"{counted(rows, 'layer')}, fewer than {MINIMUM_ROWS}"
                continue
            plan.step(purpose)
            fitted, one = fit_one(plan, kind, target, table)
            stored[kind, target] = one
            if fitted.note_:
                notes.append(f"{purpose}: {fitted.note_}")
    return stored, left_out, notes


def fit_one(
    plan: TrainingPlan, kind: LayerKind, target: Target, table: pl.DataFrame
) -> tuple[Predictor, StoredPredictor]:
    """Fit the predictor of a kind and target.

    Args:
        plan: What is trained.
        kind: The kind of layer.
        target: What is predicted.
        table: The kind's table, with at least `MINIMUM_ROWS` rows that have the target.

    Returns:
        The fitted predictor, and it as it is stored, without an interval.
    """
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


def fit_fallbacks(plan: TrainingPlan) -> dict[Target, StoredPredictor]:
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
