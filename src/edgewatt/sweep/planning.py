"""The layers of a sweep that are chosen next, and those to be measured again among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from edgewatt.formats.sweep import SweptLayer
from edgewatt.sweep.repeats import repeat_moments
from edgewatt.sweep.sequence import Candidate
from edgewatt.sweep.single import SingleLayer


@dataclass
class Planning:
    """Names chosen layers, and adds repeats at their moments.

    Attributes:
        seed: The sweep's.
        layers: What was chosen until now, repeats included.
    """

    seed: int
    layers: list[SweptLayer] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Different layers that were chosen."""
        return sum(layer.repeat_of is None for layer in self.layers)

    def known(self) -> set[SingleLayer]:
        """What was chosen, as `after` takes it."""
        return {as_single(layer).without_details() for layer in self.layers}

    def add(self, candidates: Iterable[Candidate], *, last: bool) -> None:
        """Add layers, and the repeats whose moments have come.

        Args:
            candidates: New layers.
            last: Whether they are the last, so that all repeats are to be measured.
        """
        for number, candidate in enumerate(candidates, start=self.count + 1):
            name = f"{number:04d}-{candidate.layer.label()}"
            self.layers.append(_swept(name, candidate.origin, candidate.layer))
        names = {layer.name for layer in self.layers}
        firsts = [layer for layer in self.layers if layer.repeat_of is None]
        for index, first in enumerate(firsts):
            for time, moment in enumerate(repeat_moments(index, self.seed), start=1):
                name = f"{first.name}-again{time}"
                if (last or moment <= len(firsts)) and name not in names:
                    self.layers.append(first.model_copy(update={"name": name, "repeat_of": first.name}))


def as_single(layer: SweptLayer) -> SingleLayer:
    """A layer of a plan."""
    return SingleLayer(
        layer.operation,
        tuple(layer.input_shape),
        layer.outputs,
        _pair(layer.kernel),
        _pair(layer.stride),
        _pair(layer.pre_padding),
        _pair(layer.post_padding),
        _pair(layer.dilation),
        layer.groups,
        layer.activation,
        layer.residual,
        layer.round_up,
    )


def _swept(name: str, origin: str, layer: SingleLayer) -> SweptLayer:
    return SweptLayer(
        name=name,
        origin=origin,
        operation=layer.operation,
        input_shape=list(layer.input_shape),
        outputs=layer.outputs,
        kernel=list(layer.kernel),
        stride=list(layer.stride),
        pre_padding=list(layer.pre_padding),
        post_padding=list(layer.post_padding),
        dilation=list(layer.dilation),
        groups=layer.groups,
        activation=layer.activation,
        residual=layer.residual,
        round_up=layer.round_up,
    )


def _pair(values: Sequence[int]) -> tuple[int, int]:
    return values[0], values[1]
