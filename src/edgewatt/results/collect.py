"""Finding and reading results of every source."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isclose
from pathlib import Path

from edgewatt.batch import Batch, run_batch
from edgewatt.errors import EdgewattError, EdgewattWarning, warn
from edgewatt.formats.run_folders import run_folders
from edgewatt.results.mapped import is_mapped, read_mapped
from edgewatt.results.network_result import Finding, NetworkResult, Weight
from edgewatt.results.prediction import is_prediction, read_prediction
from edgewatt.results.recording import is_recording, read_recorded

_FIX = (
    "Name the folder of a recording or of a mapped network, a folder of several of them, or a file that "
    "`edgewatt predict` wrote"
)


def find_results(path: Path) -> list[Path]:
    """The results that a path names: itself, or what lies in a folder of several, or in folders of boards in it.

    Raises:
        EdgewattError: There is none.
    """
    return list(_named_results(path))


def _named_results(path: Path) -> dict[Path, str]:
    """The same, with the name of the board's folder that each lies in; empty where it lies in none."""
    if is_prediction(path) or (path.is_dir() and (is_mapped(path) or is_recording(path))):
        return {path: ""}
    if path.is_file():
        raise EdgewattError("neither CSV nor JSON, so no predictions", where=path, fix=_FIX)
    if not path.is_dir():
        raise EdgewattError("there is no such file or folder", where=path, fix=_FIX)
    found = run_folders(path, "record or map", lambda folder: is_mapped(folder) or is_recording(folder))
    if not found:
        raise EdgewattError("the folder holds no recording and no mapped network", where=path, fix=_FIX)
    return {run.path: run.board for run in found}


def read_result(path: Path) -> NetworkResult:
    """Read one result; what was warned about meanwhile becomes part of its findings.

    Args:
        path: A recording's or a mapped network's folder, or a file of predictions.

    Raises:
        EdgewattError: It is none of them, or broken.
    """
    return _told(lambda: _read(path))


def collect(paths: Sequence[Path], progress: Callable[[str], None] | None = None) -> Batch[NetworkResult]:
    """Read all results that paths name, going on after one that is broken.

    A recording and the folder that it was mapped to become one result.

    Args:
        paths: Files and folders.
        progress: Called with each result's name before its turn.

    Raises:
        EdgewattError: A path names none.
    """
    boards = {result: board for path in paths for result, board in _named_results(path).items()}
    found = list(boards)
    mapped = {(boards[path], path.resolve().name): path for path in found if path.is_dir() and is_mapped(path)}
    paired: set[Path] = set()

    def read(path: Path) -> NetworkResult:
        result = read_pair(path)
        return replace(result, name=f"{boards[path]}/{result.name}") if boards[path] else result

    def read_pair(path: Path) -> NetworkResult:
        own_name = (boards[path], path.resolve().name)
        other = None if is_prediction(path) or is_mapped(path) else mapped.get(own_name)
        if other is None:
            return read_result(path)
        recording, result = _told(lambda: read_recorded(path, map_layers=False)), read_result(other)
        if not same_recording(recording, result):
            return read_result(path)
        paired.add(other)
        return joined(recording, result)

    order = {path: place for place, path in enumerate(found)}
    batch = run_batch(sorted(found, key=lambda path: path.is_dir() and is_mapped(path)), str, read, progress)
    kept = [result for result in batch.done if result.path not in paired]
    batch.done = sorted(kept, key=lambda result: order[result.path])
    return batch


def same_recording(recording: NetworkResult, mapped: NetworkResult) -> bool:
    """Whether a mapped network was mapped from a recording: as many cycles, and the same mean runtimes."""
    before, after = recording.layers_runtime_s, mapped.layers_runtime_s
    return (
        recording.cycles == mapped.cycles
        and before is not None
        and after is not None
        and isclose(before.value, after.value, rel_tol=1e-6)
    )


def joined(recording: NetworkResult, mapped: NetworkResult) -> NetworkResult:
    """A recording with the powers of its layers as they were mapped."""
    runtimes = {layer.name: layer.runtime_s for layer in recording.layers}
    layers = tuple(replace(layer, runtime_s=runtimes.get(layer.name) or layer.runtime_s) for layer in mapped.layers)
    return replace(
        recording,
        layers=layers,
        idle_power_w=mapped.idle_power_w,
        environment=replace(recording.environment, method=mapped.environment.method),
        findings=tuple(dict.fromkeys((*recording.findings, *mapped.findings))),
        made={**recording.made, **mapped.made},
    )


def _read(path: Path) -> NetworkResult:
    if is_prediction(path):
        return read_prediction(path)
    if is_mapped(path):
        return read_mapped(path)
    if is_recording(path):
        return read_recorded(path)
    raise EdgewattError("holds no result", where=path, fix=_FIX)


def _told(read: Callable[[], NetworkResult]) -> NetworkResult:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = read()
    told = dict.fromkeys(str(item.message) for item in caught if issubclass(item.category, EdgewattWarning))
    for text in told:
        warn(text)
    known = {finding.text for finding in result.findings}
    new = tuple(Finding(Weight.CAUTION, text) for text in told if text not in known)
    return replace(result, findings=(*result.findings, *new))
