"""How often an INA3221 makes a new value, by its settings.

The chip converts its enabled channels in turn, each a shunt and a bus conversion:

    period = channels x (bus + shunt conversion time)

With `samples` above 1 it folds each conversion into an exponential average, whose time constant is samples x period.
What the driver's `update_interval` says changed with a patch to the kernel ("use CVRF only for single-shot
conversion", June 2021, in mainline since about 5.14 and in L4T 36):

- before it, the file includes `samples`, and a read waits until a conversion of all samples is ready;
- since it, the file leaves `samples` out, and a read returns at once what was converted last.

Nothing in sysfs tells which driver it is, so both answers are given; how long reads take tells them apart.

Sources: the kernel's Documentation/hwmon/ina3221.rst and drivers/hwmon/ina3221.c; data sheet SBOS576.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgewatt.sensors.base import SensorSettings

#: Conversion times that the chip can be set to.
CONVERSION_TIMES_S = (140e-6, 204e-6, 332e-6, 588e-6, 1100e-6, 2116e-6, 4156e-6, 8244e-6)


@dataclass(frozen=True)
class PeriodBySettings:
    """What the settings say about one of the two drivers.

    Attributes:
        driver: "before the patch" or "since the patch".
        conversion_time_s: The conversion time whose interval, in whole ms, is the file's; the shortest of several, or
            None where none fits.
        period_s: Time from one conversion of a channel to the next; from the conversion time where that is known, or
            else from the rounded file.
        time_constant_s: How slowly the average follows a step; 0 for one sample.
    """

    driver: str
    conversion_time_s: float | None
    period_s: float
    time_constant_s: float


def periods_by_settings(settings: SensorSettings) -> tuple[PeriodBySettings, ...]:
    """What `samples`, `update_interval` and the enabled channels say, before and since the patch.

    Args:
        settings: An INA3221's settings under the hwmon driver.

    Returns:
        One answer for each driver, one alone where both say the same, none where the settings are not known.
    """
    samples, interval_ms, channels = settings.samples, settings.update_interval_ms, settings.enabled_channels
    if not samples or interval_ms is None or not channels:
        return ()
    before = _period("before the patch", interval_ms, len(channels), samples, included=samples)
    since = _period("since the patch", interval_ms, len(channels), samples, included=1)
    return (since,) if samples == 1 else (before, since)


def _period(driver: str, interval_ms: float, channels: int, samples: int, included: int) -> PeriodBySettings:
    """The answer of a driver whose interval includes that many samples."""
    fits = (time_s for time_s in CONVERSION_TIMES_S if _shown_ms(channels, included, time_s) == interval_ms)
    conversion_s = next(fits, None)
    period_s = interval_ms / 1e3 / included if conversion_s is None else channels * 2 * conversion_s
    return PeriodBySettings(driver, conversion_s, period_s, samples * period_s if samples > 1 else 0.0)


def _shown_ms(channels: int, samples: int, conversion_s: float) -> int:
    """What the file shows: whole ms, halves rounded up."""
    return (channels * samples * 2 * round(conversion_s * 1e6) + 500) // 1000
