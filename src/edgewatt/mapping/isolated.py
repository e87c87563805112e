"""An isolated recording mapped: its layers were measured by themselves, so that nothing has to be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import edgewatt
from edgewatt.errors import EdgewattError, warn
from edgewatt.formats.isolated import IsolatedPlan, read_plan, read_visits
from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.mapping_info import MappingInfo
from edgewatt.formats.recording import RecordingPaths
from edgewatt.formats.run_info import RunInfo, read_run_info
from edgewatt.isolation.evaluate import IsolatedResult, evaluate
from edgewatt.isolation.rows import NOT_YET, Sums, layer_rows, left_out, subject_names, sums
from edgewatt.mapping.info import run_facts
from edgewatt.wording import counted

#: The method of isolated recordings.
ISOLATED = "isolated"
#: So many layers that are missing are named with their reason; mapping.json lists all.
_MOST_TOLD = 3


def map_isolated(paths: RecordingPaths) -> tuple[list[LayerPower], MappingInfo]:
    """Map an isolated recording.

    Args:
        paths: The recording.

    Returns:
        A row for each layer that was measured, and how it was mapped. Energies are of one cycle, of the time in which
        layers run: `measured_j` is the network's, as it was run in the same rounds.

    Raises:
        FormatError: A file is missing or broken.
        EdgewattError: No layer was measured yet.
    """
    plan, visits = read_plan(paths.folder), read_visits(paths.folder)
    result = evaluate(plan, visits)
    rows = layer_rows(plan, result)
    if not any(row.runtime_ms > 0 for row in rows):
        raise EdgewattError(
            "no layer was measured yet",
            where=paths.folder,
            fix="Go on with it: edgewatt record NETWORK RAW_DIR --isolate",
        )
    missing = _missing_layers(left_out(plan, result))
    if missing:
        told = "; ".join(missing[:_MOST_TOLD]) + ("; and others" if len(missing) > _MOST_TOLD else "")
        warn(told, where=paths.name, fix="The command that recorded goes on with it")
    run = read_run_info(paths.run_info) if paths.run_info.exists() else None
    cycles = sum(visit.cycles for visit in visits if visit.kind == "loop")
    warnings = [*missing, *_doubts(plan, result)]
    return rows, _info(plan, result, rows, sums(plan, result), run, cycles, warnings)


def _info(
    plan: IsolatedPlan,
    result: IsolatedResult,
    rows: list[LayerPower],
    total: Sums,
    run: RunInfo | None,
    cycles: int,
    warnings: list[str],
) -> MappingInfo:
    return MappingInfo(
        edgewatt_version=edgewatt.__version__,
        model=plan.model,
        method=ISOLATED,
        settings=_settings(plan, result),
        idle_power_w=result.idle_power_w,
        cycles=cycles,
        layers=len(rows),
        energy={
            "measured_j": total.network_j,
            "layers_j": total.layers_j,
            "gaps_j": None if total.network_j is None else 0.0,
        },
        power={
            "layers_w": None if total.layers_j is None or not total.layers_s else total.layers_j / total.layers_s,
            "gaps_w": result.call.rest_w,
        },
        energy_closure=total.energy_closure,
        runtime={
            "sum_of_layers_s": total.layers_s,
            "network_s": total.network_s,
            "ratio": total.runtime_ratio,
        },
        warnings=warnings,
        run=run_facts(run),
    )


def _settings(plan: IsolatedPlan, result: IsolatedResult) -> dict[str, Any]:
    kept = ("seconds", "pause_s", "caches", "share", "seed")
    return {
        "rounds": plan.rounds,
        **{name: plan.settings[name] for name in kept if name in plan.settings},
        "call_own_us": result.call.own_s * 1e6,
        "call_rest_w": result.call.rest_w,
        "idle_change_w": result.idle_change_w,
        "subjects": len(plan.subjects),
    }


def _missing_layers(reasons: Mapping[str, str]) -> list[str]:
    """Which layers were not measured, in words; those whose turn has not come together.

    Args:
        reasons: Why, by the layer's name.
    """
    waiting = [name for name, why in reasons.items() if why == NOT_YET]
    told = [f"{name} was not measured: {why}" for name, why in reasons.items() if why != NOT_YET]
    if waiting:
        named = ", ".join(waiting[:3]) + (" and others" if len(waiting) > 3 else "")
        told.append(f"{counted(len(waiting), 'layer', ('is', 'are'))} not measured yet: {named}")
    return told


def _doubts(plan: IsolatedPlan, result: IsolatedResult) -> list[str]:
    """What stands against trusting a subject, in words."""
    told = []
    for key, name in subject_names(plan).items():
        if key in result.subjects:
            told += [f"{name}: {doubt}" for doubt in result.subjects[key].verdict]
    return told
