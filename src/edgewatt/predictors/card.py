"""The card of a folder of predictors: what they were trained on, how good they are, and where they end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.storage import StoredPredictor

_LIMITS = """\
- They hold for the board, its clocks and power mode, the backend and the precisions that were recorded, and for no
  other.
- A polynomial goes anywhere outside the range that it was trained in. Predictions are kept within the limits of
  the table below; a layer whose features lie outside the training range may be far off.
- Power is above idle; the energy of a network with idle adds the idle power times its runtime.
- Layers that are neither convolutional, pooling nor dense have no predictor. A network's totals leave them out, and
  `edgewatt predict` says what share they are.
- The sum of the layers' runtimes is not the network's: profiling adds to each layer, and the time between layers is
  in none.
"""


def training_card(predictors: Predictors, metrics: Mapping[str, Any], notes: Sequence[str]) -> str:
    """The card as Markdown.

    Args:
        predictors: The predictors.
        metrics: What `metrics.json` holds.
        notes: What was simplified.
    """
    idle = predictors.idle_power_w
    lines = [
        "# Predictors of power and runtime",
        "",
        f"Trained by edgewatt {predictors.edgewatt_version}.",
        "",
        f"- Networks trained on ({len(predictors.networks)}): {_listed(predictors.networks)}",
        f"- Networks held out ({len(predictors.holdout)}): {_listed(predictors.holdout)}",
        f"- Mapping methods of the powers: {_listed(predictors.methods)}",
        f"- Precisions: {_listed(predictors.precisions)}",
        f"- Mean idle power: {'not known' if idle is None else f'{idle:.3f} W'}",
        "",
        "## Scores",
        "",
        "Relative errors of layers that were not trained on, as MAPE / RMSPE in %. Beside them stand those of the mean",
        "(geometric, where all targets are positive). Cross-validation by network leaves out whole networks, by row",
        "single layers.",
        "",
        *_score_table(metrics),
        "",
        "## Predictors",
        "",
        *_predictor_table(list(predictors.by_purpose.values())),
        "",
        *(f"- Not trained: {purpose} ({reason})." for purpose, reason in (predictors.left_out or {}).items()),
        *(f"- Simplified: {note}." for note in notes),
        "",
        "## Limits",
        "",
        _LIMITS,
    ]
    return "\n".join(lines)


def _score_table(metrics: Mapping[str, Any]) -> list[str]:
    lines = [
        "| layers | target | rows | networks | by | cross-validation | mean | held-out rows | held out | mean |",
        "|---|---|--:|--:|---|--:|--:|--:|--:|--:|",
    ]
    for kind, targets in metrics.items():
        for target, entry in targets.items():
            cv, test, mean = entry["cv"], entry["test"], entry["baselines"]["mean"]
            cells = [
                kind,
                target,
                str(cv["rows"]),
                str(cv["networks"]),
                cv["grouping"],
                _errors(cv),
                _errors(mean["cv"]),
                "0" if test is None else str(test["rows"]),
                _errors(test),
                _errors(mean["test"]),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _predictor_table(predictors: Sequence[StoredPredictor]) -> list[str]:
    lines = [
        "| layers | target | predictor | terms | least predicted | greatest predicted | trained from | to |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for stored in predictors:
        unit, function = stored.target.unit, stored.polynomial
        numbers = (function.lower, function.upper, *stored.target_range)
        limits = ["none" if value is None else f"{value:.4g} {unit}" for value in numbers]
        cells = [str(stored.kind), str(stored.target), stored.name, str(len(function.coefficients)), *limits]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _errors(entry: Mapping[str, Any] | None) -> str:
    if entry is None or entry["mape"] is None:
        return "–"
    return f"{100 * entry['mape']:.1f} / {100 * entry['rmspe']:.1f}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
