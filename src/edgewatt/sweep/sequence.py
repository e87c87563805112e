"""All layers of a sweep in one endless order: the layers of a longer sweep begin with those of a shorter one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.sweep.designed import designed_layers, in_shares
from edgewatt.sweep.limits import Limits
from edgewatt.sweep.shipped import drawn_order, shipped_layers
from edgewatt.sweep.single import SingleLayer

#: Shares of the kinds: most of a network's time goes to convolutions, and they are the most varied.
KIND_SHARES: Mapping[LayerKind, float] = {
    LayerKind.CONVOLUTIONAL: 0.7,
    LayerKind.POOLING: 0.12,
    LayerKind.DENSE: 0.18,
}
#: So many points in a row that a board does not hold mean that it holds none.
_PATIENCE = 2000


@dataclass(frozen=True)
class Candidate:
    """A layer that a sweep may measure.

    Attributes:
        layer: The layer.
        origin: `architecture` or `design`.
    """

    layer: SingleLayer
    origin: str


def sweep_sequence(
    kinds: Sequence[LayerKind], limits: Limits, seed: int, *, leave_out: Sequence[str] = (), tails: bool = True
) -> Iterator[Candidate]:
    """Different layers without end, half from the shipped architectures as long as there are any, half designed.

    Args:
        kinds: Kinds of layers, of those in `KIND_SHARES`.
        limits: What the board holds.
        seed: Draws them.
        leave_out: Architectures whose layers do not come from them.
        tails: Whether layers have activations and residual additions.

    Raises:
        EdgewattError: A kind is not swept, or the board holds no layer of one.
    """
    unknown = [kind for kind in kinds if kind not in KIND_SHARES]
    if unknown or not kinds:
        raise EdgewattError(
            f"no sweep of {', '.join(map(str, unknown)) or 'nothing'}",
            fix=f"Kinds are {', '.join(map(str, KIND_SHARES))}",
        )
    parts = {kind: _of_kind(kind, limits, seed, leave_out, tails=tails) for kind in dict.fromkeys(kinds)}
    for kind in in_shares({kind: KIND_SHARES[kind] for kind in parts}):
        yield next(parts[kind])


def _of_kind(
    kind: LayerKind, limits: Limits, seed: int, leave_out: Sequence[str], *, tails: bool
) -> Iterator[Candidate]:
    index = list(KIND_SHARES).index(kind)
    counted = shipped_layers(kind, leave_out, tails=tails)
    drawn = iter(drawn_order(counted, np.random.default_rng([seed, 7, index])))
    designed = designed_layers(kind, int(np.random.default_rng([seed, 11, index]).integers(2**31)))
    if not tails:
        designed = (layer.without_tail() for layer in designed)
    seen: set[SingleLayer] = set()
    shipped = (Candidate(layer, "architecture") for layer in drawn if limits.admit(layer) and _is_new(layer, seen))
    for origin in in_shares({"architecture": 0.5, "design": 0.5}):
        found = next(shipped, None) if origin == "architecture" else None
        yield found or _designed(designed, kind, limits, seen)


def _designed(layers: Iterator[SingleLayer], kind: LayerKind, limits: Limits, seen: set[SingleLayer]) -> Candidate:
    for _ in range(_PATIENCE):
        layer = next(layers)
        if layer.kind is kind and limits.admit(layer) and _is_new(layer, seen):
            return Candidate(layer, "design")
    raise EdgewattError(
        f"the board's memory of {limits.memory_bytes / 1e9:.3g} GB holds no more {kind} layers",
        fix="Ask for fewer layers or other kinds",
    )


def _is_new(layer: SingleLayer, seen: set[SingleLayer]) -> bool:
    """Whether no layer of the same features was seen; it then was."""
    alike = layer.without_details()
    new = alike not in seen
    seen.add(alike)
    return new


def after(candidates: Iterator[Candidate], known: set[SingleLayer]) -> Iterator[Candidate]:
    """Candidates that are like none of those known, each noted as known when it is taken.

    Args:
        candidates: The candidates.
        known: What is known, as `SingleLayer.without_details` gives it.
    """
    for candidate in candidates:
        if _is_new(candidate.layer, known):
            yield candidate
