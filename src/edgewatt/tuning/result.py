"""What a search found, and what of it is kept with the predictors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgewatt.predictors.targets import Target
from edgewatt.predictors.tuning_note import TuningNote
from edgewatt.tuning.score import LEVEL, Score


@dataclass(frozen=True)
class TargetTuning:
    """What a search found for one target.

    Attributes:
        target: What is predicted.
        trials: Trials that the study holds.
        trials_before: How many of them it held before.
        best: The best trial's settings.
        usual: Score of the usual settings on the folds.
        tuned: Score of the best trial's.
        luck: Bound of the probability that settings which are no better look so; None where networks are too few.
        is_kept: Whether the tuned settings are used.
        held_out: Scores of both on the networks that were held out; None where there are none.
    """

    target: Target
    trials: int
    trials_before: int
    best: Mapping[str, Any]
    usual: Score
    tuned: Score
    luck: float | None
    is_kept: bool
    held_out: tuple[Score, Score] | None


@dataclass(frozen=True)
class TuningResult:
    """What a search found.

    Attributes:
        predictor: The predictor's name.
        study: The file of the search.
        seed: Of the search.
        folds: Numbers of its folds.
        given: Settings that were not searched for.
        targets: What it found for each target.
    """

    predictor: str
    study: Path
    seed: int
    folds: Sequence[int]
    given: Mapping[str, Any]
    targets: Mapping[Target, TargetTuning]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings to train with: those given, and those that tuning is kept for, named `power.degree` and so."""
        kept = {
            f"{target}.{name}": value
            for target, one in self.targets.items()
            if one.is_kept
            for name, value in one.best.items()
        }
        return {**self.given, **kept}

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values: what `metrics.json` holds."""
        return {
            "predictor": self.predictor,
            "study": str(self.study),
            "seed": self.seed,
            "folds": len(self.folds),
            "level": LEVEL,
            "targets": {
                target.value: {
                    "trials": one.trials,
                    "trials_before": one.trials_before,
                    "settings": dict(one.best),
                    "kept": one.is_kept,
                    "luck": one.luck,
                    "cv": {"usual": asdict(one.usual), "tuned": asdict(one.tuned)},
                    "test": None
                    if one.held_out is None
                    else {"usual": asdict(one.held_out[0]), "tuned": asdict(one.held_out[1])},
                }
                for target, one in self.targets.items()
            },
        }

    def note(self) -> TuningNote:
        """What is kept of it with the predictors."""
        lines = [
            "",
            "## Tuning",
            "",
            f"Settings searched for with {len(self.folds)} folds of whole networks (study {self.study.name}, seed "
            f"{self.seed}). Errors are the mean over networks of",
            "the mean |log(predicted / measured)| of their layers; luck is a bound of the probability that settings",
            f"which are no better look so. Tuned settings are kept where it is below {LEVEL:g}.",
            "",
            "| target | trials | usual | tuned | luck | held out, usual | tuned | kept | settings found |",
            "|---|--:|--:|--:|--:|--:|--:|---|---|",
            *(_card_row(one) for one in self.targets.values()),
            "",
        ]
        return TuningNote(self.to_dict(), "\n".join(lines))


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings in one line."""
    return ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in sorted(settings.items()))


def _card_row(one: TargetTuning) -> str:
    held_out = ["–", "–"] if one.held_out is None else [f"{each.log:.4f}" for each in one.held_out]
    luck = "–" if one.luck is None else f"{one.luck:.2g}"
    cells = [
        str(one.target),
        str(one.trials),
        f"{one.usual.log:.4f}",
        f"{one.tuned.log:.4f}",
        luck,
        *held_out,
        "yes" if one.is_kept else "no",
        settings_text(one.best),
    ]
    return f"| {' | '.join(cells)} |"
