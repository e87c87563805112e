"""Limits that a predicted network must keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isnan

from edgewatt.errors import EdgewattError, printable
from edgewatt.predictors.network_prediction import Interval, NetworkPrediction
from edgewatt.wording import counted

#: What must keep a limit: the upper end of the interval, or the prediction itself.
AT = ("upper", "mean")

#: So many of the layers that cost most are named.
_NAMED_LAYERS = 3


@dataclass(frozen=True)
class Budget:
    """Limits; None is no limit. With idle power where it is known, else above idle.

    Attributes:
        max_energy_mj: Energy of a cycle in mJ.
        max_power_w: Mean power in W.
        max_runtime_ms: Runtime of a cycle in ms.
    """

    max_energy_mj: float | None = None
    max_power_w: float | None = None
    max_runtime_ms: float | None = None

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            EdgewattError: One is not a number, so nothing could be over it.
        """
        for name, limit in asdict(self).items():
            if limit is not None and isnan(limit):
                raise EdgewattError(f"the limit {name} is not a number", fix="Give one, or leave it out")


def exceeded(prediction: NetworkPrediction, budget: Budget, at: str = "upper") -> list[str]:
    """Name the limits that a prediction is over, or not known to keep, in words; none, when it keeps them all.

    Each line says by how much, and which layers cost most. Layers that no predictor covers take energy and time too,
    so a prediction that leaves some out can be over a limit for certain, and never under it: it does not keep it.

    Args:
        prediction: The prediction.
        budget: The limits.
        at: What must keep them: `upper`, the upper end of the 90 % interval, which is the prediction itself where it
            has no interval; or `mean`, the prediction.

    Raises:
        EdgewattError: `at` is neither.
    """
    if at not in AT:
        raise EdgewattError(f"a budget cannot be held at {at!r}", fix=f"Use one of {', '.join(AT)}")
    limits = (budget.max_energy_mj, budget.max_power_w, budget.max_runtime_ms)
    lines = []
    for quantity, limit in zip(_quantities(prediction), limits, strict=True):
        if limit is None:
            continue
        if quantity.value is not None and quantity.held(at) > limit:
            lines.append(_line(quantity, limit, at, prediction))
        elif quantity.value is None or quantity.unknown:
            executed = len(prediction.layers) - prediction.free_layers
            lines.append(
                f"{quantity.name} is not known of {quantity.unknown} of {counted(executed, 'layer')}, so that at most "
                f"{limit:g} {quantity.unit} cannot be promised"
            )
    return lines


@dataclass(frozen=True)
class _Quantity:
    """One of the things that are limited, in its unit; `unknown` layers have no prediction of it."""

    name: str
    unit: str
    value: float | None
    high: float | None
    costs: tuple[float, ...]
    unknown: int

    def held(self, at: str) -> float:
        """What must keep the limit."""
        assert self.value is not None
        return self.value if at == "mean" or self.high is None else self.high


def _quantities(prediction: NetworkPrediction) -> list[_Quantity]:
    """Energy, mean power and runtime, of the calibrated network where it is known, else of the sum over layers."""
    whole = prediction.whole
    including_j, including_w = prediction.energy_including_idle_j, prediction.power_including_idle_w
    energy_j: float | None = prediction.energy_above_idle_j if including_j is None else including_j
    power_w = prediction.power_above_idle_w if including_w is None else including_w
    runtime_s = prediction.runtime_s
    energy_high = power_high = runtime_high = None
    if whole is not None:
        runtime_s, runtime_high = whole.runtime_s, _high(whole.runtime_interval_s)
        if whole.energy_j is not None:
            energy_j, power_w = whole.energy_j, whole.power_w
            energy_high, power_high = _high(whole.energy_interval_j), _high(whole.power_interval_w)
    energies = [layer.energy_j for layer in prediction.layers]
    runtimes = [layer.runtime_s for layer in prediction.layers]
    return [
        _quantity("energy", "mJ", _times(energy_j, 1e3), _times(energy_high, 1e3), energies),
        _quantity("mean power", "W", power_w, power_high, energies),
        _quantity("runtime", "ms", runtime_s * 1e3, _times(runtime_high, 1e3), runtimes),
    ]


def _quantity(
    name: str, unit: str, value: float | None, high: float | None, costs: Sequence[float | None]
) -> _Quantity:
    return _Quantity(name, unit, value, high, tuple(cost or 0.0 for cost in costs), sum(cost is None for cost in costs))


def _line(quantity: _Quantity, limit: float, at: str, prediction: NetworkPrediction) -> str:
    held = quantity.held(at)
    is_upper = quantity.value is not None and held != quantity.value
    what = f" (upper end of its interval; predicted {quantity.value:.4g})" if is_upper else ""
    over = held - limit
    share = f", {over / limit:.0%}" if limit > 0.0 else ""
    line = (
        f"{quantity.name} {held:.4g} {quantity.unit}{what}, at most {limit:g} {quantity.unit} allowed: "
        f"over by {over:.3g} {quantity.unit}{share}"
    )
    total = sum(quantity.costs)
    if total <= 0.0:
        return line
    order = sorted(range(len(quantity.costs)), key=lambda index: -quantity.costs[index])[:_NAMED_LAYERS]
    named = [f"{printable(prediction.layers[i].layer.name)} ({quantity.costs[i] / total:.0%})" for i in order]
    return f"{line}; most of it goes to {', '.join(named)}"


def _high(interval: Interval | None) -> float | None:
    return None if interval is None else interval.high


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
