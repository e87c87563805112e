"""The simulated board, on a simulated clock: what takes it minutes passes in a moment.

Everything that decides what is measured is that of `edgewatt simulate`: the roofline of each layer, jitter, gaps and
stalls between calls, and a sensor that converts for 1.1 ms every 6.6 ms, by a clock of its own, with noise and in
steps. Layers are told apart by nothing but what the sensor shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.backends.base import NetworkFacts
from edgewatt.errors import EdgewattError
from edgewatt.formats.power_log import PowerLog
from edgewatt.isolation.rig import Calls, LoopNetwork, LoopRig, Pause, Trial
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.engine import engine_entry
from edgewatt.networks.layer import Layer
from edgewatt.networks.onnx_layers import layers_from_onnx
from edgewatt.recording.signals import StopRequest
from edgewatt.simulation.base_files import sensor_facts
from edgewatt.simulation.board import ORIN_NANO, SimulatedBoard
from edgewatt.simulation.cycles import run_cycles
from edgewatt.simulation.power_trace import PowerTrace
from edgewatt.simulation.recording import DAY_START_US
from edgewatt.simulation.roofline import layer_truth
from edgewatt.simulation.sensor import convert, poll
from edgewatt.simulation.settings import SimulationSettings

_TRIAL_CALLS = 20
_LOAD_S = 2.0  # the board is idle while a network is loaded


@dataclass(frozen=True)
class Warming:
    """How the board warms, and draws more for it.

    Attributes:
        watts_per_watt: Power that it draws more, once it has settled, for each watt that it draws above idle.
        time_constant_s: How slowly it settles.
    """

    watts_per_watt: float = 0.0
    time_constant_s: float = 30.0


class SimulatedRig(LoopRig):
    """The simulated board.

    Args:
        board: The board.
        settings: How networks are run and measured.
        precision: What networks compute in.
        seed: Draws everything that is drawn.
        warming: How the board warms.
        has_power: Whether the sensor is read.
        stopping: Whether the user asked to stop; None for nobody.
    """

    def __init__(
        self,
        board: SimulatedBoard = ORIN_NANO,
        settings: SimulationSettings | None = None,
        *,
        precision: str = "float16",
        seed: int = 0,
        warming: Warming | None = None,
        has_power: bool = True,
        stopping: StopRequest | None = None,
    ) -> None:
        self.backend, self.has_power = "simulated", has_power
        self.board = board
        self._stopping = stopping
        self._settings = settings or SimulationSettings()
        self._precision = precision
        self._warming = warming or Warming()
        self._random = np.random.default_rng([seed, 20260105])
        self._now_s = 0.0
        self._warm_w = 0.0
        self._pending: list[PowerTrace] = []
        self._truth: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    def trial(self, network: LoopNetwork) -> Trial:
        """Work out the network's layers and run them a few times."""
        layers = self._layers(network)
        runtime_s, power_w = layer_truth(layers, self.board)
        if not runtime_s.any():
            raise EdgewattError("nothing of it is executed")
        self._now_s += _LOAD_S
        settings = replace(self._settings.cycles, cycles=_TRIAL_CALLS, warmup_cycles=1, idle_s=0.0)
        timeline = run_cycles(runtime_s, power_w, 0.0, np.zeros(_TRIAL_CALLS), settings, self._random)
        start_s, end_s = timeline.start_s, timeline.end_s
        facts = NetworkFacts(
            layers=tuple(engine_entry(layer) for layer in layers),
            profiled=tuple(layer.name for layer in layers),
            input_shape=layers[0].input_shape,
            precision=layers[0].precision,
            true_layer_ends=False,
            settings={"simulated_board": self.board.name},
            bindings=("input", "output"),
        )
        return Trial(
            facts, float((end_s - start_s).mean()), float((start_s[1:] - end_s[:-1]).mean()), timeline.layer_s.mean(0)
        )

    def pause(self, duration_s: float) -> Pause:
        """Let the board idle."""
        start_s = self._now_s
        edges = np.linspace(start_s, start_s + duration_s, max(2, int(duration_s / 0.1) + 1))
        self._append(edges, np.full(len(edges) - 1, self.board.idle_power_w))
        return Pause(self._us(start_s), self._us(self._now_s))

    def loop(self, network: LoopNetwork, duration_s: float, call_s: float) -> Calls:
        """Run a network over and over."""
        self.pause(_LOAD_S)
        runtime_s, power_w = self._truth_of(network)
        cycles = max(int(duration_s / call_s), 3)
        settings = replace(self._settings.cycles, cycles=cycles, warmup_cycles=0, idle_s=0.0)
        timeline = run_cycles(runtime_s, power_w, self.board.idle_power_w, np.zeros(cycles), settings, self._random)
        begun_s = self._now_s
        self._append(timeline.trace.edges_s[1:-1] + begun_s, timeline.trace.power_w[1:-1])
        return Calls(self._us(timeline.start_s + begun_s), self._us(timeline.end_s + begun_s))

    def readings(self, since_us: float) -> PowerLog | None:
        """What the sensor showed of all that happened since this was last asked."""
        if not self.has_power:
            self._pending.clear()
            return None
        edges = np.concatenate([self._pending[0].edges_s[:1], *(trace.edges_s[1:] for trace in self._pending)])
        trace = PowerTrace(edges, np.concatenate([trace.power_w for trace in self._pending]))
        self._pending.clear()
        voltage_v, settings = self.board.bus_voltage_v, self._settings.sensor
        conversions = convert(trace, voltage_v, settings, self._random)
        read = poll(conversions, voltage_v, float(edges[0]), float(edges[-1]), settings, self._random)
        times = self._us(read.times_s)
        kept = times >= since_us
        return PowerLog(times[kept].astype(np.int64), read.voltage_v[kept] * 1e3, read.current_a[kept] * 1e3)

    def describe(self) -> dict[str, Any]:
        """What can be read of the sensor."""
        return sensor_facts(self._settings.sensor) if self.has_power else {}

    def stopped(self) -> str | None:
        """Name of the signal by which the user asked to stop."""
        return None if self._stopping is None else self._stopping.by

    def _layers(self, network: LoopNetwork) -> list[Layer]:
        if network.make is not None:
            return layers_from_onnx(network.make(), precision=self._precision)
        assert network.network is not None
        named = network.network.name if network.network.random_weights else network.network.path
        return network_layers(named, precision=self._precision)

    def _truth_of(self, network: LoopNetwork) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if network.key not in self._truth:
            self._truth[network.key] = layer_truth(self._layers(network), self.board)
        return self._truth[network.key]

    def _append(self, edges_s: NDArray[np.float64], power_w: NDArray[np.float64]) -> None:
        """Add what happened, with what the board draws more for being warm, up to which it settles."""
        durations = np.diff(edges_s)
        length = max(float(edges_s[-1] - edges_s[0]), 1e-12)
        mean_w = float(np.dot(power_w, durations)) / length
        target = self._warming.watts_per_watt * max(mean_w - self.board.idle_power_w, 0.0)
        middle = edges_s[:-1] + durations / 2 - edges_s[0]
        fade = np.exp(-middle / self._warming.time_constant_s)
        warm = target + (self._warm_w - target) * fade
        self._warm_w = target + (self._warm_w - target) * float(np.exp(-length / self._warming.time_constant_s))
        self._pending.append(PowerTrace(edges_s, power_w + warm))
        self._now_s = float(edges_s[-1])

    def _us(self, time_s: Any) -> Any:
        return time_s * 1e6 + DAY_START_US
