"""What is kept of a training: its parameters, scores and tags, as MLflow takes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgewatt.formats.fingerprint import data_fingerprint
from edgewatt.predictors.training import TrainingResult

#: MLflow's names may hold these characters alone (its `validation.py`).
_NOT_IN_NAMES = re.compile(r"[^\w\-. :/]")

#: MLflow shows the tag of this name as the run's description.
_DESCRIPTION = "mlflow.note.content"


def parameters(result: TrainingResult, training_dir: Path) -> dict[str, str]:
    """What the training was made of.

    Args:
        result: The training.
        training_dir: The folder of training tables.
    """
    predictors = result.predictors
    settings = {
        f"settings/{stored.file_name.removesuffix('.json')}/{name}": value
        for stored in predictors.by_purpose.values()
        for name, value in stored.settings.items()
        if value is not None
    }
    lists = {
        "networks": predictors.networks,
        "holdout": predictors.holdout,
        "methods": predictors.methods,
        "precisions": predictors.precisions,
        **{f"recordings/{key}": values for key, values in predictors.runs.items()},
    }
    return {
        "predictor": _predictor_name(result),
        "data_fingerprint": data_fingerprint(training_dir),
        "edgewatt_version": predictors.edgewatt_version,
        "idle_power_w": "not known" if predictors.idle_power_w is None else f"{predictors.idle_power_w:.6g}",
        **{_name(key): ", ".join(values) for key, values in lists.items()},
        **{_name(key): str(value) for key, value in settings.items()},
    }


def metrics(entries: Mapping[str, Any]) -> dict[str, float]:
    """Every number of `metrics.json`: `convolutional/power/cv/mape` and so on."""
    return dict(_numbers(entries, ""))


def tags(result: TrainingResult, card: str) -> dict[str, str]:
    """Tags of a run: what to look for it by, and the card as its description."""
    return {
        "edgewatt.predictor": _predictor_name(result),
        "edgewatt.board": ", ".join(result.predictors.runs.get("board", ())) or "not known",
        "mlflow.source.name": "edgewatt train",
        _DESCRIPTION: card,
    }


def _predictor_name(result: TrainingResult) -> str:
    return next(iter(result.predictors.by_purpose.values())).name


def _numbers(value: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _numbers(part, f"{path}/{key}" if path else str(key))
    elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        yield _name(path), float(value)


def _name(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text)
