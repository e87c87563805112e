"""Finding and reading results of every source."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from edgewatt.batch import Batch, run_batch
from edgewatt.errors import EdgewattError, EdgewattWarning, warn
from edgewatt.results.mapped import is_mapped, read_mapped
from edgewatt.results.network_result import Finding, NetworkResult, Weight
from edgewatt.results.prediction import is_prediction, read_prediction
from edgewatt.results.recording import is_recording, read_recorded

_FIX = (
    "Name the folder of a recording or of a mapped network, a folder of several of them, or a file that "
    "`edgewatt predict` wrote"
)


def find_results(path: Path) -> list[Path]:
    """The results that a path names: itself, or what lies in a folder of several.

    Raises:
        EdgewattError: There is none.
    """
    if is_prediction(path) or (path.is_dir() and (is_mapped(path) or is_recording(path))):
        return [path]
    if path.is_file():
        raise EdgewattError("neither CSV nor JSON, so no predictions", where=path, fix=_FIX)
    if not path.is_dir():
        raise EdgewattError("there is no such file or folder", where=path, fix=_FIX)
    folders = sorted(folder for folder in path.iterdir() if folder.is_dir() and not folder.name.startswith("."))
    found = [folder for folder in folders if is_mapped(folder) or is_recording(folder)]
    if not found:
        raise EdgewattError("the folder holds no recording and no mapped network", where=path, fix=_FIX)
    return found


def read_result(path: Path) -> NetworkResult:
    """Read one result; what was warned about meanwhile becomes part of its findings.

    Args:
        path: A recording's or a mapped network's folder, or a file of predictions.

    Raises:
        EdgewattError: It is none of them, or broken.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = _read(path)
    told = dict.fromkeys(str(item.message) for item in caught if issubclass(item.category, EdgewattWarning))
    for text in told:
        warn(text)
    known = {finding.text for finding in result.findings}
    new = tuple(Finding(Weight.CAUTION, text) for text in told if text not in known)
    return replace(result, findings=(*result.findings, *new))


def collect(paths: Sequence[Path], progress: Callable[[str], None] | None = None) -> Batch[NetworkResult]:
    """Read all results that paths name, going on after one that is broken.

    Args:
        paths: Files and folders.
        progress: Called with each result's name before its turn.

    Raises:
        EdgewattError: A path names none.
    """
    found = list(dict.fromkeys(result for path in paths for result in find_results(path)))
    return run_batch(found, str, read_result, progress)


def _read(path: Path) -> NetworkResult:
    if is_prediction(path):
        return read_prediction(path)
    if is_mapped(path):
        return read_mapped(path)
    if is_recording(path):
        return read_recorded(path)
    raise EdgewattError("holds no result", where=path, fix=_FIX)
