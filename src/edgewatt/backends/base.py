"""What a backend is.

A backend loads a network and runs it cycle by cycle. Each cycle has a start and an end on the host's monotonic clock,
and for each layer its latency and when it was reported:

    with backend.load(network, settings) as loaded:
        loaded.warm_up(50)
        for cycles in loaded.run(30_000, stop):
            ...

Backends are cheap to make and can be pickled: nothing is imported or loaded before `problem` or `load` is called, so
that one can be chosen in one process and used in another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from edgewatt.backends.network import Network
from edgewatt.sensors.base import PowerSensor

#: Asked between cycles; a run ends early, after a whole cycle, once it says yes.
Stop: TypeAlias = Callable[[], bool]
#: Cycles that are handed over at a time by backends that could hand over each: few enough to lose little in a crash.
CYCLES_AT_ONCE = 100


@dataclass(frozen=True)
class LoadSettings:
    """How a network is loaded.

    Attributes:
        precision: The type that it should compute in, where the backend can choose.
        input_shape: Shape of its input; None keeps the file's.
        seed: Draws its input, and the weights of a shipped architecture.
    """

    precision: str = "float16"
    input_shape: tuple[int, ...] | None = None
    seed: int = 0


@dataclass(frozen=True)
class Cycles:
    """Consecutive cycles, n of them, of a network with m profiled layers (none in a pass without the profiler).

    Attributes:
        start_ns: Start of each on the monotonic clock, shape (n,).
        end_ns: Its end.
        latency_ms: Latency of each layer in ms, shape (n, m).
        layer_end_ns: When each layer was reported, shape (n, m): its true end, or a time after the whole inference
            (see `LoadedNetwork.true_layer_ends`).
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    latency_ms: NDArray[np.float64]
    layer_end_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start_ns)


def plain_cycles(start_ns: list[int], end_ns: list[int]) -> Cycles:
    """Cycles that were run without the profiler."""
    count = len(start_ns)
    return Cycles(
        np.array(start_ns, dtype=np.int64),
        np.array(end_ns, dtype=np.int64),
        np.empty((count, 0)),
        np.empty((count, 0), np.int64),
    )


@dataclass(frozen=True)
class NetworkFacts:
    """What is known of a network once it is loaded.

    Attributes:
        layers: Entries in the engine inspector's schema, in execution order.
        profiled: Names of the layers that are reported in each cycle, in the order of the reports; a name may repeat.
        input_shape: Shape of its (first) input.
        precision: The type that it computes in.
        true_layer_ends: Whether a layer's time is its own end, and not a time after the whole inference.
        settings: What else decides how fast it runs: threads, optimisation level, streams, ...
        versions: Versions of what runs it.
        bindings: Names of its inputs and outputs.
        means_only: Whether only the mean latency of each layer is told, after the run; the cycles then have none.
    """

    layers: tuple[Mapping[str, Any] | str, ...]
    profiled: tuple[str, ...]
    input_shape: tuple[int, ...]
    precision: str
    true_layer_ends: bool
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    bindings: tuple[str, ...] = ()
    means_only: bool = False


class LoadedNetwork(ABC):
    """A network that is ready to run."""

    @property
    @abstractmethod
    def facts(self) -> NetworkFacts:
        """What is known of it."""

    @abstractmethod
    def warm_up(self, cycles: int) -> None:
        """Run cycles that nobody looks at."""

    def begin_profiling(self) -> None:  # noqa: B027 - most are ready by then
        """Get ready for profiled cycles; called once, after the cycles without the profiler. `facts` may grow by it."""

    @abstractmethod
    def run(self, cycles: int, stop: Stop) -> Iterator[Cycles]:
        """Run profiled cycles, handing over some at a time, each whole; all of them, or fewer once `stop` says so."""

    @abstractmethod
    def run_plain(self, cycles: int, stop: Stop) -> Cycles:
        """Run cycles without the profiler, which slows a network: their latency is the network's own."""

    def mean_latency_ms(self) -> NDArray[np.float64] | None:
        """Mean latency of each profiled layer after a run, where the backend tells no single cycles; else None."""
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to free
        """Free what was loaded."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class Problem:
    """Why a backend cannot be used here.

    Attributes:
        what: What is wrong.
        fix: How to get it.
    """

    what: str
    fix: str


class Backend(ABC):
    """What executes a network and times its layers."""

    #: Its name on the command line.
    name: ClassVar[str]
    #: The chip of its own sensor, for backends that only pretend to draw power.
    own_sensor_name: ClassVar[str | None] = None

    @abstractmethod
    def problem(self) -> Problem | None:
        """Why it cannot be used here; None when it can."""

    @abstractmethod
    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        """Load a network.

        Raises:
            EdgewattError: The network's file is of a kind that the backend cannot run, broken, or cannot be built.
            NoDeviceError: The backend cannot be used here.
        """

    def own_sensor(self, folder: Path) -> PowerSensor | None:  # noqa: ARG002 - for those that have one
        """A sensor of what the backend pretends to draw, used where no other is named; None for all that are real.

        Args:
            folder: A folder for files that the sensor and the backend share.
        """
        return None
