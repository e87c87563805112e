"""Every subject in random order, again and again, with idle time between.

    round 1   idle | b | idle | d | idle | a | idle | c | idle
    round 2   idle | c | idle | a | ...            in another order: what warms or drifts hits each differently

Each visit is handed over as it ends, so that whoever is interrupted can go on: what is done is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from edgewatt.errors import EdgewattError
from edgewatt.formats.isolated import Visit
from edgewatt.formats.power_log import PowerLog
from edgewatt.isolation.rig import Calls, LoopNetwork, LoopRig, Pause
from edgewatt.isolation.settled import SettledPower, settled_power, settling_s

#: A round begins with a pause that is so many times as long as those between visits.
_FIRST_PAUSE = 3.0
#: After a loop power is logged for a moment longer, so that every value that it changed is there.
_TAIL_S = 0.25
#: A visit that gave too few values, or was settled for too short, is made again, each time twice as long.
_ATTEMPTS = 3
#: Share of the wanted settled time that is enough: whole calls do not fit into it exactly.
_ENOUGH = 0.9
#: Fewer calls have no mean time to the next.
_FEWEST_CALLS = 2


@dataclass(frozen=True)
class Subject:
    """What is run in a loop.

    Attributes:
        network: The network.
        call_s: How long a call takes, with the time to the next, by a first trial.
    """

    network: LoopNetwork
    call_s: float

    @property
    def key(self) -> str:
        """What visits know it by."""
        return self.network.key


@dataclass(frozen=True)
class RoundSettings:
    """How subjects are visited.

    Attributes:
        rounds: Visits of each.
        seconds: Settled time of a visit, at least.
        pause_s: Idle time between visits.
        least_values: Values of the sensor in a visit, at least.
        seed: Draws the order.
    """

    rounds: int = 3
    seconds: float = 1.0
    pause_s: float = 0.5
    least_values: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rounds < 1 or not self.seconds > 0 or self.pause_s < 0:
            raise EdgewattError(
                f"{self.rounds} rounds of {self.seconds:g} s with pauses of {self.pause_s:g} s cannot be measured",
                fix="Ask for at least one round and a time above 0",
            )


@dataclass
class RoundsResult:
    """How it ended.

    Attributes:
        failed: Why a subject could not be run, by its key; it is left out of later rounds.
        stopped_by: Name of the signal that ended it; None where it was not stopped.
    """

    failed: dict[str, str] = field(default_factory=dict)
    stopped_by: str | None = None


def measure_rounds(
    subjects: Sequence[Subject],
    rig: LoopRig,
    settings: RoundSettings,
    keep: Callable[[Sequence[Visit]], None],
    done: Iterable[Visit] = (),
    progress: Callable[[int], None] | None = None,
) -> RoundsResult:
    """Visit every subject in every round.

    Args:
        subjects: What is run.
        rig: What runs it.
        settings: How.
        keep: Called with the visits (a pause and a loop) that have ended.
        done: Visits of earlier sittings, which are not made again.
        progress: Called before each visit with the number of visits that are done.
    """
    earlier = list(done)
    made = {(visit.round, visit.subject) for visit in earlier if visit.kind == "loop"}
    sitting = max((visit.sitting for visit in earlier), default=0) + 1
    result, finished = RoundsResult(), 0
    for number in range(1, settings.rounds + 1):
        order = [subjects[index] for index in _order(len(subjects), settings.seed, number)]
        finished += sum((number, subject.key) in made for subject in order)
        left = [s for s in order if (number, s.key) not in made and s.key not in result.failed]
        if not left:
            continue
        rig.begin_round()
        try:
            keep(_idle(rig, settings.pause_s * _FIRST_PAUSE, number, sitting))
            for subject in left:
                result.stopped_by = rig.stopped()
                if result.stopped_by:
                    return result
                if progress is not None:
                    progress(finished)
                _visit(subject, rig, settings, number, sitting, keep, result)
                finished += 1
        finally:
            rig.end_round()
    result.stopped_by = rig.stopped()
    return result


def _order(count: int, seed: int, number: int) -> list[int]:
    order: list[int] = np.random.default_rng([seed, number]).permutation(count).tolist()
    return order


def _visit(
    subject: Subject,
    rig: LoopRig,
    settings: RoundSettings,
    number: int,
    sitting: int,
    keep: Callable[[Sequence[Visit]], None],
    result: RoundsResult,
) -> None:
    seconds = settings.seconds
    if rig.value_every_s:
        seconds = max(seconds, settings.least_values * rig.value_every_s)
    try:
        for attempt in range(_ATTEMPTS):
            # Without a sensor there is nothing to tell the idle board by.
            pause = rig.pause(settings.pause_s if rig.has_power else 0.0)
            duration_s = seconds * 2**attempt + settling_s(rig.averaging_s, rig.value_every_s)
            calls = rig.loop(subject.network, duration_s, subject.call_s)
            if len(calls.start_us) < _FEWEST_CALLS:
                return  # stopped before there was anything to keep
            if rig.has_power:
                rig.pause(_TAIL_S)
            log = rig.readings(pause.start_us)
            visit = _loop_visit(subject.key, calls, log, rig, number, sitting)
            enough = log is None or _is_enough(visit, seconds, settings)
            if enough or rig.stopped() or attempt == _ATTEMPTS - 1:
                keep([*_idle_visits(pause, log, rig, number, sitting), visit])
                return
    except EdgewattError as error:
        if rig.stopped() is None:
            result.failed[subject.key] = error.what


def _is_enough(visit: Visit, seconds: float, settings: RoundSettings) -> bool:
    settled_s = (visit.end_us - visit.start_us) / 1e6
    return visit.is_settled and settled_s >= _ENOUGH * seconds and visit.values >= settings.least_values


def _idle(rig: LoopRig, duration_s: float, number: int, sitting: int) -> list[Visit]:
    if not rig.has_power:
        return []
    pause = rig.pause(duration_s)
    rig.pause(_TAIL_S)
    return _idle_visits(pause, rig.readings(pause.start_us), rig, number, sitting)


def _idle_visits(pause: Pause, log: PowerLog | None, rig: LoopRig, number: int, sitting: int) -> list[Visit]:
    """The pause as a visit; none where it was too short to tell anything."""
    power = _power(log, pause.start_us, pause.end_us, rig)
    if power is None:
        return []
    return [
        Visit(
            kind="idle",
            round=number,
            sitting=sitting,
            start_us=round(power.start_us),
            end_us=round(pause.end_us),
            power_w=power.mean_w,
            power_spread_w=power.spread_w,
            values=power.values,
            settled_s=(power.start_us - pause.start_us) / 1e6,
            is_settled=power.is_settled,
        )
    ]


def _loop_visit(key: str, calls: Calls, log: PowerLog | None, rig: LoopRig, number: int, sitting: int) -> Visit:
    """A loop as a visit: its calls in the time in which power had settled."""
    start_us, end_us = float(calls.start_us[0]), float(calls.end_us[-1])
    power = _power(log, start_us, end_us, rig)
    settled_us = start_us + settling_s(rig.averaging_s, rig.value_every_s) * 1e6 if power is None else power.start_us
    first = min(int(np.searchsorted(calls.start_us, settled_us)), len(calls.start_us) - _FEWEST_CALLS)
    call_s = (calls.end_us[first:] - calls.start_us[first:]) / 1e6
    # From the first call's start to the last one's, so that as many pauses between calls as calls are in it.
    span_s = float(calls.start_us[-1] - calls.start_us[first]) / 1e6
    return Visit(
        kind="loop",
        subject=key,
        round=number,
        sitting=sitting,
        start_us=round(float(calls.start_us[first])),
        end_us=round(end_us),
        cycles=len(call_s),
        call_s=float(call_s.mean()),
        call_spread_s=float(call_s.std()),
        in_calls=min(float(call_s[:-1].sum()) / span_s, 1.0),
        power_w=None if power is None else power.mean_w,
        power_spread_w=None if power is None else power.spread_w,
        values=0 if power is None else power.values,
        settled_s=(settled_us - start_us) / 1e6,
        is_settled=power is None or power.is_settled,
    )


def _power(log: PowerLog | None, start_us: float, end_us: float, rig: LoopRig) -> SettledPower | None:
    if log is None:
        return None
    return settled_power(log, start_us, end_us, averaging_s=rig.averaging_s, value_every_s=rig.value_every_s)
