"""Where and how networks ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from edgewatt.errors import printable
from edgewatt.formats.benchmark import BenchmarkResult
from edgewatt.formats.mapping_info import MappingInfo
from edgewatt.formats.run_info import RunInfo
from edgewatt.results.network_result import Environment, Finding, NetworkResult, Weight

#: The method of layers that were measured by themselves.
_ISOLATED = "isolated"
_ENVIRONMENT_WORDS = {
    "board": "board",
    "power_mode": "power mode",
    "precision": "precision",
    "batch_size": "batch",
    "backend": "backend",
    "method": "method",
    "clocks": "clocks",
}


def recorded_environment(run: RunInfo | None, benchmark: BenchmarkResult | None, method: str) -> Environment:
    """What a recording's files tell of its environment.

    Args:
        run: Its `run.json`, where there is one.
        benchmark: Its benchmark result, where there is one.
        method: The mapping method; empty where nothing was mapped.
    """
    if run is None:
        config = {} if benchmark is None else benchmark.config
        shape = config.get("input_shape")
        return Environment(
            precision=_text(config.get("dtype")),
            batch_size=_text(shape[0]) if isinstance(shape, list) and shape else "",
            backend=_text(config.get("backend")),
            method=method,
        )
    return Environment(
        board=run.board,
        power_mode=_text(run.power_mode),
        precision=run.precision,
        batch_size=_text(run.batch_size),
        backend=run.backend,
        method=method,
        clocks=clocks_text(run),
    )


def mapped_environment(info: MappingInfo | None, method: str) -> Environment:
    """What `mapping.json` tells of the environment."""
    run: dict[str, Any] = {} if info is None else info.run
    return Environment(
        board=_text(run.get("board")),
        power_mode=_text(run.get("power_mode")),
        precision=_text(run.get("precision")),
        batch_size=_text(run.get("batch_size")),
        backend=_text(run.get("backend")),
        method=method,
    )


def clocks_text(run: RunInfo) -> str:
    """Whether the clocks were locked, in words; empty where it is not known."""
    locked = run.clocks.get("locked")
    return "" if locked is None else "locked" if locked else "not locked"


def environment_findings(run: RunInfo | None) -> list[Finding]:
    """What `run.json` tells of how far to trust a recording."""
    if run is None:
        return [Finding(Weight.NOTE, "There is no run.json: what surrounded the recording is not known")]
    found = simulation_findings(run.board, run.backend)
    if run.interrupted:
        found.append(Finding(Weight.CAUTION, "The recording was interrupted; its complete cycles are kept"))
    verdict = (run.model_extra or {}).get("verdict")
    if not isinstance(verdict, list):
        found.append(Finding(Weight.NOTE, "There is no stability verdict on this recording"))
    elif verdict:
        found += [Finding(Weight.CAUTION, _sentence(str(doubt))) for doubt in verdict]
    else:
        found.append(Finding(Weight.GOOD, "Stability: nothing was found against this recording"))
    return found


def environment_differences(results: Sequence[NetworkResult]) -> list[str]:
    """In what the environments of results differ, a sentence each; what is not known differs from nothing.

    Layers that were measured by themselves are there to be compared with those in place: that is no difference.
    """
    found = []
    by_themselves = any(result.environment.method == _ISOLATED for result in results)
    for name, word in _ENVIRONMENT_WORDS.items():
        if name == "method" and by_themselves:
            continue
        # A prediction's method is no mapping method.
        asked = [result for result in results if name != "method" or result.measured]
        values = dict.fromkeys(value for result in asked if (value := asdict(result.environment)[name]))
        if len(values) > 1:
            found.append(f"different {word}: {', '.join(map(printable, values))}")
    return found


def simulation_findings(board: str, backend: str) -> list[Finding]:
    """That a recording is a simulation's, where it is."""
    if backend != "simulated" and not board.startswith("simulated"):
        return []
    return [Finding(Weight.CAUTION, "Simulated: nothing here was measured on a real board")]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _text(value: Any) -> str:
    return "" if value is None else str(value)
