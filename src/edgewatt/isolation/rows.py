"""An isolated recording as rows of `layer_power.csv`, and how its layers add up to the network."""

from __future__ import annotations

from dataclasses import dataclass

from edgewatt.formats.isolated import IsolatedPlan
from edgewatt.formats.layer_power import LayerPower
from edgewatt.isolation.evaluate import IsolatedResult, SubjectResult

#: Why a layer has no row where its turn has not come.
NOT_YET = "not measured yet"


def layer_rows(plan: IsolatedPlan, result: IsolatedResult) -> list[LayerPower]:
    """A row for each layer that was measured or that takes no time, in execution order.

    Args:
        plan: What was measured.
        result: What was found.
    """
    rows = []
    for layer in plan.layers:
        if not layer.executed:
            rows.append(_row(layer.name, layer.backend_type, None, None))
        elif layer.subject is not None and layer.subject in result.subjects:
            rows.append(_row(layer.name, layer.backend_type, result.subjects[layer.subject], result.idle_power_w))
    return rows


def left_out(plan: IsolatedPlan, result: IsolatedResult) -> dict[str, str]:
    """Why each layer that is executed and was not measured was not, by name."""
    return {
        layer.name: layer.reason or NOT_YET
        for layer in plan.layers
        if layer.executed and layer.subject not in result.subjects
    }


def subject_names(plan: IsolatedPlan) -> dict[str, str]:
    """What each subject is called in messages: the first of its layers."""
    names: dict[str, str] = {}
    for layer in plan.layers:
        if layer.subject is not None:
            names.setdefault(layer.subject, layer.name)
    if plan.whole is not None:
        names[plan.whole] = "the network as a whole"
    if plan.probe is not None:
        names[plan.probe] = "the probe"
    return names


def _row(name: str, backend_type: str, found: SubjectResult | None, idle_w: float | None) -> LayerPower:
    if found is None:
        return LayerPower(name, backend_type, 0.0, None, None, None, None, None, 0, None)
    above_w, half_w, half_s = found.above_idle_w, found.above_idle_half_w, found.runtime_half_s
    power_w = None if above_w is None or idle_w is None else above_w + idle_w
    known = power_w is not None and half_w is not None
    return LayerPower(
        layer_name=name,
        layer_type=backend_type,
        runtime_ms=found.runtime_s * 1e3,
        power_w=power_w,
        power_above_idle_w=above_w,
        power_low_w=power_w - half_w if power_w is not None and half_w is not None else None,
        power_high_w=power_w + half_w if power_w is not None and half_w is not None else None,
        energy_mj=None if power_w is None else power_w * found.runtime_s * 1e3,
        samples=found.values,
        identifiable=None if power_w is None else known,
        runtime_low_ms=None if half_s is None else max(found.runtime_s - half_s, 0.0) * 1e3,
        runtime_high_ms=None if half_s is None else (found.runtime_s + half_s) * 1e3,
    )


@dataclass(frozen=True)
class Sums:
    """What the layers add up to, beside the network as it was run in the same sitting.

    Attributes:
        layers_s: Sum of their runtimes.
        layers_j: Sum of their energies with idle; None without a sensor.
        network_s: Time of the network's layers in a cycle; None where it was not run.
        network_j: Its energy in that time with idle.
        left_out: Layers that are executed and were not measured.
    """

    layers_s: float
    layers_j: float | None
    network_s: float | None
    network_j: float | None
    left_out: int

    @property
    def runtime_ratio(self) -> float | None:
        """Sum of the layers' runtimes by the network's."""
        return None if not self.network_s else self.layers_s / self.network_s

    @property
    def energy_closure(self) -> float | None:
        """(Layers - network) / network, of energies; None where a layer was left out or no power was measured."""
        if self.layers_j is None or not self.network_j or self.left_out:
            return None
        return self.layers_j / self.network_j - 1


def sums(plan: IsolatedPlan, result: IsolatedResult) -> Sums:
    """Add up the layers.

    Args:
        plan: What was measured.
        result: What was found.
    """
    rows = layer_rows(plan, result)
    energies = [row.energy_mj for row in rows if row.runtime_ms > 0]
    whole = None if plan.whole is None else result.subjects.get(plan.whole)
    network_j = None
    if whole is not None and whole.above_idle_w is not None and result.idle_power_w is not None:
        network_j = (whole.above_idle_w + result.idle_power_w) * whole.runtime_s
    return Sums(
        layers_s=sum(row.runtime_ms for row in rows) / 1e3,
        layers_j=None if None in energies or not energies else sum(e for e in energies if e is not None) / 1e3,
        network_s=None if whole is None else whole.runtime_s,
        network_j=network_j,
        left_out=len(left_out(plan, result)),
    )
