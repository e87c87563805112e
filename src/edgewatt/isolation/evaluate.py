"""Power, runtime and interval of each subject, from its visits.

In a loop calls follow each other, and in each call the copies of a layer:

    | own | layer layer layer ... layer | own | between | own | layer layer ...
          one call --------------------------->

What a call takes of its own, beside its layers, and what the board draws then, are the same for all subjects of a
round, and one subject shows them: the *probe*, a single copy of a layer that is measured in many copies as well.

    call time       copies x layer + own        and for the probe        layer + own
    mean power      (layers' power x their share of the time) + (rest power x the rest of it)

Two equations for each of two unknowns, round by round. Power above idle is that above the idle power of the same
round, as it was when the layer ran: a line through the round's pauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from scipy import stats

from edgewatt.formats.isolated import IsolatedPlan, IsolatedSubject, Visit

#: Ends of the interval: a 90 % one, as everywhere.
_QUANTILE = 0.95
#: Rounds of a layer may differ by this before its verdict says so; chosen as what noise and clocks usually stay below.
_STEADY = 0.05
#: Less of the network's own time than this was the layer's: what the backend added decides as much as the layer.
_OWN_SHARE = 0.8


@dataclass(frozen=True)
class RoundValue:
    """What one round says of a subject.

    Attributes:
        number: The round.
        runtime_s: Time of one copy.
        power_w: Power while it runs, idle included; None without a sensor.
        idle_w: Idle power at that time.
        values: Values of the sensor behind it.
    """

    number: int
    runtime_s: float
    power_w: float | None
    idle_w: float | None
    values: int

    @property
    def above_idle_w(self) -> float | None:
        """Power above idle."""
        return None if self.power_w is None or self.idle_w is None else self.power_w - self.idle_w


@dataclass(frozen=True)
class SubjectResult:
    """What the rounds say of a subject together.

    Attributes:
        key: The subject.
        rounds: Each round.
        runtime_s: Mean time of one copy.
        runtime_half_s: Half of the 90 % interval of it; None below two rounds.
        above_idle_w: Mean power above idle; None without a sensor.
        above_idle_half_w: Half of the 90 % interval of it; None below two rounds.
        values: Values of the sensor behind it.
        verdict: What stands against trusting it, a sentence each.
    """

    key: str
    rounds: tuple[RoundValue, ...]
    runtime_s: float
    runtime_half_s: float | None
    above_idle_w: float | None
    above_idle_half_w: float | None
    values: int
    verdict: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallCost:
    """What a call takes beside its layers.

    Attributes:
        own_s: Time of it.
        rest_w: Power in that time and between calls; None where it is not known.
    """

    own_s: float = 0.0
    rest_w: float | None = None


@dataclass(frozen=True)
class IsolatedResult:
    """What an isolated recording says.

    Attributes:
        subjects: Results by key.
        idle_power_w: Mean idle power over all rounds; None without a sensor.
        idle_change_w: How far idle power rose from the first pause to the last; None without a sensor.
        call: What a call takes beside its layers, mean over rounds.
    """

    subjects: Mapping[str, SubjectResult]
    idle_power_w: float | None = None
    idle_change_w: float | None = None
    call: CallCost = field(default_factory=CallCost)


def evaluate(plan: IsolatedPlan, visits: Sequence[Visit]) -> IsolatedResult:
    """Evaluate a recording's visits.

    Args:
        plan: What was measured.
        visits: All visits, of the rounds that were finished and of those that were not.
    """
    sittings: dict[tuple[int, int], list[Visit]] = {}
    for visit in visits:
        sittings.setdefault((visit.round, visit.sitting), []).append(visit)
    idle = {place: _IdleLine.of(some) for place, some in sittings.items()}
    costs = {place: _call_cost(plan, some) for place, some in sittings.items()}
    mean_cost = _mean_cost([cost for cost in costs.values() if cost is not None])
    by_subject: dict[str, list[RoundValue]] = {}
    described = {subject.key: subject for subject in plan.subjects}
    for place, some in sittings.items():
        cost = costs[place] or mean_cost
        for visit in some:
            if visit.kind == "loop" and visit.subject in described:
                value = _round_value(visit, described[visit.subject], cost, idle[place])
                by_subject.setdefault(visit.subject, []).append(value)
    doubts = _doubts_of_visits(visits)
    results = {
        key: _together(key, values, described[key], plan, doubts.get(key, [])) for key, values in by_subject.items()
    }
    pauses = [visit for visit in visits if visit.kind == "idle" and visit.power_w is not None]
    powers = [visit.power_w for visit in pauses if visit.power_w is not None]
    return IsolatedResult(
        subjects=results,
        idle_power_w=float(np.mean(powers)) if powers else None,
        idle_change_w=powers[-1] - powers[0] if powers else None,
        call=mean_cost,
    )


@dataclass(frozen=True)
class _IdleLine:
    """Idle power over a round: a line through its pauses, weighted by how long they were."""

    at_us: float
    power_w: float | None
    slope_w_per_us: float

    @classmethod
    def of(cls, visits: Iterable[Visit]) -> _IdleLine:
        pauses = [v for v in visits if v.kind == "idle" and v.power_w is not None]
        if not pauses:
            return cls(0.0, None, 0.0)
        power = np.array([v.power_w for v in pauses], dtype=np.float64)
        middle = np.array([(v.start_us + v.end_us) / 2 for v in pauses])
        weight = np.array([max(v.end_us - v.start_us, 1) for v in pauses], dtype=np.float64)
        at_us, mean_w = float(np.average(middle, weights=weight)), float(np.average(power, weights=weight))
        variance = float(np.average((middle - at_us) ** 2, weights=weight))
        if len(pauses) < 3 or variance == 0:
            return cls(at_us, mean_w, 0.0)
        slope = float(np.average((middle - at_us) * (power - mean_w), weights=weight)) / variance
        return cls(at_us, mean_w, slope)

    def at(self, visit: Visit) -> float | None:
        """Idle power in the middle of a visit."""
        if self.power_w is None:
            return None
        return self.power_w + self.slope_w_per_us * ((visit.start_us + visit.end_us) / 2 - self.at_us)


def _call_cost(plan: IsolatedPlan, visits: Sequence[Visit]) -> CallCost | None:
    """What a call takes beside its layers in one round, from its probe; None where that was not visited."""
    loops = {visit.subject: visit for visit in visits if visit.kind == "loop"}
    if plan.probe is None or plan.probe_of is None or not {plan.probe, plan.probe_of} <= loops.keys():
        return None
    one, many, copies = loops[plan.probe], loops[plan.probe_of], plan.subject(plan.probe_of).copies
    if one.call_s is None or many.call_s is None or copies < 2:
        return None
    layer_s = (many.call_s - one.call_s) / (copies - 1)
    own_s = max(one.call_s - layer_s, 0.0)
    share_one = _layer_share_of_time(one, own_s)
    share_many = _layer_share_of_time(many, own_s)
    if one.power_w is None or many.power_w is None or share_many - share_one < 1e-3:
        return CallCost(own_s)
    # Straight line through both: power at a share of 0 is that of the rest.
    rest_w = one.power_w - share_one * (many.power_w - one.power_w) / (share_many - share_one)
    return CallCost(own_s, rest_w)


def _mean_cost(costs: Sequence[CallCost]) -> CallCost:
    if not costs:
        return CallCost()
    powers = [cost.rest_w for cost in costs if cost.rest_w is not None]
    return CallCost(float(np.mean([cost.own_s for cost in costs])), float(np.mean(powers)) if powers else None)


def _layer_share_of_time(visit: Visit, own_s: float) -> float:
    """Share of the settled time in which the copies of the layer ran."""
    if not visit.call_s or visit.in_calls is None:
        return 1.0
    return visit.in_calls * max(visit.call_s - own_s, 0.0) / visit.call_s


def _round_value(visit: Visit, subject: IsolatedSubject, cost: CallCost, idle: _IdleLine) -> RoundValue:
    call_s = visit.call_s or 0.0
    # A call cannot be all its own: where the layer is as short as the clock's noise, half is left to it.
    runtime_s = max(call_s - cost.own_s, 0.5 * call_s) / subject.copies * subject.layer_share
    share, idle_w, power_w = _layer_share_of_time(visit, cost.own_s), idle.at(visit), visit.power_w
    rest_w = cost.rest_w if cost.rest_w is not None else idle_w
    if power_w is not None and rest_w is not None and share > 0:
        power_w = (power_w - (1 - share) * rest_w) / share
    return RoundValue(visit.round, runtime_s, power_w, idle_w, visit.values)


def _together(
    key: str, values: Sequence[RoundValue], subject: IsolatedSubject, plan: IsolatedPlan, doubts: list[str]
) -> SubjectResult:
    runtime_s, runtime_half_s = _mean_and_half([value.runtime_s for value in values])
    above = [above for value in values if (above := value.above_idle_w) is not None]
    above_w, above_half_w = _mean_and_half(above) if above else (None, None)
    if len(values) < plan.rounds:
        doubts = [*doubts, f"measured in {len(values)} of {plan.rounds} rounds"]
    if subject.layer_share < _OWN_SHARE:
        doubts = [
            *doubts,
            f"{1 - subject.layer_share:.0%} of its time went to layers that the backend added "
            f"({', '.join(subject.further[:2])}); its power is that of all of them",
        ]
    doubts = [*doubts, *_spread_doubt("runtime", [value.runtime_s for value in values])]
    doubts = [*doubts, *_spread_doubt("power", above)]
    return SubjectResult(
        key,
        tuple(sorted(values, key=lambda value: value.number)),
        float(runtime_s or 0.0),
        runtime_half_s,
        above_w,
        above_half_w,
        sum(value.values for value in values),
        tuple(doubts),
    )


def _mean_and_half(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean, and half of the 90 % interval by Student's distribution; None for one value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    error = float(np.std(values, ddof=1)) / sqrt(len(values))
    return mean, float(stats.t.ppf(_QUANTILE, len(values) - 1)) * error


def _spread_doubt(what: str, values: Sequence[float]) -> list[str]:
    if len(values) < 2 or np.mean(values) <= 0:
        return []
    spread = float(np.std(values, ddof=1) / np.mean(values))
    return [f"its {what} differs by {spread:.0%} between rounds"] if spread > _STEADY else []


def _doubts_of_visits(visits: Iterable[Visit]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for visit in visits:
        if visit.kind == "loop" and not visit.is_settled:
            found.setdefault(visit.subject, []).append(f"its power had not settled in round {visit.round}")
    return found
