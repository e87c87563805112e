"""What is predicted of a network: each layer, the sums over layers, and the network as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.tabular import Tabular


class Status(str, Enum):
    """How a layer's prediction came about."""

    PREDICTED = "predicted"
    #: By the predictor of all kinds together, for its own kind has none.
    FALLBACK = "fallback"
    #: By a model of the board that no measurement of this board was fitted to.
    PRIOR = "prior"
    #: It is not executed and takes no time.
    FREE = "free"
    #: No predictor covers it, or only one of its power and runtime.
    UNCOVERED = "uncovered"


class Interval(NamedTuple):
    """Where the true value lies with 90 % confidence, in the unit of what it belongs to.

    Attributes:
        low: Lower end.
        high: Upper end.
    """

    low: float
    high: float


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
        power_interval_w: Interval of the power; None where the predictors have none.
        runtime_interval_s: Interval of the runtime.
        energy_interval_j: Interval of the energy.
        distant: Whether it is far from every layer trained on, though no single feature need be outside.
    """

    layer: Layer
    kind: LayerKind
    status: Status
    power_w: float | None
    runtime_s: float | None
    outside: tuple[str, ...] = ()
    power_interval_w: Interval | None = None
    runtime_interval_s: Interval | None = None
    energy_interval_j: Interval | None = None
    distant: bool = False

    @property
    def energy_j(self) -> float | None:
        """Energy above idle of one cycle."""
        if self.power_w is None or self.runtime_s is None:
            return None
        return self.power_w * self.runtime_s

    @property
    def covered(self) -> bool:
        """Whether it is executed and both its power and runtime are predicted."""
        return self.status in (Status.PREDICTED, Status.FALLBACK, Status.PRIOR)

    @property
    def extrapolated(self) -> bool:
        """Whether it is unlike the layers trained on, so that its prediction is less sure."""
        return self.distant or bool(self.outside)


@dataclass(frozen=True)
class WholeNetwork:
    """A network as a whole, idle power and the time between layers included.

    Attributes:
        runtime_s: Runtime of one cycle.
        energy_j: Energy of one cycle, idle included; None where the idle power is not known.
        calibrated_on: Number of measured networks that it was calibrated on; 0 for plain sums over layers.
        runtime_interval_s: Interval of the runtime; None where too few measured networks are known.
        energy_interval_j: Interval of the energy.
        power_interval_w: Interval of the mean power.
    """

    runtime_s: float
    energy_j: float | None
    calibrated_on: int = 0
    runtime_interval_s: Interval | None = None
    energy_interval_j: Interval | None = None
    power_interval_w: Interval | None = None

    @property
    def power_w(self) -> float | None:
        """Mean power of one cycle, idle included; None where it is not known."""
        return None if self.energy_j is None or self.runtime_s <= 0.0 else self.energy_j / self.runtime_s


@dataclass(frozen=True)
class NetworkPrediction(Tabular):
    """A network's layers and totals; the totals are of the layers that are covered, see the shares of the rest.

    Attributes:
        layers: Its layers, in execution order.
        idle_power_w: Idle power of the board; None where it is not known.
        whole: The network as a whole, calibrated on measured networks; None where there is no calibration, and the
            sums over layers are all that is known.
    """

    layers: tuple[LayerPrediction, ...]
    idle_power_w: float | None = None
    whole: WholeNetwork | None = None

    @property
    def runtime_s(self) -> float:
        """Sum of the runtimes of covered layers; where no power is predicted, of all layers whose runtime is."""
        return sum(layer.runtime_s or 0.0 for layer in (self._covered if self._knows_power else self.layers))

    @property
    def energy_above_idle_j(self) -> float | None:
        """Sum of the energies above idle of covered layers; None where no power is predicted."""
        return sum(layer.energy_j or 0.0 for layer in self._covered) if self._knows_power else None

    @property
    def energy_including_idle_j(self) -> float | None:
        """The same with the idle power over the runtime; None where the idle power is not known."""
        above = self.energy_above_idle_j
        return None if above is None or self.idle_power_w is None else above + self.idle_power_w * self.runtime_s

    @property
    def power_above_idle_w(self) -> float | None:
        """Mean power above idle, weighted by time; None where no time is predicted."""
        above = self.energy_above_idle_j
        return None if above is None or self.runtime_s <= 0.0 else above / self.runtime_s

    @property
    def power_including_idle_w(self) -> float | None:
        """Mean power with idle, weighted by time; None where it is not known."""
        above = self.power_above_idle_w
        return None if above is None or self.idle_power_w is None else above + self.idle_power_w

    @property
    def predicted_layers(self) -> int:
        """Number of layers whose power and runtime are predicted by predictors of their kind."""
        return self.count(Status.PREDICTED)

    @property
    def free_layers(self) -> int:
        """Number of layers that are not executed."""
        return self.count(Status.FREE)

    @property
    def fallback_layers(self) -> int:
        """Number of layers that the predictor of all kinds together stands in for."""
        return self.count(Status.FALLBACK)

    @property
    def prior_layers(self) -> int:
        """Number of layers that a board's prior predicts."""
        return self.count(Status.PRIOR)

    @property
    def uncovered_layers(self) -> int:
        """Number of layers that no predictor covers."""
        return self.count(Status.UNCOVERED)

    @property
    def extrapolated_layers(self) -> int:
        """Number of executed layers that are unlike those trained on."""
        return sum(layer.extrapolated and layer.status is not Status.FREE for layer in self.layers)

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

    def count(self, status: Status) -> int:
        """Number of layers of a status."""
        return sum(layer.status is status for layer in self.layers)

    @property
    def _knows_power(self) -> bool:
        """Whether a power is predicted of any layer, or none is executed."""
        executed = [layer for layer in self.layers if layer.status is not Status.FREE]
        return not executed or any(layer.power_w is not None for layer in executed)

    @property
    def _covered(self) -> list[LayerPrediction]:
        return [layer for layer in self.layers if layer.covered]

    def _share(self, amounts: Sequence[int]) -> float:
        executed = [
            (layer.status is Status.UNCOVERED, amount)
            for layer, amount in zip(self.layers, amounts, strict=True)
            if layer.status is not Status.FREE
        ]
        total = sum(amount for _, amount in executed)
        return sum(amount for uncovered, amount in executed if uncovered) / total if total else 0.0
