"""What is known of a network on a board: its layers, its totals, and how far to trust them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.results.estimate import Estimate, added
from edgewatt.tabular import Tabular


class Source(str, Enum):
    """What a result was read from."""

    RECORDING = "recording"
    MAPPED = "mapped recording"
    PREDICTION = "prediction"

    def __str__(self) -> str:
        return self.value


class Weight(str, Enum):
    """How much a finding weighs."""

    GOOD = "good"
    NOTE = "note"
    CAUTION = "caution"
    BAD = "bad"


@dataclass(frozen=True)
class Finding:
    """What a reader should know before trusting a result.

    Attributes:
        weight: How much it weighs.
        text: What it is, in a sentence.
    """

    weight: Weight
    text: str


@dataclass(frozen=True)
class LayerResult:
    """What is known of one layer; None is unknown.

    Attributes:
        name: Unique in its network.
        kind: Its kind.
        operation: What it does, finer than its kind; the backend's type where no more is known.
        runtime_s: Runtime of one cycle.
        power_w: Mean power with idle while it runs.
        power_above_idle_w: The same above idle.
        energy_j: Energy of one cycle with idle.
        energy_above_idle_j: The same above idle.
        layer: Its shapes and sizes.
        samples: Number of values behind the power.
        identifiable: Whether the recording tells it apart from other layers; None where the method cannot say.
        remarks: What is special about it, in words.
    """

    name: str
    kind: LayerKind
    operation: str
    runtime_s: Estimate | None = None
    power_w: Estimate | None = None
    power_above_idle_w: Estimate | None = None
    energy_j: Estimate | None = None
    energy_above_idle_j: Estimate | None = None
    layer: Layer | None = None
    samples: int | None = None
    identifiable: bool | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class PowerTrace:
    """The readings of a recording and its cycles, times in seconds from the first reading.

    Attributes:
        time_s: Times of the readings, ascending, shape (readings,).
        power_w: Power of each reading, shape (readings,).
        start_s: Start of each cycle, shape (cycles,).
        end_s: End of each cycle, shape (cycles,).
    """

    time_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]


@dataclass(frozen=True)
class Environment:
    """Where and how a network ran; what is not known is absent or empty.

    Attributes:
        board: The board.
        power_mode: Its power mode.
        precision: The type that the network computed in.
        batch_size: Inputs of one cycle, as text.
        backend: What executed it.
        method: The mapping method, or what predicted.
        clocks: Whether the clocks were locked, in words.
    """

    board: str = ""
    power_mode: str = ""
    precision: str = ""
    batch_size: str = ""
    backend: str = ""
    method: str = ""
    clocks: str = ""


@dataclass(frozen=True)
class NetworkResult(Tabular):
    """What is known of a network on a board; None is unknown.

    Attributes:
        name: The run's or the network's name.
        source: What it was read from.
        path: Where it was read from.
        layers: Its layers, in execution order.
        idle_power_w: Idle power of the board.
        runtime_s: Runtime of one cycle of the whole network.
        power_w: Mean power of one cycle of the whole network, with idle.
        energy_j: Energy of one cycle of the whole network, with idle. A recording does not tell it apart from the
            pauses between cycles, for its sensor's readings are older and wider than those.
        run_power_w: Mean power from the first cycle's start to the last one's end, pauses between cycles included.
        run_energy_j: Energy of that time, by cycle.
        cycles: Number of recorded cycles.
        environment: Where and how it ran.
        findings: What a reader should know before trusting it.
        made: How it was made: names and values to show.
        trace: The readings, where they are known.
    """

    name: str
    source: Source
    path: Path
    layers: tuple[LayerResult, ...]
    idle_power_w: float | None = None
    runtime_s: Estimate | None = None
    power_w: Estimate | None = None
    energy_j: Estimate | None = None
    run_power_w: Estimate | None = None
    run_energy_j: Estimate | None = None
    cycles: int | None = None
    environment: Environment = field(default_factory=Environment)
    findings: tuple[Finding, ...] = ()
    made: Mapping[str, str] = field(default_factory=dict)
    trace: PowerTrace | None = None

    @property
    def measured(self) -> bool:
        """Whether it was measured, not predicted."""
        return self.source is not Source.PREDICTION

    @property
    def layers_runtime_s(self) -> Estimate | None:
        """Sum of the layers' runtimes that are known; None where none is."""
        return added(layer.runtime_s for layer in self.layers)

    @property
    def layers_energy_above_idle_j(self) -> Estimate | None:
        """Sum of the layers' energies above idle that are known; None where none is."""
        return added(layer.energy_above_idle_j for layer in self.layers)

    @property
    def layers_energy_j(self) -> Estimate | None:
        """Sum of the layers' energies with idle that are known; None where none is."""
        return added(layer.energy_j for layer in self.layers)

    @property
    def with_idle(self) -> bool:
        """Whether energies with idle are known, wherever any energy is."""
        return any(layer.energy_j is not None for layer in self.layers)

    def layer_energy(self, layer: LayerResult) -> Estimate | None:
        """A layer's energy, with idle where the network's energies with idle are known."""
        return layer.energy_j if self.with_idle else layer.energy_above_idle_j

    def layer_power(self, layer: LayerResult) -> Estimate | None:
        """A layer's power, with idle where the network's energies with idle are known."""
        return layer.power_w if self.with_idle else layer.power_above_idle_w

    def energy_shares(self) -> list[float | None]:
        """Share of each layer in the energy of all layers that are known; a negative energy has no share."""
        energies = [self.layer_energy(layer) for layer in self.layers]
        total = sum(max(0.0, energy.value) for energy in energies if energy is not None)
        return [None if energy is None or total <= 0.0 else max(0.0, energy.value) / total for energy in energies]
