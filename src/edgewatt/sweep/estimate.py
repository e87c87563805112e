"""How long a sweep takes, told before it begins."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from edgewatt.isolation.copies import with_copies
from edgewatt.isolation.rig import LoopNetwork, LoopRig
from edgewatt.isolation.settled import settling_s
from edgewatt.isolation.simulated_rig import SimulatedRig
from edgewatt.networks.engine import layers_from_engine
from edgewatt.networks.layer import FREE_OPERATIONS
from edgewatt.sweep.options import SweepOptions
from edgewatt.sweep.repeats import repeat_moments
from edgewatt.sweep.single import SingleLayer

#: A small layer, one of the middle and a large one of ResNet18: what loading takes depends on the weights.
_PROBES = (
    SingleLayer("convolution", (1, 64, 56, 56), 64, (3, 3), (1, 1), (1, 1), (1, 1), activation="Relu"),
    SingleLayer("gemm", (1, 512), 1000),
    SingleLayer("convolution", (1, 512, 7, 7), 512, (3, 3), (1, 1), (1, 1), (1, 1), activation="Relu"),
)
#: Power is logged for so long after a loop, and a network of copies loads so much longer than a single layer.
_TAIL_S, _COPIES_LOAD = 0.25, 1.5
#: What the simulated board needs to load a network, on its own clock.
_SIMULATED_LOAD_S = 2.0


@dataclass(frozen=True)
class Trials:
    """What a few trials told of the backend.

    Attributes:
        load_s: Time to load a layer and call it a few times.
        precision: The type that it computes in.
        fuses: Whether it runs a convolution and the activation behind it as one layer.
    """

    load_s: float
    precision: str
    fuses: bool


def try_backend(rig: LoopRig) -> Trials:
    """Load and run a few layers.

    Args:
        rig: What runs them.

    Raises:
        EdgewattError: The backend cannot run them.
    """
    began = time.monotonic()
    trials = [
        rig.trial(LoopNetwork(f"probe{number}", partial(with_copies, probe.model(), 1)))
        for number, probe in enumerate(_PROBES)
    ]
    load_s = (time.monotonic() - began) / len(_PROBES)
    if isinstance(rig, SimulatedRig):
        load_s = _SIMULATED_LOAD_S
    layers = layers_from_engine(trials[0].facts.layers, "the backend")
    executed = [layer for layer in layers if layer.operation not in (*FREE_OPERATIONS, "reformat")]
    return Trials(load_s, trials[0].facts.precision, len(executed) == 1)


def sweep_seconds(options: SweepOptions, done: int, visited: int, rig: LoopRig, trials: Trials) -> float:
    """Time that a sweep still takes, on the board's clock.

    Args:
        options: How it is made.
        done: Measurements that there are already.
        visited: Loops that they were made of.
        rig: What runs it.
        trials: What was tried.
    """
    repeats = sum(len(repeat_moments(number, options.seed)) for number in range(options.count))
    visit_s = trials.load_s * _COPIES_LOAD + options.seconds + settling_s(rig.averaging_s, rig.value_every_s)
    if rig.has_power:
        visit_s += options.pause_s + _TAIL_S
    wanted = options.count + repeats
    return max(wanted - done, 0) * trials.load_s + max(wanted * options.rounds - visited, 0) * visit_s
