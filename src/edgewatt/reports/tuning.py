"""What tuning bought."""

from __future__ import annotations

from rich.table import Table

from edgewatt.reports.tables import new_table, number, percent
from edgewatt.tuning.result import TargetTuning, TuningResult, settings_text
from edgewatt.tuning.score import LEVEL, Score


def tuning_table(result: TuningResult) -> Table:
    """Errors with the usual settings beside those with the tuned ones."""
    table = new_table(
        f"Tuning of {result.predictor}: mean |log error| and MAPE of layers, each network counted once, left out with "
        f"its fold ({len(result.folds)} folds) and held out (test)",
        ["target", "settings"],
        ["trials", "folds", "MAPE", "test", "MAPE"],
    )
    for target, one in result.targets.items():
        usual, tuned = one.held_out or (None, None)
        table.add_row(str(target), "usual", "", *_cells(one.usual), *_cells(usual))
        table.add_row("", "tuned", str(one.trials), *_cells(one.tuned), *_cells(tuned))
    return table


def tuning_lines(result: TuningResult) -> list[str]:
    """What was found, and whether it is kept, a line for each target."""
    lines = [f"{target}: {settings_text(one.best)}; {_judged(one)}" for target, one in result.targets.items()]
    before = sum(one.trials_before for one in result.targets.values())
    trials = sum(one.trials for one in result.targets.values())
    return [*lines, f"Study: {result.study}, {trials} trials, {before} of them from before"]


def _cells(score: Score | None) -> tuple[str, str]:
    return ("", "") if score is None else (number(score.log, 4), percent(score.mape))


def _judged(one: TargetTuning) -> str:
    if one.luck is None:
        return "the usual settings stay, for too few networks tell"
    verdict = "kept" if one.is_kept else "the usual settings stay"
    return f"{verdict}, probability of luck at most {one.luck:.2g} (kept below {LEVEL:g})"
