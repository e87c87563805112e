"""The simulated board as a backend: it takes the time that the board would, and shows the power that it would draw.

    process   | layer 1 | layer 2 | ... | reports | gap | layer 1 | ...
    power     | p1      | p2      | ... | gap           | p1      |       in a file that the simulated sensor reads

It works on nothing, it only waits, so that recording can be tried and tested without hardware. Layers are reported
after their inference, as TensorRT does it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from edgewatt.backends.base import (
    CYCLES_AT_ONCE,
    Backend,
    Cycles,
    LoadedNetwork,
    LoadSettings,
    NetworkFacts,
    Problem,
    Stop,
    plain_cycles,
)
from edgewatt.backends.network import Network
from edgewatt.errors import EdgewattError
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.engine import engine_entry
from edgewatt.networks.layer import Layer
from edgewatt.sensors.base import PowerSensor
from edgewatt.sensors.simulated import SharedPower, SimulatedSensor
from edgewatt.simulation.board import ORIN_NANO, SimulatedBoard
from edgewatt.simulation.roofline import layer_truth

_POWER_FILE = "simulated_power"
#: Between inferences: time, and power above idle of the processor that prepares the next.
_GAP_NS, _GAP_POWER_W = 1_000_000, 0.6
#: Waits that are longer are slept through but for their end, so that tests leave processors to each other.
_SPIN_NS = 200_000


class SimulatedBackend(Backend):
    """The simulated board.

    Args:
        board: The board.
        slowdown: How many times as long as on the board every layer takes.
    """

    name: ClassVar[str] = "simulated"
    own_sensor_name: ClassVar[str | None] = "simulated"

    def __init__(self, board: SimulatedBoard = ORIN_NANO, slowdown: float = 1.0) -> None:
        self.board = board
        self.slowdown = slowdown
        self._power_file: Path | None = None

    def problem(self) -> Problem | None:
        """It can be used anywhere."""
        return None

    def own_sensor(self, folder: Path) -> PowerSensor | None:
        """The simulated sensor, showing what the simulated board draws."""
        self._power_file = folder / _POWER_FILE
        return SimulatedSensor(SharedPower.create(self._power_file, self.board.idle_power_w))

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        """Work out the network's layers, and what they take and draw on the board."""
        batch = settings.input_shape[0] if settings.input_shape else None
        source = network.name if network.random_weights else network.path
        layers = network_layers(source, batch=batch, precision=settings.precision)
        shared = SharedPower(self._power_file) if self._power_file is not None else None
        return SimulatedNetwork(layers, self.board, self.slowdown, shared, network)


class SimulatedNetwork(LoadedNetwork):
    """A network on the simulated board.

    Args:
        layers: Its layers.
        board: The board.
        slowdown: As for `SimulatedBackend`.
        shared: Where its power is shown; None for nowhere.
        network: Where the layers came from.
    """

    def __init__(
        self,
        layers: list[Layer],
        board: SimulatedBoard,
        slowdown: float,
        shared: SharedPower | None,
        network: Network,
    ) -> None:
        runtime_s, power_w = layer_truth(layers, board)
        if not runtime_s.any():
            raise EdgewattError("the network has no layer that is executed", where=network.path)
        self._board = board
        self._shared = shared
        self._layer_ns: list[int] = (runtime_s * slowdown * 1e9).astype(np.int64).tolist()
        self._layer_w: list[float] = (board.idle_power_w + power_w).tolist()
        self._facts = NetworkFacts(
            layers=tuple(engine_entry(layer) for layer in layers),
            profiled=tuple(layer.name for layer in layers),
            input_shape=layers[0].input_shape,
            precision=layers[0].precision,
            true_layer_ends=False,
            settings={"simulated_board": board.name, "power_mode": board.power_mode, "slowdown": slowdown},
            bindings=("input", "output"),
        )

    @property
    def facts(self) -> NetworkFacts:
        """What is known of it."""
        return self._facts

    def warm_up(self, cycles: int) -> None:
        """Run cycles that nobody looks at."""
        for _ in range(cycles):
            self._cycle()

    def run_plain(self, cycles: int, stop: Stop) -> Cycles:
        """Run cycles whose layers are not reported."""
        times = []
        for _ in range(cycles):
            if stop():
                break
            times.append(self._cycle())
        return plain_cycles([edges[0] for edges in times], [edges[-1] for edges in times])

    def run(self, cycles: int, stop: Stop) -> Iterator[Cycles]:
        """Run cycles, some at a time."""
        done = 0
        while done < cycles and not stop():
            count = min(CYCLES_AT_ONCE, cycles - done)
            edges: list[list[int]] = []
            reports: list[list[int]] = []
            while len(edges) < count and not stop():
                edges.append(self._cycle())
                reports.append([time.monotonic_ns() for _ in self._layer_ns])
            done += len(edges)
            times = np.array(edges, dtype=np.int64)
            ends = np.array(reports, dtype=np.int64)
            yield Cycles(times[:, 0], ends[:, -1], np.diff(times, axis=1) / 1e6, ends)

    def close(self) -> None:
        """Draw idle power again."""
        if self._shared is not None:
            self._shared.set_power_w(self._board.idle_power_w)
            self._shared.close()

    def _cycle(self) -> list[int]:
        """Run one inference and the gap before it; the times at which its layers began and the last one ended."""
        self._show(self._board.idle_power_w + _GAP_POWER_W)
        _wait_until(time.monotonic_ns() + _GAP_NS)
        edges = [time.monotonic_ns()]
        for duration, power in zip(self._layer_ns, self._layer_w, strict=True):
            if duration:
                self._show(power)
                edges.append(_wait_until(edges[-1] + duration))
            else:
                edges.append(edges[-1])
        self._show(self._board.idle_power_w + _GAP_POWER_W)
        return edges

    def _show(self, power_w: float) -> None:
        if self._shared is not None:
            self._shared.set_power_w(power_w)


def _wait_until(deadline_ns: int) -> int:
    """Wait; the time at which that ended."""
    rest = deadline_ns - time.monotonic_ns() - _SPIN_NS
    if rest > 0:
        time.sleep(rest / 1e9)
    while (now := time.monotonic_ns()) < deadline_ns:
        pass
    return now
