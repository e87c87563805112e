"""Where a prediction came from: trained predictors, or a board's prior and how far to trust it."""

from __future__ import annotations

from typing import Any

from edgewatt.predictors.board_figures import find_board_figures
from edgewatt.predictors.choice import ChosenPrediction
from edgewatt.predictors.network_prediction import Interval, WholeNetwork
from edgewatt.predictors.prior import read_calibration


def origin_lines(chosen: ChosenPrediction) -> list[str]:
    """What made a prediction, in words."""
    if chosen.prior_of is None:
        return [f"Predictors: {chosen.predictors}"]
    figures, known = find_board_figures(chosen.prior_of), read_calibration()
    return [
        f"PRIOR of {figures.title}, fastest power mode: from published figures and results, not from measurements of a "
        "board. Predictors trained on yours replace it (--predictors)",
        f"Published results that it was not calibrated on: 9 of 10 runtimes within a factor of "
        f"{known.runtime_factor:.2f}, 9 of 10 mean powers within {known.power_factor:.2f}",
        *_interval_lines(chosen.prediction.whole),
    ]


def _interval_lines(whole: WholeNetwork | None) -> list[str]:
    if whole is None:
        return []
    known = (
        ("runtime", whole.runtime_interval_s, 1e3, "ms"),
        ("mean power with idle", whole.power_interval_w, 1.0, "W"),
        ("energy with idle", whole.energy_interval_j, 1e3, "mJ"),
    )
    named = [
        f"{name} {interval.low * scale:.3g} to {interval.high * scale:.3g} {unit}"
        for name, interval, scale, unit in known
        if interval is not None
    ]
    return [f"So the network's {', '.join(named)}"] if named else []


def origin_json(chosen: ChosenPrediction) -> dict[str, Any]:
    """The same for machines."""
    if chosen.prior_of is None:
        return {"prior": False, "predictors": str(chosen.predictors)}
    figures, known = find_board_figures(chosen.prior_of), read_calibration()
    return {
        "prior": True,
        "board": figures.name,
        "title": figures.title,
        "runtime_factor": known.runtime_factor,
        "power_factor": known.power_factor,
        "energy_factor": known.energy_factor,
        "calibration_results": known.calibration_results,
        "test_results": known.test_results,
        **_intervals_json(chosen.prediction.whole),
    }


def _intervals_json(whole: WholeNetwork | None) -> dict[str, Any]:
    if whole is None:
        return {}
    return {
        "runtime_interval_ms": _pair(whole.runtime_interval_s, 1e3),
        "power_interval_w": _pair(whole.power_interval_w, 1.0),
        "energy_interval_mj": _pair(whole.energy_interval_j, 1e3),
    }


def _pair(interval: Interval | None, scale: float) -> list[float] | None:
    return None if interval is None else [interval.low * scale, interval.high * scale]
