"""How good one predictor of several boards is on each of them, beside predictors of that board alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.conditions import Condition
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.cross_prediction import CrossPrediction, MakePredictor, cross_predict, measured_rows
from edgewatt.predictors.fleet_data import networks_by_condition
from edgewatt.predictors.folds import network_folds
from edgewatt.predictors.measured_networks import Values, measured_networks
from edgewatt.predictors.network_scores import calibrated_values, network_sums
from edgewatt.predictors.scoring import energy_interval, layer_interval
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training_data import NETWORK, TrainingData

#: The key of these scores in `metrics.json`, beside the kinds of layer.
FLEET_KEY = "boards"

#: Ways of predicting a network on a board; what each has seen of them.
OWN_BOARD = "this board"
ALL_BOARDS = "all boards"
OTHER_BOARDS = "other boards"


@dataclass(frozen=True)
class BoardScore:
    """Mean absolute relative errors on one board, fractions; None where nothing was measured.

    Attributes:
        board: Board and power mode.
        way: What was trained on; the networks were never, but by `other boards`, which has seen them elsewhere.
        networks: Number of networks.
        layer_runtime: Of layers' runtimes.
        layer_power: Of layers' powers above idle.
        network_runtime: Of whole networks' runtimes.
        network_energy: Of their energies, idle power included.
    """

    board: str
    way: str
    networks: int
    layer_runtime: float | None
    layer_power: float | None
    network_runtime: float | None
    network_energy: float | None


def board_folds_prediction(
    data: TrainingData,
    new_predictor: MakePredictor,
    *,
    with_fallback: bool,
    progress: Callable[[str], None] | None = None,
) -> CrossPrediction:
    """Every layer predicted by a predictor of the other boards.

    Args:
        data: Training data of several boards.
        new_predictor: Makes an untrained predictor of a kind and target.
        with_fallback: As for `cross_predict`.
        progress: Called with each step's name before its turn.
    """
    groups = {name: str(data.condition(name)) for name in data.networks}
    folds = network_folds(data.tables, len(set(groups.values())), groups=groups, grouping="board")
    return cross_predict(data.tables, folds, new_predictor, with_fallback=with_fallback, progress=progress)


def fleet_scores(
    data: TrainingData,
    mixed: CrossPrediction,
    other_boards: CrossPrediction,
    new_predictor: MakePredictor,
    most_folds: int,
    *,
    with_fallback: bool,
    progress: Callable[[str], None] | None = None,
) -> list[BoardScore]:
    """Scores on each board, of three ways of predicting it.

    Args:
        data: Training data of several boards, with their figures.
        mixed: Every layer predicted by predictors of all boards that have not seen its network.
        other_boards: As `board_folds_prediction` makes it.
        new_predictor: Makes an untrained predictor of a kind and target.
        most_folds: Folds of predictors of one board alone.
        with_fallback: As for `cross_predict`.
        progress: Called with each step's name before its turn.
    """
    found = []
    for condition, names in sorted(networks_by_condition(data).items()):
        own = data.of(names)
        alone = cross_predict(
            own.tables,
            network_folds(own.tables, most_folds),
            new_predictor,
            with_fallback=with_fallback,
            progress=_step(progress, condition),
        )
        found += [
            board_score(own, alone, str(condition), OWN_BOARD, names, own),
            board_score(data, mixed, str(condition), ALL_BOARDS, names, own),
            board_score(data, other_boards, str(condition), OTHER_BOARDS, names, own, by_board=True),
        ]
    return found


def _step(progress: Callable[[str], None] | None, board: Condition) -> Callable[[str], None] | None:
    return None if progress is None else lambda step: progress(f"{board} alone: {step}")


def board_score(
    data: TrainingData,
    cross: CrossPrediction,
    board: str,
    way: str,
    names: Sequence[str],
    own: TrainingData,
    *,
    by_board: bool = False,
) -> BoardScore:
    """The score on one board's runs.

    Args:
        data: What `cross` predicted.
        cross: Its predictions.
        board: Name of the board, to show.
        way: What was trained on, to show.
        names: The board's runs.
        own: Their training data alone.
        by_board: Calibrate networks on those of other boards, instead of on other networks.
    """
    runtime, power = (_layer_error(data, cross, target, names) for target in (Target.RUNTIME, Target.POWER))
    network = _network_errors(data, cross, names, by_board)
    return BoardScore(board, way, len(own.networks), runtime, power, network.get("runtime"), network.get("energy"))


def new_board_intervals(data: TrainingData, other_boards: CrossPrediction) -> dict[str, float]:
    """Factors of the intervals on a board that was not trained on: `convolutional power` and the like.

    Args:
        data: Training data of several boards.
        other_boards: As `board_folds_prediction` makes it.
    """
    found: dict[str, float] = {}
    for kind in {kind for kind, _ in other_boards.estimates}:
        factors = {target.value: layer_interval(data, other_boards, kind, target)[0] for target in Target}
        factors["energy"] = energy_interval(data, other_boards, kind)[0]
        found |= {f"{kind} {name}": factor for name, factor in factors.items() if factor is not None}
    return dict(sorted(found.items()))


def _layer_error(data: TrainingData, cross: CrossPrediction, target: Target, names: Sequence[str]) -> float | None:
    """Mean over the layers of all kinds."""
    parts = []
    for kind, table in data.tables.items():
        if (kind, target) not in cross.estimates:
            continue
        rows, y = measured_rows(table, target)
        value = cross.estimates[kind, target].value[rows]
        known = np.isfinite(value) & (y != 0.0) & _is_of(data, kind, names)[rows]
        parts.append(np.abs(value[known] / y[known] - 1.0))
    errors = np.concatenate(parts) if parts else np.zeros(0)
    return float(errors.mean()) if len(errors) else None


def _is_of(data: TrainingData, kind: LayerKind, names: Sequence[str]) -> NDArray[np.bool_]:
    is_of: NDArray[np.bool_] = data.tables[kind][NETWORK].is_in(list(names)).to_numpy()
    return is_of


def _network_errors(
    data: TrainingData, cross: CrossPrediction, names: Sequence[str], by_board: bool
) -> Mapping[str, float]:
    networks = measured_networks(data)
    groups = None
    if by_board:
        conditions = [str(data.condition(name)) for name in networks.names]
        groups = np.unique(conditions, return_inverse=True)[1].astype(np.int64)
    true = networks.values()
    predicted: Values = calibrated_values(network_sums(data, cross, networks), networks, groups)
    chosen = np.isin(networks.names, list(names))
    found = {}
    for target in ("runtime", "energy"):
        errors = np.abs(predicted[target][chosen] / true[target][chosen] - 1.0)
        errors = errors[np.isfinite(errors)]
        if len(errors):
            found[target] = float(errors.mean())
    return found
