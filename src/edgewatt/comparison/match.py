"""Which layer of one network is which of another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from edgewatt.results.network_result import LayerResult

#: Networks that share fewer of their layers than this are not the same network.
LEAST_SHARED = 0.5


@dataclass(frozen=True)
class Match:
    """Layers of two networks, matched.

    Attributes:
        pairs: Indices of a layer of the first and of the same layer of the second, in the order of the first.
        only_first: Indices of layers that the first alone has.
        only_second: Indices of layers that the second alone has.
    """

    pairs: tuple[tuple[int, int], ...]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]

    @property
    def shared(self) -> float:
        """Share of all layers that have a partner, from 0 to 1."""
        layers = 2 * len(self.pairs) + len(self.only_first) + len(self.only_second)
        return 2 * len(self.pairs) / layers if layers else 0.0


def match_layers(first: Sequence[LayerResult], second: Sequence[LayerResult]) -> Match:
    """Match layers by name, and what remains by order and shape.

    Args:
        first: Layers of one network, in execution order.
        second: Layers of the other.
    """
    places = {layer.name: index for index, layer in enumerate(second)}
    pairs = {index: places[layer.name] for index, layer in enumerate(first) if layer.name in places}
    left = [index for index in range(len(first)) if index not in pairs]
    taken = set(pairs.values())
    right = [index for index in range(len(second)) if index not in taken]
    shapes_known = all(layer.layer is not None for layer in (*first, *second))
    if shapes_known or len(left) == len(right):
        keys = ([_key(first[i], shapes_known) for i in left], [_key(second[i], shapes_known) for i in right])
        for block in SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks():
            for step in range(block.size):
                pairs[left[block.a + step]] = right[block.b + step]
    taken = set(pairs.values())
    return Match(
        tuple(sorted(pairs.items())),
        tuple(index for index in range(len(first)) if index not in pairs),
        tuple(index for index in range(len(second)) if index not in taken),
    )


def _key(result: LayerResult, with_shapes: bool) -> Hashable:
    """What two layers with different names must share; where shapes are not known, their kind."""
    layer = result.layer
    if layer is None or not with_shapes:
        return result.kind
    # Neither batch nor precision: a comparison may be of just these.
    return (layer.kind, layer.input_shape[1:], layer.output_shape[1:], layer.kernel, layer.stride, layer.groups)
