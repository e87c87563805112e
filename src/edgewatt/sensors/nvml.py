"""NVML: power of NVIDIA GPUs, through the optional package nvidia-ml-py.

NVML that initialises is no sensor yet: on Jetson Orin it finds one device and then supports none of its power
readings. So each quantity is read twice before it counts. Of those that work, the first of these is taken:

1. power at this instant (field 186),
2. the mean power since the energy counter last moved (it counts mJ and moves every 20 to 100 ms),
3. `nvmlDeviceGetPowerUsage`, on newer GPUs a mean over one second.

Source: NVIDIA, NVML API reference; nvidia-ml-py's `pynvml`, imported only here.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgewatt.sensors.base import Channel, PowerSensor, Rail, RawReading, SensorSettings
from edgewatt.sensors.energy_counter import EnergyCounter

CHIP = "nvml"
INSTANT, ENERGY, AVERAGE = "power at this instant", "mean power from the energy counter", "mean power over a second"
_FIELD_POWER_INSTANT = 186
#: The counter has been seen to rest this long and more.
_ENERGY_HOLD_S = 1.0


class NvmlChannel(Channel):
    """One GPU.

    Args:
        rail: Its rail; `channel` is the GPU's index.
        quantity: INSTANT, ENERGY or AVERAGE.
    """

    def __init__(self, rail: Rail, quantity: str) -> None:
        super().__init__(rail)
        self.quantity = quantity
        self._counter = EnergyCounter(hold_s=_ENERGY_HOLD_S)
        self._read_uw: Callable[[], float] | None = None
        self._errors: Counter[str] = Counter()

    def open(self) -> None:
        """Start NVML and find the GPU."""
        if self._read_uw is not None:
            return
        try:
            library = _library()
            library.nvmlInit()
            self._read_uw = _reader(library, library.nvmlDeviceGetHandleByIndex(self.rail.channel), self.quantity)
            self._counter.start(self._read_uw() if self.quantity == ENERGY else None)
        except Exception as error:  # the library's exceptions are made at run time
            self._errors[_error_name(error)] += 1

    def close(self) -> None:
        """Let go of NVML; it counts its users."""
        if self._read_uw is not None:
            self._read_uw = None
            try:
                _library().nvmlShutdown()
            except Exception as error:
                self._errors[_error_name(error)] += 1

    def read_raw(self) -> RawReading:
        """Read the GPU's power."""
        if self._read_uw is None:
            self.open()
            if self._read_uw is None:
                return None, None, None
        try:
            value = self._read_uw()
        except Exception as error:
            self._errors[_error_name(error)] += 1
            return None, None, None
        return None, None, self._counter.power_uw(value) if self.quantity == ENERGY else value

    @property
    def errors(self) -> dict[str, dict[str, int]]:
        """How often each error was met, by GPU and name of the error."""
        return {self.rail.full_name: dict(self._errors)} if self._errors else {}

    def __getstate__(self) -> dict[str, Any]:
        # A handle means nothing in another process.
        return self.__dict__ | {"_read_uw": None}


class NvmlSensor(PowerSensor):
    """The GPUs that NVML can read the power of."""

    def __init__(self, channels: list[NvmlChannel], names: dict[str, str], driver: str) -> None:
        super().__init__(CHIP, CHIP, Path(CHIP), channels)
        self._names = names
        self._driver = driver

    def settings(self) -> SensorSettings:
        """Each GPU's name and which quantity is read of it."""
        quantities = {c.rail.label: c.quantity for c in self.channels if isinstance(c, NvmlChannel)}
        gpus = {label: f"{self._names[label]}: {quantity}" for label, quantity in quantities.items()}
        return SensorSettings(driver=f"NVIDIA {self._driver}", other=gpus)


def find_nvml() -> tuple[NvmlSensor | None, str]:
    """Look for GPUs whose power can be read.

    Returns:
        The sensor, or None; and why there is none.
    """
    try:
        library = _library()
    except ImportError:
        return None, "nvidia-ml-py is not installed (pip install nvidia-ml-py)"
    try:
        library.nvmlInit()
    except Exception as error:
        return None, f"NVML cannot be started: {error}"
    try:
        return _probe(library)
    except Exception as error:
        return None, f"NVML cannot be read: {error}"
    finally:
        library.nvmlShutdown()


def _probe(library: Any) -> tuple[NvmlSensor | None, str]:
    channels: list[NvmlChannel] = []
    names: dict[str, str] = {}
    silent: list[str] = []
    for index in range(library.nvmlDeviceGetCount()):
        handle = library.nvmlDeviceGetHandleByIndex(index)
        name = _text(library.nvmlDeviceGetName(handle))
        quantity = next((q for q in (INSTANT, ENERGY, AVERAGE) if _works(library, handle, q)), None)
        if quantity is None:
            silent.append(name)
            continue
        rail = Rail(f"GPU{index}", CHIP, Path(CHIP), CHIP, index)
        channels.append(NvmlChannel(rail, quantity))
        names[rail.label] = name
    if channels:
        return NvmlSensor(channels, names, _text(library.nvmlSystemGetDriverVersion())), ""
    return None, f"NVML supports no power reading of {', '.join(silent)}" if silent else "NVML finds no GPU"


def _works(library: Any, handle: Any, quantity: str) -> bool:
    """Whether a quantity can be read twice, and a counter does not run backwards."""
    try:
        read = _reader(library, handle, quantity)
        first, second = read(), read()
    except Exception:  # not supported, no permission, unknown function of an older library: no sensor all the same
        return False
    return second >= first > 0 if quantity == ENERGY else first > 0 and second > 0


def _reader(library: Any, handle: Any, quantity: str) -> Callable[[], float]:
    """What reads a quantity in uW or, for the counter, uJ."""
    if quantity == ENERGY:
        return lambda: float(library.nvmlDeviceGetTotalEnergyConsumption(handle)) * 1e3
    if quantity == AVERAGE:
        return lambda: float(library.nvmlDeviceGetPowerUsage(handle)) * 1e3

    def instant() -> float:
        value = library.nvmlDeviceGetFieldValues(handle, [_FIELD_POWER_INSTANT])[0]
        if value.nvmlReturn != library.NVML_SUCCESS:
            raise library.NVMLError(value.nvmlReturn)
        return float(value.value.uiVal) * 1e3

    return instant


def _library() -> Any:
    return importlib.import_module("pynvml")


def _error_name(error: Exception) -> str:
    return type(error).__name__


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
