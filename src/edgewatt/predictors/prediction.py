"""What trained predictors say of a network: each layer, and the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import polars as pl

from edgewatt.dataset.features import feature_frame, table_kind
from edgewatt.formats.csv_file import write_csv
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.folder import Predictors, load_predictors
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target
from edgewatt.predictors.terms import feature_columns

__all__ = ["LayerPrediction", "NetworkPrediction", "Status", "load_predictors", "predict", "write_predictions"]

#: Operations that a backend lists but does not execute.
FREE_OPERATIONS = frozenset({"noop", "shape_call", "constant"})


class Status(str, Enum):
    """How a layer's prediction came about."""

    PREDICTED = "predicted"
    #: It is not executed and takes no time.
    FREE = "free"
    #: No predictor covers it, or only one of its power and runtime.
    UNCOVERED = "uncovered"


@dataclass(frozen=True)
class LayerPrediction:
    """One layer's prediction; what no predictor covers is None.

    Attributes:
        layer: The layer.
        kind: The kind whose predictors it belongs to.
        status: How its prediction came about.
        power_w: Mean power above idle while it runs.
        runtime_s: How long it runs in one cycle.
        outside: Names of its features that lie outside the range of the training; `precision` where no layer was
            trained on in its precision.
    """

    layer: Layer
    kind: LayerKind
    status: Status
    power_w: float | None
    runtime_s: float | None
    outside: tuple[str, ...] = ()

    @property
    def energy_j(self) -> float | None:
        """Energy above idle of one cycle."""
        if self.power_w is None or self.runtime_s is None:
            return None
        return self.power_w * self.runtime_s


@dataclass(frozen=True)
class NetworkPrediction:
    """A network's layers and totals; the totals are of the layers that are covered, see the shares of the rest.

    Attributes:
        layers: Its layers, in execution order.
        idle_power_w: Idle power of the board; None where it is not known.
    """

    layers: tuple[LayerPrediction, ...]
    idle_power_w: float | None = None

    @property
    def runtime_s(self) -> float:
        """Sum of the runtimes of covered layers."""
        return sum(layer.runtime_s or 0.0 for layer in self._covered)

    @property
    def energy_above_idle_j(self) -> float:
        """Sum of the energies above idle of covered layers."""
        return sum(layer.energy_j or 0.0 for layer in self._covered)

    @property
    def energy_including_idle_j(self) -> float | None:
        """The same with the idle power over the runtime; None where the idle power is not known."""
        if self.idle_power_w is None:
            return None
        return self.energy_above_idle_j + self.idle_power_w * self.runtime_s

    @property
    def power_above_idle_w(self) -> float | None:
        """Mean power above idle, weighted by time; None where no time is predicted."""
        return self.energy_above_idle_j / self.runtime_s if self.runtime_s > 0.0 else None

    @property
    def power_including_idle_w(self) -> float | None:
        """Mean power with idle, weighted by time; None where it is not known."""
        above = self.power_above_idle_w
        return None if above is None or self.idle_power_w is None else above + self.idle_power_w

    @property
    def predicted_layers(self) -> int:
        """Number of layers whose power and runtime are predicted."""
        return self._count(Status.PREDICTED)

    @property
    def free_layers(self) -> int:
        """Number of layers that are not executed."""
        return self._count(Status.FREE)

    @property
    def uncovered_layers(self) -> int:
        """Number of layers that no predictor covers."""
        return self._count(Status.UNCOVERED)

    @property
    def uncovered_share(self) -> float:
        """Share of the executed layers that no predictor covers."""
        return self._share([1] * len(self.layers))

    @property
    def uncovered_macs_share(self) -> float:
        """Share of the executed layers' multiply-accumulates that no predictor covers."""
        return self._share([layer.layer.macs for layer in self.layers])

    @property
    def uncovered_bytes_share(self) -> float:
        """Share of the executed layers' bytes that no predictor covers."""
        return self._share([layer.layer.total_bytes for layer in self.layers])

    @property
    def _covered(self) -> list[LayerPrediction]:
        return [layer for layer in self.layers if layer.status is Status.PREDICTED]

    def _count(self, status: Status) -> int:
        return sum(layer.status is status for layer in self.layers)

    def _share(self, amounts: Sequence[int]) -> float:
        executed = [
            (layer.status is Status.UNCOVERED, amount)
            for layer, amount in zip(self.layers, amounts, strict=True)
            if layer.status is not Status.FREE
        ]
        total = sum(amount for _, amount in executed)
        return sum(amount for uncovered, amount in executed if uncovered) / total if total else 0.0


def predict(layers: Sequence[Layer], predictors: Predictors) -> NetworkPrediction:
    """Predict a network.

    Args:
        layers: Its layers, in execution order.
        predictors: What `train` made; `load_predictors` reads them.
    """
    result: list[LayerPrediction | None] = [None] * len(layers)
    kinds = [None if layer.operation in FREE_OPERATIONS else table_kind(layer) for layer in layers]
    for index, layer in enumerate(layers):
        if kinds[index] is None:
            result[index] = LayerPrediction(layer, LayerKind.OTHER, Status.FREE, 0.0, 0.0)
    for kind in LayerKind:
        chosen = [index for index, other in enumerate(kinds) if other is kind]
        predicted = _predict_kind(kind, [layers[index] for index in chosen], predictors)
        for index, layer_prediction in zip(chosen, predicted, strict=True):
            result[index] = layer_prediction
    return NetworkPrediction(tuple(layer for layer in result if layer is not None), predictors.idle_power_w)


def _predict_kind(kind: LayerKind, layers: Sequence[Layer], predictors: Predictors) -> list[LayerPrediction]:
    if not layers:
        return []
    table = feature_frame(kind, layers)
    power, runtime = predictors.get(kind, Target.POWER), predictors.get(kind, Target.RUNTIME)
    power_w = _values(power, table)
    runtime_ms = _values(runtime, table)
    status = Status.UNCOVERED if power is None or runtime is None else Status.PREDICTED
    trained_on = runtime or power
    outside = [()] * len(layers) if trained_on is None else _outside(trained_on, table, predictors.precisions)
    return [
        LayerPrediction(
            layer=layer,
            kind=kind,
            status=status,
            power_w=power_w[index],
            runtime_s=None if (ms := runtime_ms[index]) is None else ms * 1e-3,
            outside=outside[index],
        )
        for index, layer in enumerate(layers)
    ]


def _values(stored: StoredPredictor | None, table: pl.DataFrame) -> list[float] | list[None]:
    return [None] * table.height if stored is None else stored.polynomial.predict(table).tolist()


def _outside(stored: StoredPredictor, table: pl.DataFrame, precisions: Sequence[str]) -> list[tuple[str, ...]]:
    """For each row the features that lie outside the range of the training."""
    columns = feature_columns(stored.kind, table)
    ranges = {name: ends for name, ends in stored.feature_ranges.items() if name in columns}
    beyond = {name: (columns[name] < low) | (columns[name] > high) for name, (low, high) in ranges.items()}
    if precisions:
        beyond["precision"] = ~table["precision"].is_in(list(precisions)).to_numpy()
    return [tuple(name for name, flags in beyond.items() if flags[row]) for row in range(table.height)]


def predictions_frame(prediction: NetworkPrediction) -> pl.DataFrame:
    """The prediction as the table of `predictions.csv`, one row a layer in execution order."""
    layers = prediction.layers
    floats = {
        "power_prediction (W)": [layer.power_w for layer in layers],
        "runtime_prediction (ms)": [_times(layer.runtime_s, 1e3) for layer in layers],
        "energy_prediction (mJ)": [_times(layer.energy_j, 1e3) for layer in layers],
    }
    return pl.DataFrame(
        {
            "layer_name": [layer.layer.name for layer in layers],
            "layer_type": [layer.kind.value for layer in layers],
            **floats,
        },
        schema={"layer_name": pl.String, "layer_type": pl.String, **dict.fromkeys(floats, pl.Float64)},
    )


def write_predictions(path: Path, prediction: NetworkPrediction) -> None:
    """Write `predictions.csv`, whole or not at all; what is not predicted is an empty field."""
    write_csv(path, predictions_frame(prediction))


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
