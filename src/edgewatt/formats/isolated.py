"""An isolated recording: `isolated.json` says what was planned, `visits.jsonl` holds what was measured. Ours.

A *subject* is a network that is run in a loop: a layer, many copies of it in one network. A *visit* is one loop of
one subject; every subject is visited in every round. Visits are appended as they end, so that whatever stops a
recording loses none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, FiniteFloat, ValidationError

from edgewatt.errors import FormatError
from edgewatt.formats.checked import FileModel, first_problem, read_checked, write_checked
from edgewatt.formats.json_file import read_bytes

#: What an isolated recording of a network is called by: `resnet18@isolated`.
SUFFIX = "@isolated"
PLAN_FILE, VISITS_FILE = "isolated.json", "visits.jsonl"
SCHEMA_VERSION = 1
#: No board draws more; a power of other units is.
_MOST_W = 1e5
_FIX = "Give the command that recorded it again, with --replace"


class IsolatedLayer(FileModel):
    """One layer of the network, in execution order.

    Attributes:
        name: Unique in the network.
        backend_type: The backend's own word for its type.
        subject: The subject that was measured for it; None where it was not.
        reason: Why it was not; empty where it was.
        executed: Whether the backend executes it at all; one that it does not takes no time.
    """

    name: str
    backend_type: str = ""
    subject: str | None = None
    reason: str = ""
    executed: bool = True


class IsolatedSubject(FileModel):
    """How a subject is run.

    Attributes:
        key: What visits know it by.
        copies: Copies of the layer in one network.
        variants: Different sets of weights that they have.
        layer_share: Share of the network's time that is the layer's own: less than 1 where the backend adds layers,
            such as changes of the memory format.
        trial_s: Time of one copy in a first trial.
        rest_s: Time that a call took there beside it, and to the next.
        further: Names of the layers that the backend added.
    """

    key: str
    copies: Annotated[int, Field(ge=1)] = 1
    variants: Annotated[int, Field(ge=1)] = 1
    layer_share: Annotated[FiniteFloat, Field(gt=0, le=1)] = 1.0
    trial_s: FiniteFloat = 0.0
    rest_s: FiniteFloat = 0.0
    further: list[str] = Field(default_factory=list)


class IsolatedPlan(FileModel):
    """What an isolated recording is of.

    Attributes:
        schema_version: Version of this format.
        edgewatt_version: The version that recorded.
        model: The run's name.
        network: The network as it was named.
        settings: What decides what is measured: backend, precision, seed, sensor, seconds, caches, ...
        rounds: Rounds that were asked for.
        whole: The subject that is the whole network; None where it cannot be run.
        probe: The subject that shows what a call costs beside its layers; None where there is none.
        probe_of: The subject whose single copy that is.
        layers: The network's layers.
        subjects: What is run.
    """

    schema_version: int = SCHEMA_VERSION
    edgewatt_version: str
    model: str
    network: str
    settings: dict[str, Any] = Field(default_factory=dict)
    rounds: int
    whole: str | None = None
    probe: str | None = None
    probe_of: str | None = None
    layers: list[IsolatedLayer]
    subjects: list[IsolatedSubject]

    def subject(self, key: str) -> IsolatedSubject:
        """The subject of a key."""
        return next(subject for subject in self.subjects if subject.key == key)


class Visit(FileModel):
    """One loop, or one pause; powers with idle.

    Attributes:
        kind: `loop` or `idle`.
        subject: What ran; empty for a pause.
        round: From 1.
        sitting: Which of the commands that this recording was made by: an interrupted one is gone on with by another.
        start_us: Start of the settled part in microseconds since 1970.
        end_us: Its end.
        cycles: Calls in the settled part.
        call_s: Mean time of a call.
        call_spread_s: Standard deviation of it.
        in_calls: Share of the settled part in which a call was under way.
        power_w: Mean power in the settled part; None without a sensor.
        power_spread_w: Standard deviation of the means of its blocks.
        values: Values of the sensor behind it: readings that changed, or as many as the sensor converted in that time.
        settled_s: Time from the loop's start to its settled part.
        is_settled: Whether power had settled.
    """

    kind: Literal["loop", "idle"]
    subject: str = ""
    round: int
    sitting: int = 1
    start_us: int
    end_us: int
    cycles: int = 0
    call_s: Annotated[FiniteFloat, Field(ge=0)] | None = None
    call_spread_s: FiniteFloat | None = None
    in_calls: FiniteFloat | None = None
    power_w: Annotated[FiniteFloat, Field(ge=-_MOST_W, le=_MOST_W)] | None = None
    power_spread_w: Annotated[FiniteFloat, Field(ge=0, le=_MOST_W)] | None = None
    values: int = 0
    settled_s: FiniteFloat = 0.0
    is_settled: bool = True


def is_isolated(folder: Path) -> bool:
    """Whether a folder in raw_data/ holds an isolated recording."""
    return (folder / PLAN_FILE).is_file()


def read_plan(folder: Path) -> IsolatedPlan:
    """Read a recording's plan.

    Raises:
        FormatError: It is missing, not of this format, of a later schema, or does not fit together.
    """
    path = folder / PLAN_FILE
    plan = read_checked(path, IsolatedPlan, _FIX)
    if plan.schema_version != SCHEMA_VERSION:
        raise FormatError(
            f"schema version {plan.schema_version}; this edgewatt reads version {SCHEMA_VERSION}", where=path, fix=_FIX
        )
    known = {subject.key for subject in plan.subjects}
    used = {layer.subject for layer in plan.layers} | {plan.whole, plan.probe, plan.probe_of}
    lost = [key for key in used if key is not None and key not in known]
    if lost:
        raise FormatError(f"the subject {lost[0]!r} is not described", where=path, fix=_FIX)
    return plan


def write_plan(folder: Path, plan: IsolatedPlan) -> None:
    """Write a recording's plan, whole or not at all."""
    write_checked(folder / PLAN_FILE, plan)


def append_visits(folder: Path, visits: Sequence[Visit]) -> None:
    """Append visits to a recording; they are on the disk when this returns."""
    content = b"".join(orjson.dumps(visit.model_dump(mode="json", exclude_none=True)) + b"\n" for visit in visits)
    with (folder / VISITS_FILE).open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_visits(folder: Path) -> list[Visit]:
    """Read a recording's visits, in order; none where none has ended yet.

    A last line that was cut short is left out.

    Raises:
        FormatError: A line is no visit.
    """
    path = folder / VISITS_FILE
    if not path.exists() or not path.stat().st_size:
        return []
    whole, _, _ = read_bytes(path).rpartition(b"\n")
    return [_visit(line, f"{path}, line {number}") for number, line in enumerate(whole.splitlines(), start=1) if line]


def cut_last_visit(folder: Path) -> None:
    """Cut off a last line that was not written whole, so that others can be appended."""
    path = folder / VISITS_FILE
    if path.exists():
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            path.write_bytes(whole)


def _visit(line: bytes, where: str) -> Visit:
    try:
        return Visit.model_validate(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise FormatError("not a visit", where=where, fix=_FIX) from error
    except ValidationError as error:
        raise FormatError(first_problem(error), where=where, fix=_FIX) from error
