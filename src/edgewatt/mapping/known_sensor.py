"""What `run.json` says of the sensor's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgewatt.formats.run_info import RunInfo


@dataclass(frozen=True)
class KnownSensor:
    """What is known of the sensor before; None is unknown.

    Attributes:
        period_s: Nominal time between fresh values; the chip's clock may be off by a tenth.
        length_s: Nominal length of a conversion.
        samples: Number of conversions averaged over.
    """

    period_s: float | None = None
    length_s: float | None = None
    samples: int | None = None


def known_sensor(run: RunInfo | None) -> KnownSensor:
    """Read an INA3221's settings.

    Channels are converted in turn, shunt and bus voltage of each (data sheet SBOS576); with averaging the register
    still changes with each conversion.

    Args:
        run: The run's description; None where there is none.
    """
    if run is None:
        return KnownSensor()
    shunt_us, bus_us = (_positive(run.sensor, f"{name}_conversion_time_us") for name in ("shunt", "bus"))
    channels, samples = (_positive(run.sensor, name) for name in ("channels", "samples"))
    period_s = None
    if shunt_us is not None and bus_us is not None and channels is not None:
        period_s = channels * (shunt_us + bus_us) / 1e6
    return KnownSensor(
        period_s, None if shunt_us is None else shunt_us / 1e6, None if samples is None else max(1, round(samples))
    )


def _positive(settings: Mapping[str, Any], name: str) -> float | None:
    value = settings.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        return None
    return float(value)
