"""Which layers to measure next: where predictors know least of what real networks use.

Predictors are trained on what is there. How wide their intervals are at each different layer of the shipped
architectures and of the networks that the sweep is aimed at, and with less weight at designed ones, is what is to be
lowered. A candidate lowers it at the layers that it is like:

    gain(candidate) = sum over layers of   weight x spread^2 x (how alike they are - how alike one already picked is)+

How alike two layers are is the share of the predictor's trees that tell neither from the other: what is measured of
one is then what that tree says of both. So the trees, which learn what matters, say what likeness is. (L. Breiman and
A. Cutler call it proximity, "Random Forests", manual of version 4, 2004.)

Picking the candidate of the greatest gain again and again (a facility location; G. Nemhauser et al., "An analysis of
approximations for maximizing submodular set functions", Mathematical Programming 14, 1978) keeps a batch diverse: what
is near to one that was picked gains little more. A tenth of each batch is drawn as in a sweep that is not adaptive: it
finds what nobody expected, and how far predictors are off on it says how far they are off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import polars as pl

from edgewatt.dataset.features import feature_frame
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.neuralpower import MINIMUM_ROWS
from edgewatt.predictors.physics_function import PhysicsFunction
from edgewatt.predictors.physics_predictor import PhysicsPredictor
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array
from edgewatt.sweep.limits import Limits
from edgewatt.sweep.sequence import KIND_SHARES, Candidate, sweep_sequence
from edgewatt.sweep.shipped import shipped_layers
from edgewatt.sweep.single import SingleLayer

#: Candidates of all kinds that a batch is picked from.
_POOL = 1500
#: Share of a batch that is drawn, not picked. Of 0, 0.1 and 0.2 this one came out best on the simulated board
#: (benchmarks/sweep.py, seeds 0 to 3).
DRAWN_SHARE = 0.1
#: Layers that each leaf holds at least, of trees that tell what is alike: those of one layer tell too many apart
#: (1, 2, 3 and 4 were tried, likewise).
_ROWS_A_LEAF = 2
#: What designed layers count altogether, where those of the architectures count 1: without them runtimes come out
#: worse, with as much weight as those powers do (0.1, 0.3 and 1 were tried).
_DESIGNED_WEIGHT = 0.3
#: No interval is narrower: below it is noise.
_LEAST_SPREAD = 0.03

Tables = Mapping[LayerKind, pl.DataFrame]


@dataclass(frozen=True)
class Picker:
    """Picks layers to be measured next.

    Attributes:
        kinds: Kinds of layers.
        limits: What the board holds.
        seed: The sweep's.
        precision: What layers compute in.
        leave_out: Architectures that none of the candidates are from.
        unknown: Architectures that are taken not to be known: their layers are not to be told.
        aims: Layers of further networks that are to be told; together they count as much as all architectures.
        tails: Whether layers have activations and residual additions.
    """

    kinds: tuple[LayerKind, ...]
    limits: Limits
    seed: int
    precision: str
    leave_out: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    aims: tuple[SingleLayer, ...] = ()
    tails: bool = True

    def pick(self, tables: Tables, count: int, known: set[SingleLayer]) -> list[Candidate]:
        """Pick layers.

        Args:
            tables: What was measured until now, with the column `network`.
            count: How many.
            known: Layers that are not to be picked, as `SingleLayer.without_details` gives them.
        """
        found: list[Candidate] = []
        for kind, number in self._numbers(tables, count).items():
            new = [i for i, candidate in enumerate(self._pool[kind]) if candidate.layer.without_details() not in known]
            picked = self._pick_kind(kind, tables, number, new)
            found += [Candidate(self._pool[kind][index].layer, "adaptive") for index in picked]
        return found

    def _numbers(self, tables: Tables, count: int) -> dict[LayerKind, int]:
        """Layers of each kind, so that kinds come to have their shares."""
        counts = {kind: tables[kind].height if kind in tables else 0 for kind in self.kinds}
        total = sum(KIND_SHARES[kind] for kind in self.kinds)
        wanted = dict.fromkeys(self.kinds, 0)
        for _ in range(count):
            kind = min(self.kinds, key=lambda k: (counts[k] + wanted[k]) * total / KIND_SHARES[k])
            wanted[kind] += 1
        return wanted

    def _pick_kind(self, kind: LayerKind, tables: Tables, count: int, new: list[int]) -> list[int]:
        parts = [
            _Part.of(function, self._wanted[kind], self._candidates[kind][new], self._weights[kind])
            for function in _functions(kind, tables)
        ]
        if not parts:
            return new[:count]
        picked: list[int] = []
        for _ in range(min(count, len(new))):
            gains = np.sum([part.gains() for part in parts], axis=0)
            gains[picked] = -1.0
            picked.append(int(gains.argmax()))
            parts = [part.after(picked[-1]) for part in parts]
        return [new[index] for index in picked]

    @cached_property
    def _pool(self) -> dict[LayerKind, list[Candidate]]:
        sequence = sweep_sequence(self.kinds, self.limits, self.seed, leave_out=self.leave_out, tails=self.tails)
        pool: dict[LayerKind, list[Candidate]] = {kind: [] for kind in self.kinds}
        for candidate in islice(sequence, round(_POOL * sum(KIND_SHARES[kind] for kind in self.kinds))):
            pool[candidate.layer.kind].append(candidate)
        return pool

    @cached_property
    def _weighed(self) -> dict[LayerKind, dict[SingleLayer, float]]:
        """The layers that predictors should know, and what each counts."""
        found = {}
        for kind in self.kinds:
            shipped = [
                layer for layer in shipped_layers(kind, self.unknown, tails=self.tails) if self.limits.admit(layer)
            ]
            aims = list(dict.fromkeys(layer for layer in self.aims if layer.kind is kind))
            designed = [candidate.layer for candidate in self._pool[kind] if candidate.origin == "design"]
            designed = designed[-max(len(shipped), 1) :]
            total = float(max(len(shipped), 1))
            weights = dict.fromkeys(designed, _DESIGNED_WEIGHT * total / max(len(designed), 1))
            weights |= dict.fromkeys(shipped, 1.0)
            for layer in aims:
                weights[layer] = weights.get(layer, 0.0) + total / len(aims)
            found[kind] = weights
        return found

    @cached_property
    def _weights(self) -> dict[LayerKind, Array]:
        return {kind: np.array(list(found.values()), dtype=np.float64) for kind, found in self._weighed.items()}

    @cached_property
    def _wanted(self) -> dict[LayerKind, pl.DataFrame]:
        return {kind: self._described(kind, list(layers)) for kind, layers in self._weighed.items()}

    @cached_property
    def _candidates(self) -> dict[LayerKind, pl.DataFrame]:
        return {kind: self._described(kind, [one.layer for one in pool]) for kind, pool in self._pool.items()}

    def _described(self, kind: LayerKind, layers: Sequence[SingleLayer]) -> pl.DataFrame:
        named = [layer.layer(str(index), self.precision) for index, layer in enumerate(layers)]
        return feature_frame(kind, named)


@dataclass(frozen=True, eq=False)
class _Part:
    """What one predictor says of candidates and wanted layers.

    Attributes:
        alike: How alike each candidate and each wanted layer are, from 0 to 1, shape (candidates, wanted).
        value: What each wanted layer is worth that is known, shape (wanted,); 1 in sum.
        covered: How alike the picked one that it is most like is to each wanted layer, shape (wanted,).
    """

    alike: Array
    value: Array
    covered: Array

    @classmethod
    def of(cls, function: PhysicsFunction, wanted: pl.DataFrame, candidates: pl.DataFrame, weights: Array) -> _Part:
        unsure = function.estimate(wanted).spread ** 2 - _LEAST_SPREAD**2
        value = weights * np.maximum(unsure, 1e-6)
        alike = np.zeros((candidates.height, wanted.height))
        for candidate, layer in zip(function.leaves(candidates).T, function.leaves(wanted).T, strict=True):
            alike += candidate[:, None] == layer
        return cls(alike / len(function.forest.roots), value / value.sum(), np.zeros(wanted.height))

    def gains(self) -> Array:
        """What each candidate gains, shape (candidates,)."""
        gains: Array = np.maximum(self.alike - self.covered, 0.0) @ self.value
        return gains

    def after(self, picked: int) -> _Part:
        """The same once a candidate is picked."""
        return _Part(self.alike, self.value, np.maximum(self.covered, self.alike[picked]))


def _functions(kind: LayerKind, tables: Tables) -> list[PhysicsFunction]:
    """Predictors of a kind, one a target; none where there are too few layers."""
    found = []
    for target in Target:
        if kind not in tables:
            continue
        y = target_values(tables[kind], target)
        rows = np.flatnonzero(np.isfinite(y))
        if len(rows) >= MINIMUM_ROWS:
            predictor = PhysicsPredictor(kind, target, min_samples_leaf=_ROWS_A_LEAF)
            found.append(predictor.fit(tables[kind][rows], y[rows], None, tables).function_)
    return found
