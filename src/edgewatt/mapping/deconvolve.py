"""The power of each layer from a whole recording.

A sensor value is an average over many layers, and older than it looks. But a recording holds thousands of values, each
with another mixture of layers in it, because the sensor's clock drifts through the cycles. The mixtures follow from the
timeline, the clock and the response; the powers that explain all values at once are the layers'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.errors import EdgewattError
from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.power_log import PowerLog
from edgewatt.formats.recording import Recording
from edgewatt.mapping.advice import advise
from edgewatt.mapping.closure import EnergyClosure
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.diagnostics import Found, diagnostics, warnings_of
from edgewatt.mapping.fast_fit import fit_fast
from edgewatt.mapping.fit_response import Fit, ResponseFit
from edgewatt.mapping.fresh_values import FreshValues, fresh_values, values_by_reading
from edgewatt.mapping.groups import Grouped, group_layers, one_group, told_deviation
from edgewatt.mapping.intervals import half_width, joint_covariance
from edgewatt.mapping.known_sensor import known_sensor
from edgewatt.mapping.sensor_clock import find_sensor_clock
from edgewatt.mapping.solve import Prior, solve
from edgewatt.mapping.summary import mean_interval
from edgewatt.mapping.timeline import LayerTimeline, lay_out, spaced

#: With fewer fresh values for each unknown no layer is told.
_VALUES_FOR_EACH = 4


@dataclass(frozen=True)
class DeconvolvedRun:
    """What a recording tells of its layers.

    Attributes:
        layers: Each layer's power, in the recording's order.
        diagnostics: What was estimated on the way, with standard errors, for `mapping.json`.
        energy_closure: Whether the energies add up.
        warnings: What a reader should know.
    """

    layers: list[LayerPower]
    diagnostics: dict[str, Any]
    energy_closure: EnergyClosure
    warnings: list[str]


def deconvolve(
    recording: Recording, idle_power_w: float, *, progress: Callable[[str], None] | None = None
) -> DeconvolvedRun:
    """Find the power of each layer.

    Args:
        recording: The recording.
        idle_power_w: Idle power in W.
        progress: Called with what is done next.

    Raises:
        EdgewattError: The power log holds too few values during the run.
    """
    say = progress or (lambda _: None)
    log = recording.power_log
    origin_us = int(log.times_us[0])
    known = known_sensor(recording.run_info)
    timeline = lay_out(recording.layers, recording.run_info, origin_us)
    occupancy = Occupancy(timeline)
    say("sensor clock")
    readings = values_by_reading(log, origin_us)
    mean_w = _mean_power_w(readings, occupancy)
    prior = _first_prior(occupancy, mean_w, idle_power_w)
    clock = find_sensor_clock(readings.tick_s, log.current_ma, known.period_s)
    respace = None if timeline.stamps == "own ends" else lambda spacing_s: Occupancy(spaced(timeline, spacing_s))
    no_clock = ""
    if clock is None:
        fast = fit_fast(log, readings, occupancy, known, prior, _step_w(log), say)
        clock, fresh, fit, prior, no_clock = fast.clock, fast.fresh, fast.fit, fast.prior, fast.reason
    else:
        fresh = fresh_values(log, clock, origin_us)
        fit, prior = ResponseFit(occupancy, fresh, known, prior, _step_w(log), say, respace).run()
    occupancy = fit.occupancy
    say("intervals")
    covariance = joint_covariance(fit, prior)
    power_w = _bounded_powers(fit, prior, covariance, idle_power_w)
    count, time_s = occupancy.layers, occupancy.time_s[: occupancy.layers]
    told_w = _told_w(power_w, occupancy, idle_power_w)
    of_layers = covariance[:count, :count]
    # Values of unknown age, and hardly more of them than unknowns, fit many sets of powers about as well.
    few = len(fit.rows) < _VALUES_FOR_EACH * len(covariance)
    if clock is None or few:
        grouped = one_group(power_w[:count], of_layers, time_s, max(mean_w - idle_power_w, 0.0))
    else:
        spread_w = float(np.median(prior.deviation_w[:count][time_s > 0]))
        grouped = group_layers(power_w[:count], of_layers, time_s, told_w, spread_w)
    closure = _closure(log, occupancy, fit, grouped, power_w, origin_us)
    layers = _layer_powers(recording, timeline, occupancy, fit, grouped, idle_power_w)
    advice = advise(fit, fresh, occupancy, grouped, told_w, len(timeline.start_s))
    found = Found(timeline, clock, occupancy, fit, grouped, power_w, covariance, layers, no_clock, few)
    return DeconvolvedRun(layers, diagnostics(found, advice), closure, warnings_of(found, closure, advice))


def _mean_power_w(fresh: FreshValues, occupancy: Occupancy) -> float:
    inside = fresh.seen & (fresh.tick_s > occupancy.begin_s) & (fresh.tick_s < occupancy.finish_s)
    if not inside.any():
        raise EdgewattError(
            "no reading was taken while the recorded cycles ran",
            fix="Record again, the power log over the whole run",
        )
    return float(fresh.power_w[inside].mean())


def _first_prior(occupancy: Occupancy, mean_w: float, idle_power_w: float) -> Prior:
    """Each segment draws the mean power, give or take twice what the network adds to idle."""
    segments = len(occupancy.time_s)
    return Prior(np.full(segments, mean_w), np.full(segments, 2 * max(mean_w - idle_power_w, 0.05 * mean_w, 1e-3)))


def _step_w(log: PowerLog) -> float:
    """Smallest step of the log's powers: smallest difference of currents at the mean voltage."""
    currents = np.unique(log.current_ma)
    step_ma = float(np.diff(currents).min()) if len(currents) > 1 else 1.0
    return max(step_ma * float(np.abs(log.voltage_mv).mean()) / 1e6, 1e-6)


def _bounded_powers(
    fit: Fit, prior: Prior, covariance: NDArray[np.float64], idle_power_w: float
) -> NDArray[np.float64]:
    """Powers of the segments, none further below idle than its standard error."""
    deviation = np.sqrt(np.diag(covariance))[: len(fit.solution.power_w)]
    least_w = idle_power_w - deviation
    return solve(fit.shares, fit.drift, fit.value_w, fit.weight, prior, least_w).power_w


def _told_w(power_w: NDArray[np.float64], occupancy: Occupancy, idle_power_w: float) -> float:
    """Standard deviation up to which a layer's power counts as told."""
    layers = occupancy.layers
    time_s = occupancy.time_s[:layers]
    return told_deviation(max(float(time_s @ power_w[:layers] / time_s.sum()) - idle_power_w, 1e-6))


def _closure(
    log: PowerLog,
    occupancy: Occupancy,
    fit: Fit,
    grouped: Grouped,
    power_w: NDArray[np.float64],
    origin_us: int,
) -> EnergyClosure:
    """Energies of the recording: readings held until the next, against powers times times."""
    response = fit.response
    age_s = response.delay_s + 0.5 * response.length_s + response.lag_s
    edges = (np.append(log.times_us, log.times_us[-1]) - origin_us) / 1e6 - age_s
    edges = np.clip(edges, occupancy.begin_s, occupancy.finish_s)
    covered_s = float(edges[-1] - edges[0])
    whole_s = occupancy.finish_s - occupancy.begin_s
    measured_j = float(np.diff(edges) @ log.power_uw) / 1e6 * whole_s / covered_s
    layers = occupancy.layers
    of_layers_s, of_gaps_s = occupancy.time_s[:layers], occupancy.time_s[layers:]
    layers_j, gaps_j = float(grouped.power_w @ of_layers_s), float(power_w[layers:] @ of_gaps_s)
    difference = (layers_j + gaps_j - measured_j) / measured_j
    return EnergyClosure(measured_j, layers_j, gaps_j, difference, float(of_layers_s.sum()), float(of_gaps_s.sum()))


def _layer_powers(
    recording: Recording,
    timeline: LayerTimeline,
    occupancy: Occupancy,
    fit: Fit,
    grouped: Grouped,
    idle_power_w: float,
) -> list[LayerPower]:
    half = half_width(grouped.deviation_w)
    values = np.count_nonzero(fit.shares[:, : occupancy.layers] > 1e-6, axis=0)
    position = np.argsort(timeline.order)
    runtimes = recording.layers.latency_ms.mean(axis=1)
    rows: list[LayerPower] = []
    for index, (name, kind) in enumerate(zip(recording.layers.names, recording.layers.types, strict=True)):
        at = int(position[index])
        executed = bool(occupancy.time_s[at] > 0)
        power_w, runtime_ms = float(grouped.power_w[at]), float(runtimes[index])
        runtime_low_ms, runtime_high_ms = mean_interval(recording.layers.latency_ms[index])
        rows.append(
            LayerPower(
                layer_name=name,
                layer_type=kind,
                runtime_ms=runtime_ms,
                power_w=power_w if executed else None,
                power_above_idle_w=power_w - idle_power_w if executed else None,
                power_low_w=power_w - float(half[at]) if executed else None,
                power_high_w=power_w + float(half[at]) if executed else None,
                energy_mj=power_w * runtime_ms if executed else 0.0,
                samples=int(values[at]) if executed else 0,
                identifiable=bool(grouped.identifiable[at]),
                runtime_low_ms=runtime_low_ms,
                runtime_high_ms=runtime_high_ms,
            )
        )
    return rows
