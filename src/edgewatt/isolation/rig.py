"""What runs networks in a loop while power is logged.

    with rig:
        rig.begin_round()
        rig.pause(0.5)                          nothing runs
        run = rig.loop(network, 1.5)            calls, one after another
        rig.pause(0.5)
        log = rig.readings(since_us)            what the sensor showed meanwhile
        rig.end_round()

`LiveRig` does it with processes and clocks of this machine, `SimulatedRig` on the simulated board, whose time is
simulated too: there minutes pass in a moment.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto
from typing_extensions import Self

from edgewatt.backends.base import NetworkFacts
from edgewatt.backends.network import Network
from edgewatt.formats.power_log import PowerLog


@dataclass(frozen=True)
class LoopNetwork:
    """A network that can be run.

    Attributes:
        key: Networks of one key are the same.
        make: Makes it, with hollow weights; None for one that has a file.
        network: Its file.
    """

    key: str
    make: Callable[[], ModelProto] | None = None
    network: Network | None = None


@dataclass(frozen=True)
class Trial:
    """A few calls with the profiler.

    Attributes:
        facts: What the backend says of the network.
        call_s: Mean time of a call.
        between_s: Mean time from the end of a call to the start of the next.
        latency_s: Mean time of each profiled layer, shape (layers,).
    """

    facts: NetworkFacts
    call_s: float
    between_s: float
    latency_s: NDArray[np.float64]


@dataclass(frozen=True)
class Calls:
    """The calls of a loop, times in microseconds since 1970 on the clock of the power log.

    Attributes:
        start_us: Start of each, shape (calls,).
        end_us: Its end.
    """

    start_us: NDArray[np.float64]
    end_us: NDArray[np.float64]


@dataclass(frozen=True)
class Pause:
    """Time in which nothing ran, in microseconds since 1970."""

    start_us: float
    end_us: float


class LoopRig(ABC):
    """What runs networks in a loop while power is logged."""

    #: Name of the backend.
    backend: str
    #: Whether power is logged.
    has_power: bool
    #: Time from one value of the sensor to the next, where its settings tell; else None.
    value_every_s: float | None = None
    #: How slowly the sensor follows, where its settings tell; 0 for at once.
    averaging_s: float = 0.0

    @abstractmethod
    def trial(self, network: LoopNetwork) -> Trial:
        """Load a network and call it a few times with the profiler.

        Raises:
            EdgewattError: It cannot be loaded or run.
        """

    def begin_round(self) -> None:  # noqa: B027 - nothing to begin where time is simulated
        """Start to log power."""

    def end_round(self) -> None:  # noqa: B027
        """Stop to log power."""

    @abstractmethod
    def pause(self, duration_s: float) -> Pause:
        """Let time pass with nothing running."""

    @abstractmethod
    def loop(self, network: LoopNetwork, duration_s: float, call_s: float) -> Calls:
        """Call a network over and over.

        Args:
            network: The network.
            duration_s: For about how long.
            call_s: How long a call takes, and the time to the next.

        Raises:
            EdgewattError: It cannot be loaded or run.
        """

    @abstractmethod
    def readings(self, since_us: float) -> PowerLog | None:
        """What the sensor showed since a time of this round; None without a sensor."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What `run.json` says of the sensor; empty without one."""

    def stopped(self) -> str | None:
        """Name of the signal by which the user asked to stop; None where nobody did."""
        return None

    def close(self) -> None:  # noqa: B027
        """End what still runs."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
