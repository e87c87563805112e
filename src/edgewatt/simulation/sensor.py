"""A simulated INA3221: conversions by the chip's own clock, and a reader that polls them.

    channel 1             channel 2             channel 3             channel 1
    | shunt    | bus      | shunt    | bus      | shunt    | bus      | shunt    | bus      |
               ^ new current         (the other channels' conversions) ...       ^ new current
                          ^ new voltage
    reader:  V  I |   V  I |   V  I |   ...      each reading returns what was finished last, so most repeat

Sources: Texas Instruments, INA3221 data sheet SBOS576 (conversion times, averages, steps of 40 uV and 8 mV, limits of
offset, gain and conversion time; with averaging each conversion is folded in as new = old + (x - old)/N); the Linux
driver's documentation ina3221.rst (period = channels x samples x (bus + shunt time); 5 mOhm shunts on Orin Nano).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.simulation.power_trace import PowerTrace, affine_scan

#: What the chip can be set to.
CONVERSION_TIMES_S = (140e-6, 204e-6, 332e-6, 588e-6, 1100e-6, 2116e-6, 4156e-6, 8244e-6)
SAMPLES = (1, 4, 16, 64, 128, 256, 512, 1024)
_SHUNT_STEP_V, _BUS_STEP_V = 40e-6, 8e-3
_MOST_SHUNT_OFFSET_V, _MOST_GAIN_ERROR, _MOST_CLOCK_ERROR = 80e-6, 0.0025, 0.1
#: Conversion time that `current_noise_a` is meant for.
_NOISE_CONVERSION_S = 1100e-6


@dataclass(frozen=True)
class SensorSettings:
    """How the sensor converts and how it is read.

    Attributes:
        conversion_time_s: Time of one shunt or one bus conversion by the chip's clock, one of CONVERSION_TIMES_S.
        channels: Channels that are converted in turn, 1 to 3; the total rail is the first.
        samples: Number of conversions that the chip's exponential average is over, one of SAMPLES.
        shunt_ohm: Resistance of the shunt.
        shunt_offset_v: Offset of the shunt voltage, up to 80 uV either way.
        gain_error: Relative error of the current, up to 0.25 % either way.
        current_noise_a: Standard deviation of a conversion of 1.1 ms; it falls with the root of the conversion time.
            The data sheet gives none: the default is chosen as a quarter of a step.
        clock_error: Most that the chip's clock may be off either way; each recording draws its own. The data sheet
            allows 10 %.
        clock_drift: Amplitude of the slow drift of the clock's rate, as with the chip's temperature.
        clock_drift_period_s: How long one swing of that drift takes.
        lag_s: Time constant of a first-order lag between the board's power and the sensor; 0 for none.
        polling_interval_s: Mean time from reading to reading.
        polling_jitter_s: Standard deviation of that time.
        polling_delay_probability: Share of the readings after which the reader is held up.
        polling_delay_s: Mean of how long it is then held up.
        read_time_s: How long reading one file takes; voltage and current are one after the other.
    """

    conversion_time_s: float = 1100e-6
    channels: int = 3
    samples: int = 1
    shunt_ohm: float = 0.005
    shunt_offset_v: float = 0.0
    gain_error: float = 0.0
    current_noise_a: float = 0.002
    clock_error: float = 0.03
    clock_drift: float = 1e-4
    clock_drift_period_s: float = 60.0
    lag_s: float = 0.0
    polling_interval_s: float = 1.35e-3
    polling_jitter_s: float = 0.02e-3
    polling_delay_probability: float = 1e-3
    polling_delay_s: float = 1e-3
    read_time_s: float = 0.55e-3

    def __post_init__(self) -> None:
        limits = {
            "shunt_offset_v": (self.shunt_offset_v, _MOST_SHUNT_OFFSET_V),
            "gain_error": (self.gain_error, _MOST_GAIN_ERROR),
            "clock_error": (self.clock_error, _MOST_CLOCK_ERROR),
        }
        if self.conversion_time_s not in CONVERSION_TIMES_S or self.samples not in SAMPLES:
            raise EdgewattError(
                f"the sensor has no conversion time of {self.conversion_time_s:g} s with {self.samples} samples",
                fix=f"Conversion times in s are {CONVERSION_TIMES_S}, numbers of samples {SAMPLES}",
            )
        if self.channels not in (1, 2, 3):
            raise EdgewattError(f"the sensor has no {self.channels} channels", fix="Use 1, 2 or 3")
        for name, (value, most) in limits.items():
            if abs(value) > most:
                raise EdgewattError(f"{name} is {value:g}", fix=f"The data sheet's limit is {most:g} either way")
        if not 0 < 2 * self.read_time_s <= self.polling_interval_s:
            raise EdgewattError(
                f"a reading of voltage and current takes {2 * self.read_time_s:g} s, which is longer than the polling "
                f"interval of {self.polling_interval_s:g} s",
                fix="Shorten read_time_s or poll less often",
            )

    @property
    def period_s(self) -> float:
        """Time from one conversion of a channel to its next by the chip's clock."""
        return self.channels * 2 * self.conversion_time_s

    @property
    def current_step_a(self) -> float:
        """Smallest difference of two currents."""
        return _SHUNT_STEP_V / self.shunt_ohm


@dataclass(frozen=True)
class Conversions:
    """What the chip did on the total rail's channel, m times.

    Attributes:
        shunt_start_s: Start of each shunt conversion in s, shape (m,).
        shunt_end_s: Its end, when the current became readable; the bus conversion starts there.
        bus_end_s: When the voltage became readable.
        power_w: The rail's mean power during the shunt conversion, behind the lag: what an ideal sensor shows.
        current_a: The current that became readable: averaged, with noise, in steps.
    """

    shunt_start_s: NDArray[np.float64]
    shunt_end_s: NDArray[np.float64]
    bus_end_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    current_a: NDArray[np.float64]


@dataclass(frozen=True)
class Readings:
    """What the reader logged, r times.

    Attributes:
        times_s: When each reading was complete, shape (r,).
        voltage_v: Voltages in V.
        current_a: Currents in A.
        conversion: Index of the conversion that each current is of.
    """

    times_s: NDArray[np.float64]
    voltage_v: NDArray[np.float64]
    current_a: NDArray[np.float64]
    conversion: NDArray[np.intp]


def convert(
    trace: PowerTrace, bus_voltage_v: float, settings: SensorSettings, random: np.random.Generator
) -> Conversions:
    """Run the chip over a recording, from a random phase before its start to its end.

    Args:
        trace: The rail's true power.
        bus_voltage_v: The rail's voltage, taken as constant.
        settings: The sensor's settings.
        random: Draws clock error, phase and noise.
    """
    error = random.uniform(-settings.clock_error, settings.clock_error)
    phases = random.uniform(size=2)
    # The first conversions lie before the recording, so that the first reading finds one finished.
    begin_s = float(trace.edges_s[0]) - (2 + phases[0]) * settings.period_s
    clock_s = trace.duration_s / (1 - settings.clock_error - settings.clock_drift)
    starts = np.arange(0.0, clock_s + 4 * settings.period_s, settings.period_s)

    def real_time(chip_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Time of an instant of the chip's clock, whose rate is off by a constant and a slow sine."""
        rate = 2 * np.pi / settings.clock_drift_period_s
        angle = rate * chip_s + 2 * np.pi * phases[1]
        swing = settings.clock_drift / rate * (np.cos(2 * np.pi * phases[1]) - np.cos(angle))
        real: NDArray[np.float64] = begin_s + (1 + error) * chip_s + swing
        return real

    shunt_start, shunt_end, bus_end = (real_time(starts + n * settings.conversion_time_s) for n in range(3))
    power_w = trace.mean_power_w(shunt_start, shunt_end, settings.lag_s)
    current = power_w / bus_voltage_v * (1 + settings.gain_error) + settings.shunt_offset_v / settings.shunt_ohm
    noise_a = settings.current_noise_a * np.sqrt(_NOISE_CONVERSION_S / settings.conversion_time_s)
    current = current + random.normal(0.0, noise_a, len(current))
    if settings.samples > 1:
        share = 1 / settings.samples
        current = affine_scan(np.full(len(current), 1 - share), share * current, float(current[0]))[1:]
    in_steps = np.round(current / settings.current_step_a) * settings.current_step_a
    return Conversions(shunt_start, shunt_end, bus_end, power_w, in_steps)


def poll(
    conversions: Conversions,
    bus_voltage_v: float,
    start_s: float,
    end_s: float,
    settings: SensorSettings,
    random: np.random.Generator,
) -> Readings:
    """Read the sensor over and over, as fast as the settings say.

    Args:
        conversions: What can be read.
        bus_voltage_v: The rail's voltage.
        start_s: When the first reading begins.
        end_s: No reading begins later.
        settings: The sensor's settings.
        random: Draws jitter and delays.
    """
    # No interval is shorter than the two reads, so that these are always enough.
    count = int((end_s - start_s) / (2 * settings.read_time_s)) + 1
    intervals = random.normal(settings.polling_interval_s, settings.polling_jitter_s, count)
    held_up = random.uniform(size=count) < settings.polling_delay_probability
    intervals += np.where(held_up, random.exponential(settings.polling_delay_s, count), 0.0)
    intervals = np.maximum(intervals, 2 * settings.read_time_s)
    begins = start_s + np.concatenate(([0.0], np.cumsum(intervals)))
    begins = begins[begins <= end_s]
    # The transfer over the bus is taken to be in the middle of each read.
    current_at, times_s = begins + 1.5 * settings.read_time_s, begins + 2 * settings.read_time_s
    newest = np.searchsorted(conversions.shunt_end_s, current_at, side="right") - 1
    voltage_v = np.full(len(begins), np.round(bus_voltage_v / _BUS_STEP_V) * _BUS_STEP_V)
    return Readings(times_s, voltage_v, conversions.current_a[newest], newest)
