"""What changed between two results of a network, layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edgewatt.comparison.change import Change, change, changes
from edgewatt.comparison.match import LEAST_SHARED, Match, match_layers
from edgewatt.errors import EdgewattError, printable
from edgewatt.networks.layer import LayerKind
from edgewatt.results.environment import environment_differences
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import LayerResult, NetworkResult
from edgewatt.results.totals import common_totals
from edgewatt.tabular import Tabular
from edgewatt.wording import counted


@dataclass(frozen=True)
class LayerChange:
    """What changed of one layer.

    Attributes:
        before: The layer before; None where it is new.
        after: The layer after; None where it is gone.
        runtime_s: Its runtime.
        power_w: Its power, with idle or above it as the comparison says.
        energy_j: Its energy, likewise.
    """

    before: LayerResult | None
    after: LayerResult | None
    runtime_s: Change
    power_w: Change
    energy_j: Change

    @property
    def name(self) -> str:
        """Its name after the change, or before it where it is gone."""
        found = self.after or self.before
        return "" if found is None else found.name

    @property
    def kind(self) -> LayerKind:
        """Its kind."""
        found = self.after or self.before
        return LayerKind.OTHER if found is None else found.kind

    @property
    def renamed(self) -> bool:
        """Whether it was matched by its place and shape, and not by its name."""
        return self.before is not None and self.after is not None and self.before.name != self.after.name

    @property
    def beyond_noise(self) -> bool:
        """Whether anything of it changed beyond the noise."""
        return any(item.beyond_noise for item in (self.runtime_s, self.power_w, self.energy_j))


@dataclass(frozen=True)
class Comparison(Tabular):
    """What changed between two results.

    Attributes:
        before: The first result.
        after: The second.
        layers: Layers of both, in the order of the second; those that are gone come last.
        runtime_s: Runtime of a cycle.
        power_w: Mean power.
        energy_j: Energy of a cycle.
        with_idle: Whether powers and energies hold idle power.
        totals_of: What the totals are of: whole cycles, sums of layers, or whole runs.
        doubts: Why to take the comparison with care.
    """

    before: NetworkResult
    after: NetworkResult
    layers: tuple[LayerChange, ...]
    runtime_s: Change
    power_w: Change
    energy_j: Change
    with_idle: bool
    totals_of: str
    doubts: tuple[str, ...]


def compare_results(before: NetworkResult, after: NetworkResult, *, force: bool = False) -> Comparison:
    """Say what changed between two results.

    Args:
        before: The first.
        after: The second.
        force: Compare also what differs in its environment or is another network; what differs becomes a doubt.

    Raises:
        EdgewattError: Their environments differ, or they share less than half of their layers.
    """
    match = match_layers(before.layers, after.layers)
    differences = environment_differences([before, after])
    if match.shared < LEAST_SHARED:
        differences.append(f"different networks: they share {match.shared:.0%} of their layers")
    if differences and not force:
        raise EdgewattError(
            "the two were not made alike, so their difference is not that of the network: " + "; ".join(differences),
            where=f"{printable(str(before.path))} and {printable(str(after.path))}",
            fix="Compare them all the same with --force",
        )
    with_idle = before.with_idle and after.with_idle
    first, second = common_totals([before, after], with_idle=with_idle)
    return Comparison(
        before=before,
        after=after,
        layers=_layer_changes(before, after, match, with_idle),
        runtime_s=change(first.runtime_s, second.runtime_s),
        power_w=change(first.power_w, second.power_w),
        energy_j=change(first.energy_j, second.energy_j),
        with_idle=with_idle,
        totals_of=first.of,
        doubts=(*differences, *_doubts(before, after, match)),
    )


def _layer_changes(
    before: NetworkResult, after: NetworkResult, match: Match, with_idle: bool
) -> tuple[LayerChange, ...]:
    partners = {second: first for first, second in match.pairs}
    rows: list[tuple[LayerResult | None, LayerResult | None]] = [
        (before.layers[partners[i]] if i in partners else None, layer) for i, layer in enumerate(after.layers)
    ]
    rows += [(before.layers[i], None) for i in match.only_first]

    def compared(quantity: Callable[[LayerResult], Estimate | None]) -> list[Change]:
        return changes([tuple(None if layer is None else quantity(layer) for layer in row) for row in rows])  # type: ignore[misc]

    runtimes = compared(lambda layer: layer.runtime_s)
    powers = compared(lambda layer: layer.power_w if with_idle else layer.power_above_idle_w)
    energies = compared(lambda layer: layer.energy_j if with_idle else layer.energy_above_idle_j)
    return tuple(
        LayerChange(first, second, runtime, power, energy)
        for (first, second), runtime, power, energy in zip(rows, runtimes, powers, energies, strict=True)
    )


def _doubts(before: NetworkResult, after: NetworkResult, match: Match) -> list[str]:
    found = []
    if before.measured != after.measured:
        found.append("one was measured and the other predicted")
    elif not before.measured:
        found.append("both are predictions: errors that they share cancel, so their intervals are the widest case")
    if match.only_first or match.only_second:
        found.append(f"{counted(len(match.only_second), 'layer', ('is', 'are'))} new and {len(match.only_first)} gone")
    hidden = sum(layer.identifiable is False for result in (before, after) for layer in result.layers)
    if hidden:
        found.append("some layers are not told apart from their neighbours; their own changes may hide among them")
    return found
