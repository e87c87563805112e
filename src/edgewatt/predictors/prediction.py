"""What trained predictors say of a network: each layer, and the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
import polars as pl

from edgewatt.dataset.features import feature_frame, table_kind
from edgewatt.errors import EdgewattError, printable
from edgewatt.networks.layer import FREE_OPERATIONS, Layer, LayerKind
from edgewatt.predictors.board_features import BoardRates, with_board
from edgewatt.predictors.estimate import Estimate, KindFunction
from edgewatt.predictors.fleet_prediction import for_board
from edgewatt.predictors.folder import Predictors, load_predictors
from edgewatt.predictors.intervals import interval
from edgewatt.predictors.network_prediction import Interval, LayerPrediction, NetworkPrediction, Status
from edgewatt.predictors.predictions_file import write_predictions
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import feature_columns
from edgewatt.predictors.whole_network import whole_network

__all__ = ["LayerPrediction", "NetworkPrediction", "Status", "load_predictors", "predict", "write_predictions"]

#: A layer with a feature outside the training range has an interval as if predictors were so much less sure.
_OUTSIDE_WIDENING = 1.5


@dataclass(frozen=True, eq=False)
class _Answer:
    """What one predictor says of the layers of a kind."""

    estimate: Estimate
    interval: float | None
    is_fallback: bool

    def interval_at(self, row: int, widening: float) -> Interval | None:
        """The interval of a layer, in the target's unit."""
        if self.interval is None:
            return None
        return interval(float(self.estimate.value[row]), widening * float(self.estimate.spread[row]), self.interval)


def predict(layers: Sequence[Layer], predictors: Predictors, board: BoardRates | None = None) -> NetworkPrediction:
    """Predict a network.

    Args:
        layers: Its layers, in execution order.
        predictors: What `train` made; `load_predictors` reads them.
        board: The board that is meant, where boards are features of the predictors; `meant_board` finds it.

    Raises:
        EdgewattError: A prediction is not finite, or predictors of several boards are not told which is meant.
    """
    predictors = for_board(predictors, board)
    result: list[LayerPrediction | None] = [None] * len(layers)
    kinds = [None if layer.operation in FREE_OPERATIONS else table_kind(layer) for layer in layers]
    for index, layer in enumerate(layers):
        if kinds[index] is None:
            result[index] = LayerPrediction(layer, LayerKind.OTHER, Status.FREE, 0.0, 0.0)
    for kind in LayerKind:
        chosen = [index for index, other in enumerate(kinds) if other is kind]
        predicted = _predict_kind(kind, [layers[index] for index in chosen], predictors, board)
        for index, layer_prediction in zip(chosen, predicted, strict=True):
            result[index] = layer_prediction
    found = tuple(layer for layer in result if layer is not None)
    return NetworkPrediction(found, predictors.idle_power_w, whole_network(found, predictors))


def _predict_kind(
    kind: LayerKind, layers: Sequence[Layer], predictors: Predictors, board: BoardRates | None
) -> list[LayerPrediction]:
    if not layers:
        return []
    table = feature_frame(kind, layers)
    if board is not None and predictors.boards:
        table = with_board(table, [board])
    power, runtime = (_answer(kind, target, table, predictors) for target in (Target.POWER, Target.RUNTIME))
    trained_on = predictors.get(kind, Target.RUNTIME) or predictors.get(kind, Target.POWER)
    outside = [()] * len(layers) if trained_on is None else _outside(trained_on, table, predictors.precisions)
    energy_factor = predictors.energy_intervals.get(kind)
    return [
        _layer_prediction(layer, kind, row, power, runtime, outside[row], energy_factor)
        for row, layer in enumerate(layers)
    ]


def _answer(kind: LayerKind, target: Target, table: pl.DataFrame, predictors: Predictors) -> _Answer | None:
    stored, fallback = predictors.get(kind, target), predictors.fallback.get(target)
    if stored is not None:
        found = _Answer(stored.function.estimate(table), stored.interval, False)
    elif fallback is not None and isinstance(fallback.function, KindFunction):
        found = _Answer(fallback.function.estimate_kind(kind, table), fallback.interval, True)
    else:
        return None
    wrong = np.flatnonzero(~np.isfinite(found.estimate.value))
    if len(wrong):
        raise EdgewattError(
            f"the {target} of {kind} layers is predicted as {found.estimate.value[wrong[0]]}",
            where=f"layer {printable(table['layer_name'][int(wrong[0])])!r}",
            fix="Train the predictors again",
        )
    return found


def _layer_prediction(
    layer: Layer,
    kind: LayerKind,
    row: int,
    power: _Answer | None,
    runtime: _Answer | None,
    outside: tuple[str, ...],
    energy_factor: float | None,
) -> LayerPrediction:
    answers = [answer for answer in (power, runtime) if answer is not None]
    widening = _OUTSIDE_WIDENING if outside else 1.0
    power_w = None if power is None else float(power.estimate.value[row])
    runtime_s = None if runtime is None else float(runtime.estimate.value[row]) * 1e-3
    runtime_ms = None if runtime is None else runtime.interval_at(row, widening)
    return LayerPrediction(
        layer=layer,
        kind=kind,
        status=_status(answers),
        power_w=power_w,
        runtime_s=runtime_s,
        outside=outside,
        power_interval_w=None if power is None else power.interval_at(row, widening),
        runtime_interval_s=None if runtime_ms is None else Interval(runtime_ms.low * 1e-3, runtime_ms.high * 1e-3),
        energy_interval_j=_energy_interval(row, power, runtime, widening, energy_factor),
        distant=any(bool(answer.estimate.distant[row]) for answer in answers),
    )


def _status(answers: Sequence[_Answer]) -> Status:
    if len(answers) < 2:
        return Status.UNCOVERED
    return Status.FALLBACK if any(answer.is_fallback for answer in answers) else Status.PREDICTED


def _energy_interval(
    row: int, power: _Answer | None, runtime: _Answer | None, widening: float, factor: float | None
) -> Interval | None:
    """The energy's own interval; where it has none, as if power and runtime were off in the same direction."""
    if power is None or runtime is None:
        return None
    if factor is not None and not (power.is_fallback or runtime.is_fallback):
        value, spread = (
            float(power.estimate.value[row]) * float(runtime.estimate.value[row]) * 1e-3,
            hypot(float(power.estimate.spread[row]), float(runtime.estimate.spread[row])),
        )
        return interval(value, widening * spread, factor)
    of_power, of_runtime = power.interval_at(row, widening), runtime.interval_at(row, widening)
    if of_power is None or of_runtime is None:
        return None
    return Interval(of_power.low * of_runtime.low * 1e-3, of_power.high * of_runtime.high * 1e-3)


def _outside(stored: StoredPredictor, table: pl.DataFrame, precisions: Sequence[str]) -> list[tuple[str, ...]]:
    """For each row the features that lie outside the range of the training."""
    assert stored.kind is not None
    columns = feature_columns(stored.kind, table)
    ranges = {name: ends for name, ends in stored.feature_ranges.items() if name in columns}
    beyond = {name: (columns[name] < low) | (columns[name] > high) for name, (low, high) in ranges.items()}
    if precisions:
        beyond["precision"] = ~table["precision"].is_in(list(precisions)).to_numpy()
    return [tuple(name for name, flags in beyond.items() if flags[row]) for row in range(table.height)]
