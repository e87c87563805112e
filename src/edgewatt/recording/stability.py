"""What stands against trusting a recording, in words."""

from __future__ import annotations

from dataclasses import dataclass

from edgewatt.recording.environment import Environment

#: A board whose GPU is busier than this before the network runs has something else to do.
_BUSY_GPU = 0.1
#: Fewer cycles tell nothing of their spread.
_FEW_CYCLES = 100
#: The methods that tell layers apart need about this many independent power values for each of them.
_VALUES_PER_LAYER = 20
_WARMING_CELSIUS = 10.0
_BUSY_LOAD = 0.5


@dataclass(frozen=True)
class RunFacts:
    """What is known of a run when it has ended; None is unknown.

    Attributes:
        before: The board's state before it.
        after: The same behind it.
        cycles: Complete cycles.
        cycle_s: Mean time of a cycle in s.
        layers: Number of layers that take time, to be told apart in a cycle; 0 where each was measured by itself.
        fresh_values: Power readings whose value differed from the one before; None without a sensor.
        value_every_s: Time from one value of the sensor to the next.
        averaging_s: Time constant of the sensor's averaging; 0 for none.
        failed_readings: Readings that failed.
        interrupted: How the run was ended early.
        processors: Processors of the machine.
    """

    before: Environment
    after: Environment
    cycles: int
    cycle_s: float
    layers: int
    fresh_values: int | None = None
    value_every_s: float | None = None
    averaging_s: float = 0.0
    failed_readings: int = 0
    interrupted: str | None = None
    processors: int = 1


def verdict(run: RunFacts) -> list[str]:
    """What a reader should know before trusting a run: a sentence for each thing, none where nothing was found."""
    found = [*_ended(run), *_clocks(run), *_throttled(run), *_shared(run), *_sensor(run), *_cycles(run)]
    return [sentence for sentence in found if sentence]


def _ended(run: RunFacts) -> list[str]:
    return [f"interrupted: {run.interrupted}"] if run.interrupted else []


def _clocks(run: RunFacts) -> list[str]:
    sentences = []
    if run.before.clocks_locked is False:
        free = [name for name, clock in {**run.before.gpu_clocks, **run.before.cpu_clocks}.items() if not clock.locked]
        sentences.append(
            f"clocks were not locked ({', '.join(free[:4])}): runtimes and power change with the governor's mood; "
            "run `sudo jetson_clocks` first"
        )
    if run.before.power_mode != run.after.power_mode:
        sentences.append(f"the power mode changed from {run.before.power_mode} to {run.after.power_mode} meanwhile")
    return sentences


def _throttled(run: RunFacts) -> list[str]:
    grown = [
        f"{name} from {run.before.throttling.get(name, 0):g} to {value:g}"
        for name, value in run.after.throttling.items()
        if value > run.before.throttling.get(name, 0)
    ]
    sentences = [f"the board was throttled ({', '.join(grown[:4])})"] if grown else []
    rises = {
        zone: value - run.before.temperatures[zone]
        for zone, value in run.after.temperatures.items()
        if zone in run.before.temperatures
    }
    zone = max(rises, key=lambda name: rises[name], default=None)
    if zone is not None and rises[zone] > _WARMING_CELSIUS:
        sentences.append(
            f"{zone} warmed by {rises[zone]:.0f} degrees while it ran, and leakage with it: let the board warm up first"
        )
    return sentences


def _shared(run: RunFacts) -> list[str]:
    sentences = []
    if run.before.gpu_load is not None and run.before.gpu_load > _BUSY_GPU:
        sentences.append(
            f"another process was on the GPU before the run, which was busy {run.before.gpu_load:.0%} of the time"
        )
    load = run.before.load
    if load is not None and load > _BUSY_LOAD * run.processors:
        sentences.append(f"the machine was busy before the run: a load of {load:g} on {run.processors} processors")
    return sentences


def _sensor(run: RunFacts) -> list[str]:
    if run.fresh_values is None:
        return ["no power was recorded: runtimes alone"]
    sentences = []
    if run.failed_readings:
        sentences.append(f"{run.failed_readings} power readings failed")
    if run.value_every_s is not None and run.value_every_s > run.cycle_s:
        sentences.append(
            f"the sensor is slower than the network: a new value comes every {run.value_every_s * 1e3:.2f} ms, and a "
            f"cycle takes {run.cycle_s * 1e3:.2f} ms; layers can only be told apart over many cycles"
        )
    if run.averaging_s > run.cycle_s:
        sentences.append(
            f"the sensor averages over {run.averaging_s * 1e3:.0f} ms and more, which blurs layers and lags behind; "
            "record with --fast, or set its samples to 1"
        )
    needed = _VALUES_PER_LAYER * run.layers
    if run.fresh_values < needed:
        sentences.append(
            f"too few cycles to tell layers apart: {run.fresh_values} fresh power values for {run.layers} layers; "
            f"record about {_two_digits(needed / max(run.fresh_values, 1))} times as many"
        )
    return sentences


def _cycles(run: RunFacts) -> list[str]:
    return [f"too few cycles for a spread: {run.cycles}"] if run.cycles < _FEW_CYCLES else []


def _two_digits(value: float) -> str:
    """Two digits that matter, without an exponent."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
