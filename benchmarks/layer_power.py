"""How right the layers' powers are, on simulated boards whose truth is known. Prints tables.

    python benchmarks/layer_power.py                          all tables
    python benchmarks/layer_power.py --tables sensor cycles   some of them
    python benchmarks/layer_power.py --seeds 1 --cycles 3000  a quick look

The estimator is told nothing that a recorder of the base format does not write, except in rows that say "run.json".
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from edgewatt.formats.engine_info import EngineInfo
from edgewatt.formats.layer_cycles import LayerCycles
from edgewatt.formats.recording import Recording, RecordingPaths
from edgewatt.formats.run_info import RunInfo
from edgewatt.mapping.deconvolve import DeconvolvedRun, deconvolve
from edgewatt.mapping.summary import summarise
from edgewatt.mapping.window import reading_ranges, window_power
from edgewatt.networks.architectures import network_layers
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.recording import SimulatedRecording, simulate_network
from edgewatt.simulation.settings import REFERENCE, REFERENCE_WITH_LAG, SimulationSettings


@dataclass(frozen=True)
class Case:
    """One row of a table.

    Attributes:
        name: What it is called.
        settings: How it is simulated.
        network: The network.
        with_run: Whether `run.json` is there.
    """

    name: str
    settings: SimulationSettings
    network: str
    with_run: bool = False


@dataclass(frozen=True)
class Score:
    """How right one mapping of one recording is.

    Attributes:
        error: Mean absolute error of power above idle over the executed layers, relative to its mean.
        correlation: Pearson's r of estimate and truth.
        covered: Share of layers whose 90 % interval holds the truth.
        told: Share of layers said to be identifiable.
        network: Relative error of the layers' summed energy.
        bound: The same error as `error` that the Cramer-Rao bound allows, if estimates were normal.
        window_error: `error` of the window method.
        window_correlation: `correlation` of it.
        seconds: Processor time of the deconvolution.
    """

    error: float
    correlation: float
    covered: float
    told: float
    network: float
    bound: float
    window_error: float
    window_correlation: float
    seconds: float


def recording_of(simulated: SimulatedRecording, settings: SimulationSettings, *, with_run: bool) -> Recording:
    """What a recorder would have read back."""
    latencies = simulated.latencies
    assert latencies.end_us is not None
    layers = LayerCycles(
        latencies.names,
        tuple("" for _ in latencies.names),
        np.array(latencies.latency_ms),
        np.array(latencies.end_us),
    )
    run = None
    if with_run:
        conversion_us = settings.sensor.conversion_time_s * 1e6
        run = RunInfo(
            model=simulated.name,
            board="simulated",
            sensor={
                "samples": settings.sensor.samples,
                "channels": settings.sensor.channels,
                "shunt_conversion_time_us": conversion_us,
                "bus_conversion_time_us": conversion_us,
            },
            cycle_start_us=simulated.call_start_us.tolist(),
            cycle_end_us=simulated.call_end_us.tolist(),
        )
    paths = RecordingPaths(Path(simulated.name))
    return Recording(paths, simulated.power_log, layers, EngineInfo((), ()), None, run)


def score(case: Case, seed: int) -> Score:
    """Simulate, map with both methods, compare."""
    layers = network_layers(case.network)
    simulated = simulate_network(layers, ORIN_NANO, case.settings, name=Path(case.network).stem, seed=seed)
    recording = recording_of(simulated, case.settings, with_run=case.with_run)
    started = time.process_time()
    run = deconvolve(recording, simulated.idle_power_w)
    seconds = time.process_time() - started
    truth = simulated.truth["power_above_idle_w"].to_numpy()
    runtime = simulated.truth["runtime_ms"].to_numpy()
    executed = runtime > 0
    estimate = _column(run, "power_above_idle_w")
    low, high = _column(run, "power_low_w"), _column(run, "power_high_w")
    true_power = simulated.truth["power_w"].to_numpy()
    window = _window_powers(recording, simulated.idle_power_w)
    energy = (estimate + simulated.idle_power_w)[executed] @ runtime[executed]
    true_energy = true_power[executed] @ runtime[executed]
    told = [bool(layer.identifiable) for layer, ran in zip(run.layers, executed, strict=True) if ran]
    return Score(
        error=_error(estimate[executed], truth[executed]),
        correlation=_correlation(estimate[executed], truth[executed]),
        covered=float(np.mean((low <= true_power)[executed] & (true_power <= high)[executed])),
        told=float(np.mean(told)),
        network=float(energy / true_energy - 1),
        bound=cramer_rao(case.settings, simulated)[executed].mean() * np.sqrt(2 / np.pi) / truth[executed].mean(),
        window_error=_error(window[executed], truth[executed]),
        window_correlation=_correlation(window[executed], truth[executed]),
        seconds=seconds,
    )


def _column(run: DeconvolvedRun, name: str) -> NDArray[np.float64]:
    return np.array([np.nan if getattr(row, name) is None else getattr(row, name) for row in run.layers])


def _window_powers(recording: Recording, idle_power_w: float) -> NDArray[np.float64]:
    ranges = reading_ranges(recording.layers, recording.power_log)
    rows = summarise(recording.layers, window_power(ranges, recording.power_log), idle_power_w * 1e6)
    # Layers without any reading are given the others' mean.
    powers = np.array([np.nan if row.power_above_idle_w is None else row.power_above_idle_w for row in rows])
    return np.where(np.isnan(powers), np.nanmean(powers), powers)


def _error(estimate: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    return float(np.mean(np.abs(estimate - truth)) / np.mean(truth))


def _correlation(estimate: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    if np.ptp(estimate) < 1e-9:
        return 0.0  # all layers share one power
    return float(np.corrcoef(estimate, truth)[0, 1])


def cramer_rao(settings: SimulationSettings, simulated: SimulatedRecording) -> NDArray[np.float64]:
    """Least standard deviation of each layer's power that any unbiased estimator can have, in W.

    From the simulation's own truth, by brute force and sharing nothing with the estimator. A conversion's value is
    normal around its true mean, with the sensor's noise, its rounding as step / sqrt(12), and a shift of each
    inference, which is known to within its report's delay and shared by all values that it is in. Unknown are the
    layers' and the gaps' powers, the conversion's delay and length, and the lag where there is one; the clock, the
    noise and the drift are taken as known.
    NaN where the chip averages over conversions.
    """
    timeline, sensor, profiler = simulated.timeline, settings.sensor, settings.profiler
    if sensor.samples > 1:
        return np.full(simulated.truth.height, np.nan)
    seen = np.unique(np.searchsorted(simulated.conversions.shunt_end_s, _reading_times_s(simulated, settings)) - 1)
    start, end = simulated.conversions.shunt_start_s[seen], simulated.conversions.shunt_end_s[seen]
    inside = (start > timeline.start_s[10]) & (end < timeline.end_s[-1])
    start, end = start[inside], end[inside]
    trace = _Occupancy(timeline.layer_start_s, timeline.layer_end_s)
    step = 1e-6

    def shares(first: NDArray[np.float64], last: NDArray[np.float64], lag_s: float) -> NDArray[np.float64]:
        return (trace.integral(last, lag_s) - trace.integral(first, lag_s)) / (last - first)[:, None]

    design = shares(start, end, sensor.lag_s)
    power = np.append(simulated.truth["power_above_idle_w"].fill_null(0.0).to_numpy(), settings.cycles.gap_power_w)
    changes = [
        (shares(start + step, end + step, sensor.lag_s) - shares(start - step, end - step, sensor.lag_s)) @ power,
        (shares(start - step, end, sensor.lag_s) - shares(start + step, end, sensor.lag_s)) @ power,
    ]
    if sensor.lag_s > 0:
        longer, shorter = (shares(start, end, sensor.lag_s + sign * step) for sign in (1, -1))
        changes.append((longer - shorter) @ power)
    columns = np.column_stack([design, *(change / (2 * step) * 1e-5 for change in changes)])
    noise_a = sensor.current_noise_a * np.sqrt(1.1e-3 / sensor.conversion_time_s)
    volts = ORIN_NANO.bus_voltage_v
    variance = (noise_a * volts) ** 2 + (sensor.current_step_a * volts) ** 2 / 12
    timing_s = 0.0 if profiler.own_ends else (profiler.report_delay_s[1] - profiler.report_delay_s[0]) / np.sqrt(12)
    shifts = _shifts(simulated, trace, start, end, power, sensor.lag_s) * timing_s
    information = _information(columns, variance, shifts)
    alive = np.diag(information) > 0
    deviation = np.full(len(power), np.inf)
    inverse = np.linalg.inv(information[np.ix_(alive, alive)])
    deviation[alive[: len(power)]] = np.sqrt(np.diag(inverse))[: np.count_nonzero(alive[: len(power)])]
    return deviation[:-1]


def _shifts(
    simulated: SimulatedRecording,
    trace: _Occupancy,
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    power: NDArray[np.float64],
    lag_s: float,
) -> sparse.csr_array:
    """Change of each value in W/s by a shift of each inference, shape (values, cycles).

    A conversion that begins and ends in one inference sees it shifted at both edges. What earlier inferences have left
    in the lag is counted as the last one's.
    """
    step, gap = 1e-6, power[-1]
    borders = 0.5 * (simulated.timeline.end_s[:-1] + simulated.timeline.start_s[1:])
    rows, cycles, slopes = [], [], []
    for edge, sign in ((end, -1.0), (start, 1.0)):
        now = (trace.integral(edge + step, lag_s) - trace.integral(edge - step, lag_s)) @ power / (2 * step) - gap
        rows.append(np.arange(len(edge)))
        cycles.append(np.searchsorted(borders, edge))
        slopes.append(sign * now / (end - start))
    shape = (len(start), len(borders) + 1)
    return sparse.csr_array((np.concatenate(slopes), (np.concatenate(rows), np.concatenate(cycles))), shape=shape)


def _information(columns: NDArray[np.float64], variance: float, shifts: sparse.csr_array) -> NDArray[np.float64]:
    """Fisher information of values with independent noise, and noise that the values of an inference share.

    With C the columns, S the shifts and v the variance, C' inverse(v + S S') C by Woodbury's formula.
    """
    inner = sparse.eye_array(shifts.shape[1], format="csc") * variance + (shifts.T @ shifts).tocsc()
    seen = shifts.T @ columns
    return np.asarray((columns.T @ columns - seen.T @ splu(inner.tocsc()).solve(seen)) / variance)


def _reading_times_s(simulated: SimulatedRecording, settings: SimulationSettings) -> NDArray[np.float64]:
    logged = (simulated.power_log.times_us - simulated.start_us) / 1e6
    return np.asarray(logged - 0.5 * settings.sensor.read_time_s)


class _Occupancy:
    """Integrals of "this layer runs" over time, and of the gap, behind a lag; by scanning all segments in order."""

    def __init__(self, start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> None:
        cycles, layers = start_s.shape
        gap_end = np.append(start_s[1:, 0], end_s[-1, -1] + 1e-3)
        self._edges = np.append(np.column_stack((start_s, end_s[:, -1])).ravel(), gap_end[-1])
        self._columns = layers + 1
        self._kind = np.tile(np.arange(layers + 1), cycles)

    def integral(self, time_s: NDArray[np.float64], lag_s: float) -> NDArray[np.float64]:
        """Shape (times, layers + 1)."""
        at = np.clip(np.searchsorted(self._edges, time_s, side="right") - 1, 0, len(self._kind) - 1)
        lengths = np.diff(self._edges)
        result = np.empty((len(time_s), self._columns))
        for column in range(self._columns):
            on = self._kind == column
            before = np.concatenate(([0.0], np.cumsum(np.where(on, lengths, 0.0))))
            since = time_s - self._edges[at]
            result[:, column] = before[at] + np.where(on[at], since, 0.0)
            if lag_s > 0:
                result[:, column] -= lag_s * self._state(on, lengths, at, since, lag_s)
        return result

    @staticmethod
    def _state(
        on: NDArray[np.bool_],
        lengths: NDArray[np.float64],
        at: NDArray[np.intp],
        since: NDArray[np.float64],
        lag_s: float,
    ) -> NDArray[np.float64]:
        """The lagged indicator at each time: the sum of what the last segments left, 20 lags back or more."""
        state = np.where(on[at], -np.expm1(-since / lag_s), 0.0)
        passed = since.copy()
        segment = at - 1
        while bool(np.any((passed < 20 * lag_s) & (segment >= 0))):
            good = segment >= 0
            index = np.maximum(segment, 0)
            left = np.exp(-passed / lag_s) * -np.expm1(-lengths[index] / lag_s)
            state += np.where(good & on[index], left, 0.0)
            passed = passed + np.where(good, lengths[index], np.inf)
            segment = segment - 1
        return state


def _sensor(base: SimulationSettings, **changes: float) -> SimulationSettings:
    return replace(base, sensor=replace(base.sensor, **changes))  # type: ignore[arg-type]


def tables(network: str, cycles: int) -> dict[str, list[Case]]:
    """The tables' rows."""
    reference, lagged = REFERENCE.with_cycles(cycles), REFERENCE_WITH_LAG.with_cycles(cycles)
    own_ends = replace(reference, profiler=replace(reference.profiler, own_ends=True))
    busy = replace(reference, cycles=replace(reference.cycles, background_w=0.02))
    sensors: dict[str, dict[str, float]] = {
        "1.1 ms x 3 (default)": {},
        "1.1 ms x 1": {"channels": 1},
        "0.14 ms x 3": {"conversion_time_s": 140e-6},
        "0.14 ms x 1": {"conversion_time_s": 140e-6, "channels": 1},
        "1.1 ms x 3, averaging of 4": {"samples": 4},
        "1.1 ms x 3, averaging of 16": {"samples": 16},
        "8.2 ms x 3": {"conversion_time_s": 8244e-6},
    }
    by_sensor = [Case(name, _sensor(reference, **change), network) for name, change in sensors.items()]
    fast = [replace(case, name=f"{case.name}, run.json", with_run=True) for case in by_sensor if "0.14" in case.name]
    return {
        "reference": [
            Case("reference", reference, network),
            Case("reference, run.json", reference, network, with_run=True),
            Case("lag 0.4 ms, drift 4 %", lagged, network),
            Case("layers stamped at own ends", own_ends, network),
            Case("other processes, 20 mW", busy, network),
        ],
        "sensor": by_sensor + fast,
        "cycles": [Case(f"{n:,} cycles", REFERENCE.with_cycles(n), network) for n in (1000, 3000, 10_000, 30_000)],
        "lag": [
            Case(f"lag {lag * 1e3:g} ms", _sensor(reference, lag_s=lag), network) for lag in (0.1e-3, 0.4e-3, 1e-3)
        ],
        "drift": [
            Case(f"drift {w:.0%}", replace(reference, cycles=replace(reference.cycles, warming=w)), network)
            for w in (0.02, 0.04, 0.08)
        ],
        "network": [Case(name, reference, name) for name in ("alexnet", "resnet18", "mobilenet_v2")],
    }


def show(title: str, cases: Sequence[Case], seeds: Sequence[int], say: Callable[[str], None] = print) -> None:
    """Print one table: means over seeds."""
    say(f"\n{title}")
    say(
        f"{'recording':36}{'error':>8}{'r':>7}{'window':>8}{'r':>7}{'covered':>9}{'told':>6}{'energy':>8}{'bound':>8}{'s':>6}"
    )
    for case in cases:
        scores = list(_scores(case, seeds))

        def mean(name: str, scores: list[Score] = scores) -> float:
            return float(np.mean([getattr(one, name) for one in scores]))

        worst = max(abs(one.network) for one in scores)
        say(
            f"{case.name:36}{mean('error'):8.2%}{mean('correlation'):7.3f}{mean('window_error'):8.1%}"
            f"{mean('window_correlation'):7.2f}{mean('covered'):9.0%}{mean('told'):6.0%}{worst:8.2%}"
            f"{mean('bound'):8.2%}{mean('seconds'):6.1f}"
        )


def _scores(case: Case, seeds: Sequence[int]) -> Iterator[Score]:
    for seed in seeds:
        yield score(case, seed)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=None, help="reference, sensor, cycles, lag, drift, network")
    parser.add_argument("--network", default="resnet18", help="an architecture, or the JSON of an engine inspector")
    parser.add_argument("--cycles", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    chosen = tables(arguments.network, arguments.cycles)
    for name in arguments.tables or list(chosen):
        if name not in chosen:
            parser.error(f"there is no table {name!r}; there are {', '.join(chosen)}")
        show(name, chosen[name], range(arguments.seeds))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\npeak memory {peak:.2f} GiB; error, r, window, covered, told, bound and s are means over", end=" ")
    print(f"{arguments.seeds} recordings, energy is the worst")


if __name__ == "__main__":
    main()
