"""The card of a folder of predictors: what they were trained on, how good they are, and where they end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp
from typing import Any

from edgewatt.predictors.adapted_function import AdaptedFunction
from edgewatt.predictors.fleet_scores import BoardScore
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.network_scores import SUM_OF_LAYERS
from edgewatt.predictors.physics_function import PhysicsFunction
from edgewatt.predictors.polynomial import Polynomial
from edgewatt.predictors.scoring import NETWORKS_KEY
from edgewatt.predictors.storage import StoredPredictor

_NETWORK_BASELINES = (SUM_OF_LAYERS, "neuralpower", "macs+bytes+layers", "mean")

_LIMITS = """\
- They hold for the board, its clocks and power mode, the backend and the precisions that were recorded, and for no
  other.
- Outside the range that it was trained in a predictor guesses. Predictions are kept within the limits of the table
  above; a layer whose features lie outside the training range may be far off.
- Power is above idle; the energy of a network with idle adds the idle power times its runtime.
- A kind of layer without a predictor of its own is answered by the fallback of all kinds together, where there is one
  (status `fallback`); else a network's totals leave it out (status `uncovered`).
- The sum of the layers' runtimes is not the network's: profiling adds to each layer, and the time between layers is
  in none. Only a calibration on measured networks bridges that.
- Intervals hold for layers and networks like those trained on. An extrapolated layer's interval is widened, but
  nothing measured says by how much it should be.
- Do not use them to compare boards, power modes or precisions that were not recorded, to certify a power limit, or for
  networks that are not CNNs.
"""


def training_card(
    predictors: Predictors, metrics: Mapping[str, Any], notes: Sequence[str], boards: Sequence[BoardScore] = ()
) -> str:
    """The card as Markdown.

    Args:
        predictors: The predictors.
        metrics: What `metrics.json` holds.
        notes: What was simplified.
        boards: Scores on each board, where boards are features.
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
        *_run_lines(predictors.runs),
        "",
        "## Scores",
        "",
        "Relative errors of layers that were not trained on, as MAPE / RMSPE in %. Beside them stand those of the mean",
        "(geometric, where all targets are positive). Cross-validation by network leaves out whole networks, by row",
        "single layers.",
        "",
        *_score_table({kind: targets for kind, targets in metrics.items() if kind != NETWORKS_KEY}),
        "",
        *_repeat_lines({kind: targets for kind, targets in metrics.items() if kind != NETWORKS_KEY}),
        "",
        *_network_lines(metrics.get(NETWORKS_KEY), predictors),
        *_board_lines(boards),
        "## Intervals",
        "",
        *_interval_lines({kind: targets for kind, targets in metrics.items() if kind != NETWORKS_KEY}),
        "",
        "## Predictors",
        "",
        *_predictor_table([*predictors.by_purpose.values(), *predictors.fallback.values()]),
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
        "| layers | target | rows | networks | by | cross-validation | NeuralPower | mean | held-out rows | held out "
        "| NeuralPower | mean |",
        "|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for kind, targets in metrics.items():
        for target, entry in targets.items():
            cv, test = entry["cv"], entry["test"]
            mean, neuralpower = (entry["baselines"].get(name, {}) for name in ("mean", "neuralpower"))
            cells = [
                kind,
                target,
                str(cv["rows"]),
                str(cv["networks"]),
                cv["grouping"],
                _errors(cv),
                _errors(neuralpower.get("cv")),
                _errors(mean.get("cv")),
                "0" if test is None else str(test["rows"]),
                _errors(test),
                _errors(neuralpower.get("test")),
                _errors(mean.get("test")),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _repeat_lines(metrics: Mapping[str, Any]) -> list[str]:
    known = [
        f"- {kind} {target}: {100 * one['mape']:.2f} (median {100 * one['median']:.2f}), of {one['layers']} layers"
        for kind, targets in metrics.items()
        for target, entry in targets.items()
        if (one := entry.get("repeat_error")) is not None
    ]
    if not known:
        return ["Repeat error: not known, for no layer was measured several times by itself."]
    told = "Repeat error, as MAPE in %: what a perfect predictor would be off by, for measurements of one layer differ."
    return [told, "", *known]


def _run_lines(runs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What is known of the recordings, in the order that a reader asks for it."""
    known = {key.replace("_", " "): values for key, values in runs.items() if key != "interrupted"}
    if not known:
        return ["- Board, power mode, clocks, versions: not known, for the training tables do not tell"]
    first = [key for key in ("board", "power mode", "clocks", "backend", "versions", "date") if key in known]
    return [f"- {key.capitalize()}: {_listed(known[key])}" for key in [*first, *(k for k in known if k not in first)]]


def _network_lines(entries: Mapping[str, Any] | None, predictors: Predictors) -> list[str]:
    if not entries:
        return []
    calibration = predictors.calibration
    measured = "nothing but its layers" if calibration is None or not calibration.networks else "the whole network"
    lines = [
        "## Whole networks",
        "",
        f"Each network predicted by predictors and a calibration that had not seen it; measured was {measured}.",
        "MAPE in %, and in brackets Spearman's rank correlation. Beside it stand the sum of the layers, not",
        "calibrated, NeuralPower's sums, a x MACs + b x bytes + c x layers, and the mean network.",
        "",
        "The last column is the 90 % interval's reach, and the share of left-out networks that it holds.",
        "",
        "| target | networks | predicted | sum of layers | NeuralPower | MACs, bytes, layers | mean | 90 % |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for target, entry in entries.items():
        if entry["cv"] is None:
            continue
        found = [
            entry["cv"],
            *(entry["baselines"].get(name, {}).get("cv") for name in _NETWORK_BASELINES),
        ]
        cells = [*map(_network_error, found), _network_interval(entry.get("interval"))]
        lines.append(f"| {target} | {entry['cv']['rows']} | {' | '.join(cells)} |")
    return [*lines, ""]


def _board_lines(boards: Sequence[BoardScore]) -> list[str]:
    if not boards:
        return []
    lines = [
        "## Boards",
        "",
        "Figures of the boards are features. MAPE in % on each board, of predictors of this board alone, of all",
        "boards, and of the other boards alone. The first two had not seen the network on any board; the last had not",
        "seen the board, but the networks on others.",
        "",
        "| board | trained on | networks | layers' runtime | layers' power | networks' runtime | networks' energy |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for score in boards:
        errors = (score.layer_runtime, score.layer_power, score.network_runtime, score.network_energy)
        cells = ["–" if value is None else f"{100 * value:.1f}" for value in errors]
        lines.append(f"| {score.board} | {score.way} | {score.networks} | {' | '.join(cells)} |")
    return [*lines, ""]


def _network_error(entry: Mapping[str, Any] | None) -> str:
    if entry is None or entry["mape"] is None:
        return "–"
    rank = entry["rank_correlation"]
    return f"{100 * entry['mape']:.1f}" + ("" if rank is None else f" ({rank:.2f})")


def _network_interval(entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return "–"
    covered = "" if entry["covered"] is None else f" ({100 * entry['covered']:.0f} %)"
    return f"±{100 * (exp(entry['factor']) - 1):.1f} %{covered}"


def _interval_lines(metrics: Mapping[str, Any]) -> list[str]:
    lines = [
        "Share of left-out layers that lie in the 90 % interval made from the other folds: of all, and of the worst",
        "and best fold.",
        "",
        "| layers | target | covered | worst fold | best fold |",
        "|---|---|--:|--:|--:|",
    ]
    for kind, targets in metrics.items():
        for target, entry in targets.items():
            coverage = (entry.get("interval") or {}).get("coverage")
            if coverage is not None:
                shares = (f"{100 * coverage[name]:.0f} %" for name in ("mean", "least", "greatest"))
                lines.append(f"| {kind} | {target} | {' | '.join(shares)} |")
    return lines


def _predictor_table(predictors: Sequence[StoredPredictor]) -> list[str]:
    lines = [
        "| layers | target | predictor | size | least predicted | greatest predicted | trained from | to |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for stored in predictors:
        unit = stored.target.unit
        numbers = (*_limits_and_size(stored)[:2], *stored.target_range)
        limits = ["none" if value is None else f"{value:.4g} {unit}" for value in numbers]
        kind = "fallback" if stored.kind is None else str(stored.kind)
        cells = [kind, str(stored.target), stored.name, _limits_and_size(stored)[2], *limits]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _limits_and_size(stored: StoredPredictor) -> tuple[float | None, float | None, str]:
    function = stored.function
    if isinstance(function, Polynomial):
        return function.lower, function.upper, f"{len(function.coefficients)} terms"
    if isinstance(function, AdaptedFunction):
        lower, upper, size = _limits_and_size(replace(stored, function=function.base))
        least, greatest = exp(function.correction.lower), exp(function.correction.upper)
        return None if lower is None else lower * least, None if upper is None else upper * greatest, size
    assert isinstance(function, PhysicsFunction)
    return function.lower, function.upper, f"{len(function.forest.roots)} trees"


def _errors(entry: Mapping[str, Any] | None) -> str:
    if entry is None or entry["mape"] is None:
        return "–"
    return f"{100 * entry['mape']:.1f} / {100 * entry['rmspe']:.1f}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
