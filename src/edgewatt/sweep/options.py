"""How a sweep is made."""

from __future__ import annotations

from dataclasses import dataclass

from edgewatt.errors import EdgewattError
from edgewatt.isolation.options import IsolationOptions
from edgewatt.networks.layer import LayerKind
from edgewatt.sweep.sequence import KIND_SHARES


@dataclass(frozen=True)
class SweepOptions:
    """How a sweep is made.

    Attributes:
        kinds: Kinds of layers.
        count: Different layers; those that are measured again come on top.
        seed: Draws layers, weights, inputs and the order of visits.
        adaptive: Whether layers are picked where predictors know least.
        target_error: An adaptive sweep ends once predictors are off by no more than this (MAPE, as a fraction).
        networks: An adaptive sweep is aimed at these, too: architectures, ONNX files or engines, whose layers count as
            much as those of all shipped architectures.
        rounds: Visits of each layer.
        seconds: Settled time of a visit, at least.
        pause_s: Idle time between visits.
        precision: The type to compute in, where the backend can choose.
        at_once: Layers that are chosen, tried and visited together.
        drawn_first: Layers that an adaptive sweep draws before it picks any, or half of `count` where that is less.

    Raises:
        EdgewattError: Nothing would be measured, or options do not go together.
    """

    kinds: tuple[LayerKind, ...] = tuple(KIND_SHARES)
    count: int = 500
    seed: int = 0
    adaptive: bool = False
    target_error: float | None = None
    networks: tuple[str, ...] = ()
    rounds: int = 2
    seconds: float = 1.0
    pause_s: float = 0.5
    precision: str = "float16"
    at_once: int = 20
    drawn_first: int = 60

    def __post_init__(self) -> None:
        if self.count < 1 or self.at_once < 1:
            raise EdgewattError("a sweep is of at least one layer", fix="Ask for more (--count)")
        if self.target_error is not None and not self.adaptive:
            raise EdgewattError("--target-error is of an adaptive sweep", fix="Add --adaptive, or leave it away")
        if self.networks and not self.adaptive:
            raise EdgewattError(
                "an adaptive sweep alone is aimed at networks", fix="Add --adaptive, or leave --networks away"
            )
        if self.target_error is not None and not self.target_error > 0:
            raise EdgewattError(f"no predictor is off by {self.target_error:g}", fix="Ask for an error above 0")
        self.isolation()

    @property
    def before_picking(self) -> int:
        """Layers that an adaptive sweep draws before it picks any: at most half of all."""
        return min(self.drawn_first, max(self.count // 2, 1))

    def isolation(self) -> IsolationOptions:
        """How each layer is measured."""
        return IsolationOptions(
            rounds=self.rounds,
            seconds=self.seconds,
            pause_s=self.pause_s,
            precision=self.precision,
            seed=self.seed,
        )


def layer_kinds(names: list[str]) -> tuple[LayerKind, ...]:
    """Kinds by their names, those of `KIND_SHARES` where none is named.

    Raises:
        EdgewattError: There is no such kind.
    """
    known = {kind.value: kind for kind in KIND_SHARES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise EdgewattError(f"no sweep of {unknown[0]!r} layers", fix=f"Kinds are {', '.join(known)}")
    return tuple(dict.fromkeys(known[name] for name in names)) or tuple(KIND_SHARES)
