"""What a deconvolution found on the way, for `mapping.json`, and what a reader should know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.layer_power import LayerPower
from edgewatt.mapping.closure import EnergyClosure
from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fit_response import Fit
from edgewatt.mapping.groups import Grouped
from edgewatt.mapping.intervals import half_width
from edgewatt.mapping.sensor_clock import SensorClock
from edgewatt.mapping.timeline import LayerTimeline
from edgewatt.wording import counted

_MOST_CLOSURE = 0.02
#: Half of the 90 % interval of the network's energy from which on it is told, as a share.
_UNSURE_ENERGY = 0.02


@dataclass(frozen=True)
class Found:
    """What a deconvolution found.

    Attributes:
        timeline: When the layers ran.
        clock: The sensor's clock; None where none was found.
        occupancy: The timeline's segments.
        fit: The fit.
        grouped: The layers' powers.
        power_w: Powers of the segments before layers were grouped.
        covariance: Of all parameters.
        layers: The layers' powers, in the recording's order.
        no_clock: Why there is no clock; empty where there is.
        few: Whether there are too few values for single layers.
    """

    timeline: LayerTimeline
    clock: SensorClock | None
    occupancy: Occupancy
    fit: Fit
    grouped: Grouped
    power_w: NDArray[np.float64]
    covariance: NDArray[np.float64]
    layers: list[LayerPower]
    no_clock: str
    few: bool

    @property
    def network_w(self) -> tuple[float, float]:
        """Mean power while a layer runs, and its standard deviation."""
        count = self.occupancy.layers
        share = self.occupancy.time_s[:count] / self.occupancy.time_s[:count].sum()
        variance = float(share @ self.covariance[:count, :count] @ share)
        return float(share @ self.grouped.power_w), float(np.sqrt(variance))


def warnings_of(found: Found, closure: EnergyClosure, advice: list[str]) -> list[str]:
    """What a reader should know.

    Args:
        found: What was found.
        closure: How the energies add up.
        advice: What would help.
    """
    told = []
    if found.timeline.dropped_cycles:
        told.append(
            f"{counted(found.timeline.dropped_cycles, 'cycle', ('is', 'are'))} left out: "
            "by their times they ran during others"
        )
    if found.no_clock:
        told.append(
            "the sensor refreshes faster than it was polled, or too rarely, and its clock was not found "
            f"({found.no_clock}): only the network's power is told, and no layer's"
        )
    elif found.few:
        told.append(
            f"the recording holds {len(found.fit.rows)} fresh values for {len(found.covariance)} unknowns: only the "
            "network's power is told, and no layer's"
        )
    power_w, error_w = found.network_w
    unsure = float(half_width(np.array([error_w]))[0]) / power_w
    if unsure > _UNSURE_ENERGY:
        told.append(f"the energy of the whole network is only told give or take {unsure:.1%}")
    cycle_s = (found.occupancy.finish_s - found.occupancy.begin_s) / len(found.timeline.start_s)
    if found.no_clock and found.fit.response.lag_s > cycle_s:
        told.append(
            "the sensor averages over more than a cycle: how the energy is shared between the network and the time "
            "between inferences is only told roughly"
        )
    if abs(closure.difference) > _MOST_CLOSURE:
        told.append(
            f"the energies of layers and gaps differ by {closure.difference:.1%} from the measured energy of "
            f"{closure.measured_j:.4g} J"
        )
    return told + advice


def diagnostics(found: Found, advice: list[str]) -> dict[str, Any]:
    """What was found, with standard errors.

    Args:
        found: What was found.
        advice: What would help.
    """
    fit, clock, timeline, occupancy = found.fit, found.clock, found.timeline, found.occupancy
    deviation = np.sqrt(np.diag(found.covariance))
    first = len(fit.solution.power_w) + fit.drift.shape[1]
    response: dict[str, Any] = {"samples": fit.response.samples, "lag_s": 0.0}
    for column, name in enumerate(fit.response_names):
        response[name] = getattr(fit.response, name)
        response[f"{name.removesuffix('_s')}_error_s"] = float(deviation[first + column])
    drift = fit.drift @ fit.solution.drift
    return {
        "timeline": {
            "stamps": timeline.stamps,
            "usual_gap_s": timeline.usual_gap_s,
            "dropped_cycles": timeline.dropped_cycles,
            "timing_spread_s": fit.noise.timing_s,
            "pause_before_layers_s": fit.spacing_s,
        },
        "clock": None
        if clock is None
        else {
            "period_s": clock.period_s,
            "largest_drift": clock.drift,
            "tick_error_s": clock.uncertainty_s,
            "brackets": clock.brackets,
        },
        "response": response,
        "noise_w": fit.noise.sensor_w,
        "fresh_values": len(fit.rows),
        "drift_of_power": {"first_to_last_w": float(drift[-1] - drift[0]), "deviation_w": float(drift.std())},
        "gaps": [
            {
                "name": name,
                "time_s": float(occupancy.time_s[occupancy.layers + index]),
                "power_w": float(found.power_w[occupancy.layers + index]),
                "power_error_w": float(deviation[occupancy.layers + index]),
            }
            for index, name in enumerate(occupancy.names)
        ],
        "groups": [
            [found.layers[int(timeline.order[at])].layer_name for at in group] for group in found.grouped.groups
        ],
        "network": dict(zip(("power_w", "power_error_w"), found.network_w, strict=True)),
        "advice": advice,
    }
