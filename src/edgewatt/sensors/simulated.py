"""A simulated sensor that can be read live: for tests, and for trying out the flow on a machine without a sensor.

It shows one rail, VDD_IN, as an INA3221 would at its default settings: a value that is taken once a conversion on the
monotonic clock and held until the next, in steps of 8 mV and 8 mA. Nothing here is measured.

What it shows is the power that a function of time gives, or that another process writes to a shared file:

    with SharedPower.create(path) as load:      # the simulated backend
        load.set_power_w(6.0)
    SimulatedSensor(SharedPower.open(path))     # the power logger
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from edgewatt.errors import EdgewattError
from edgewatt.sensors.base import Channel, PowerSensor, Rail, RawReading, SensorSettings

CHIP = "simulated"
LABEL = "VDD_IN"
#: Names the file of a `SharedPower` to processes that look for the simulated sensor.
SHARED_POWER_VARIABLE = "EDGEWATT_SIMULATED_POWER"

#: Default settings of an INA3221: three channels, each a shunt and a bus conversion of 1.1 ms.
DEFAULT_PERIOD_S = 6 * 1.1e-3
_VOLTAGE_MV = 5000.0
_CURRENT_STEP_MA = 8.0
_FORMAT = struct.Struct("<d")


class PowerSource(Protocol):
    """The power that the simulated sensor shows, as a function of the monotonic clock."""

    def __call__(self, time_s: float) -> float:
        """Power in W at a time in s."""


def idle_waveform(time_s: float) -> float:
    """Power in W of a made-up idle board: 4.2 W with two slow swings of 80 mW and 120 mW."""
    return 4.2 + 0.08 * math.sin(2 * math.pi * time_s / 1.7) + 0.12 * math.sin(2 * math.pi * time_s / 0.23)


class SharedPower:
    """A power that one process sets and others read: eight bytes in a file mapped into memory.

    It can be pickled; the copy maps the same file.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("r+b") as file:
                self._memory = mmap.mmap(file.fileno(), _FORMAT.size)
        except (OSError, ValueError) as error:
            raise EdgewattError(
                f"the simulated board's power cannot be read: {error}",
                where=path,
                fix=f"Start the simulated backend first, or unset {SHARED_POWER_VARIABLE}",
            ) from error

    @classmethod
    def create(cls, path: Path, power_w: float) -> SharedPower:
        """Make the file, with a first power in W."""
        path.write_bytes(_FORMAT.pack(power_w))
        return cls(path)

    def set_power_w(self, power_w: float) -> None:
        """Set the power in W; readers in other processes see it at once."""
        _FORMAT.pack_into(self._memory, 0, power_w)

    def __call__(self, time_s: float) -> float:  # noqa: ARG002 - the power is that of now
        """Power in W that was set last."""
        return float(_FORMAT.unpack_from(self._memory, 0)[0])

    def close(self) -> None:
        """Unmap the file."""
        self._memory.close()

    def __reduce__(self) -> tuple[type[SharedPower], tuple[Path]]:
        return type(self), (self.path,)

    def __enter__(self) -> SharedPower:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _SimulatedChannel(Channel):
    def __init__(self, rail: Rail, power_w: PowerSource, period_s: float, clock: Callable[[], float]) -> None:
        super().__init__(rail)
        self._power_w = power_w
        self._period_s = period_s
        self._clock = clock
        self._conversion = -1
        self._current_ma = 0.0

    def read_raw(self) -> RawReading:
        conversion = math.floor(self._clock() / self._period_s)
        if conversion != self._conversion:
            self._conversion = conversion
            exact_ma = self._power_w(conversion * self._period_s) * 1e6 / _VOLTAGE_MV
            self._current_ma = round(exact_ma / _CURRENT_STEP_MA) * _CURRENT_STEP_MA
        return _VOLTAGE_MV, self._current_ma, None


class SimulatedSensor(PowerSensor):
    """The simulated sensor.

    Args:
        power_w: Power in W as a function of the monotonic clock in s: a function, or a `SharedPower`.
        period_s: Time from one conversion to the next.
        clock: Gives the time in s.
    """

    def __init__(
        self,
        power_w: PowerSource = idle_waveform,
        period_s: float = DEFAULT_PERIOD_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not period_s > 0:
            raise EdgewattError(f"the simulated sensor's period is {period_s:g} s", fix="Use a time above 0")
        self.period_s = period_s
        rail = Rail(LABEL, CHIP, Path(CHIP), CHIP, 1, _CURRENT_STEP_MA / 1e3)
        super().__init__(CHIP, CHIP, Path(CHIP), [_SimulatedChannel(rail, power_w, period_s, clock)])

    def settings(self) -> SensorSettings:
        """The conversion period."""
        other: Mapping[str, Any] = {"period_ms": self.period_s * 1e3}
        return SensorSettings(driver=CHIP, samples=1, other=other)


def find_simulated() -> SimulatedSensor:
    """The simulated sensor with the power of the file that the environment names, or else the made-up idle board's.

    Raises:
        EdgewattError: The file that the environment names cannot be read.
    """
    path = os.environ.get(SHARED_POWER_VARIABLE)
    return SimulatedSensor(SharedPower(Path(path))) if path else SimulatedSensor()
